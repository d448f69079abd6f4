//! A session: one program, run any number of times, each time along a prefix of its own and then under a policy.
//!
//! ```no_run
//! use std::path::Path;
//! use witness::record::{Launch, Policy, Settings};
//! use witness::session::{Bounds, Session};
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
//! What is found out about the program once is not found out again: where it is, whether it can be recorded, where the runtime lies.
//! The rings are used by one run after another, and a trace stays in memory until somebody wants it on file.

mod run;
mod step;

pub(crate) use run::new_output;
pub use run::{Bounds, Diverged, Ran, Session};
pub use step::{Choice, Step};
