//! Which thread of a recorded program runs, and how one hands over to the next.
//!
//! One thread of the program runs at a time, the one that has the *baton*; the others wait. This crate knows neither
//! the C library nor the hooks that lead here: what it needs of the world is a [`Host`] (a clock, a place to sleep,
//! what has been recorded). So it can be run by itself: `tests/model` compiles these files once more, with the atomics
//! and cells of `loom` in place of the usual ones, and tries every interleaving of a few threads and every value that
//! their loads may see.
//!
//! - [`thread`]: what the scheduler knows of a thread;
//! - [`queue`]: threads in order of arrival;
//! - [`scheduler`]: who waits for what, who is next;
//! - [`hand_over`]: giving the baton away, and getting it;
//! - [`turns`]: how long a thread has it;
//! - [`waits`]: waiting for another thread, or for a moment;
//! - [`spin`]: a thread that waits in a loop, and rests;
//! - [`watch`]: what one of the waiting threads looks for on behalf of all;
//! - [`exiting`]: the end of the process, before which the others run;
//! - [`policy`], [`intent`]: which thread is chosen, and what it is about to do;
//! - [`plan_follower`]: the policy that follows a plan;
//! - [`host`]: what all this asks of the world;
//! - [`sync`]: atomics and cells.
#![no_std]

#[macro_use]
pub mod sync;
pub mod exiting;
pub mod hand_over;
pub mod host;
pub mod intent;
pub mod plan_follower;
pub mod policy;
pub mod queue;
pub mod scheduler;
pub mod spin;
#[macro_use]
pub mod thread;
pub mod turns;
pub mod waits;
pub mod watch;

pub use hand_over::NOBODY;
pub use host::Host;
pub use intent::{Access, Intent};
pub use scheduler::{Locked, Scheduler};
pub use sync::MAX_THREADS;
pub use thread::{Handled, NEVER, Scheduled, Woken, state};
pub use waits::ASLEEP;
