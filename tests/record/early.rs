//! What a library did before recording began: what it initialized, took, and posted.

use crate::count;
use crate::program::Program;
use trace_format::Op;

#[test]
fn synchronization_of_constructors_is_known_afterwards() {
    let part = Program::compile("early_part", "early", &["-shared", "-fPIC"]);
    let path = part.path.to_str().expect("a path in UTF-8");
    // The folder's name is in the file, so that the loader finds it.
    let program = Program::compile("early", "early", &["-fsanitize=thread", "-Wl,--no-as-needed", path]);
    for recorded in program.record_often() {
        // It was initialized by nobody in the trace, so nobody waits for that.
        assert_eq!(count(&recorded, |op| matches!(op, Op::OnceWait { .. })), 0);
        assert_eq!(count(&recorded, |op| matches!(op, Op::SemWait { .. })), 2);
        // The main thread gives back what the constructor took.
        let taken = count(&recorded, |op| {
            matches!(op, Op::Acquire { .. } | Op::AcquireShared { .. })
        });
        assert_eq!(taken, 4);
        assert_eq!(count(&recorded, |op| matches!(op, Op::Release { .. })), 6);
        assert!(!recorded.tables.meta.foreign_unlock);
    }
}
