//! A trace that becomes shorter while it is read. Traces are mapped into memory, and what is no longer there cannot be
//! read from it: the system sends a signal. Its handler can do no more than wake a thread, which says what happened.

use super::ExitCode;
use super::output::say;
use super::watch::STACK;
use signal_hook::consts::SIGBUS;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::thread;

/// Ends this process with an error, not by a signal, should a file become shorter while it is read.
pub fn is_an_error() -> io::Result<()> {
    let (mut woken, handler) = UnixStream::pair()?;
    signal_hook::low_level::pipe::register(SIGBUS, handler)?;
    let thread = thread::Builder::new().name("truncated".to_owned()).stack_size(STACK);
    thread.spawn(move || {
        if woken.read(&mut [0]).is_ok_and(|bytes| bytes > 0) {
            say!(
                "witness: a file became shorter, or its disk full, while it was read: leave the trace alone meanwhile"
            );
            signal_hook::low_level::exit(i32::from(ExitCode::BadInput as u8));
        }
    })?;
    Ok(())
}
