//! GLib: what its public functions promise about order, recorded around the library's own.
//!
//! `GRWLock`, `GRecMutex`, `GThread` and `GPrivate` are made of POSIX threads and recorded as these. Mutexes and
//! conditions are atomic instructions and futexes: they keep their real state, which is tried without blocking, and who
//! has to wait does so in the scheduler. Queues and pools order each item's push before what is done with it. GLib
//! calls its own functions directly, so what it locks within itself leaves no events; where it waits there, it waits in
//! the scheduler ([`waits`]).

mod bits;
mod library;
mod lock;
mod once;
mod pool;
mod queue;
mod threads;
pub mod waits;
