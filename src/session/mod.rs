//! A session: one program, run any number of times, each time along a prefix of its own and then under a policy.
//!
//! ```no_run
//! use std::path::Path;
//! use witness::session::{Bounds, Launch, Policy, Session, Settings};
//! use witness::trace::Trace;
//!
//! let launch = Launch { output: false, ..Launch::here("./app".into(), Vec::new()) };
//! let mut session = Session::new(&launch, Bounds::default())?;
//! let first = session.run(&[], Settings::fifo())?;
//! let trace = Trace::from_file(&first.trace()?)?;
//! // … decide what the next run shall do first:
//! let again = session.run(&[], Settings { policy: Policy::Random, seed: 1, ..Settings::fifo() })?;
//! println!("{:?}", again.end);
//! again.save(Path::new("again.bin"))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What is found out about the program once is not found out again: where it is, whether it can be recorded, where the
//! runtime lies. The rings are used by one run after another, and a trace stays in memory until somebody wants it on
//! file.

mod companions;
mod due_signals;
pub(crate) mod end;
mod environment;
mod error;
mod follow;
mod fork_chain;
mod input;
pub(crate) mod inspect;
mod launch;
mod parked;
pub(crate) mod process;
pub(crate) mod rings;
mod run;
mod running;
mod runtime;
pub(crate) mod settings;
pub(crate) mod signals;
mod step;
mod stopped;
mod translate;

pub use companions::Companions;
pub use environment::unset;
pub use error::RunError;
pub use fork_chain::Descent;
pub use input::StandardInput;
pub use inspect::{NotRecordable, build_id};
pub use launch::{BACKTRACES, Launch, PATIENCE};
pub use parked::Parked;
pub use recorder_ring::{Decision, Policy, Settings, Standing, plan};
pub(crate) use run::words_of;
pub use run::{Diverged, Ran, Session};
pub use running::Bounds;
pub use runtime::{kept_file, link_folder, runtime_folder};
pub use settings::settings_of;
pub use signals::{EndsWhenAsked, asked_to_end, asks_to_end, failure_of, signal_name};
pub use step::{Choice, Step};
pub use stopped::Stopped;

pub(crate) use environment::restored;
pub(crate) use follow::{Followed, follow};
pub(crate) use launch::{PRODUCER, Started};
pub(crate) use run::new_output;
pub(crate) use translate::{Translator, WRITER};
