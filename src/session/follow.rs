//! Following a run: the one loop that takes what a process sends, whoever it is recorded, forced or explored for.

use super::error::RunError;
use super::translate::Translator;
use recorder_ring::Ring;
use std::io::Write;
use trace_format::ThreadInfo;

/// A process that is followed, as those see it who have started it.
pub(crate) trait Followed {
    /// Whether it has ended, stands still, or is not to be followed any longer.
    fn is_over(&mut self, ring: &Ring) -> Result<bool, RunError>;

    /// Does what has to be done while it runs. These processes it has waited for, and so they ended; these threads it
    /// has.
    fn attend(&mut self, ring: &Ring, reaped: Vec<(u32, u32)>, threads: &[ThreadInfo]) -> Result<(), RunError>;

    /// Sleeps until there may be something to take, or the process may be over. If it is finished, it has said so.
    fn wait(&self, ring: &Ring, is_finished: bool);
}

/// Takes all that the process sends until it is over.
pub(crate) fn follow<W: Write>(
    process: &mut impl Followed,
    ring: &mut Ring,
    translator: &mut Translator<W>,
) -> Result<(), RunError> {
    loop {
        // Before the rest is taken, since it may send something between the two.
        let is_over = process.is_over(ring)?;
        let any = translator.follow(ring)?;
        process.attend(ring, translator.take_reaped(), translator.threads())?;
        if is_over {
            return translator.follow_to_end(ring);
        }
        if !any {
            process.wait(ring, translator.is_finished());
        }
    }
}
