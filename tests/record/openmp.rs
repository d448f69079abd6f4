//! OpenMP, in the runtime's own version of libgomp: each construct does what it should, and nothing more is ordered.

use crate::count;
use crate::program::Program;
use trace_format::Op;

#[test]
fn every_construct_of_openmp_does_what_it_should() {
    let program = Program::compile("openmp", "openmp", &["-fsanitize=thread", "-fopenmp"]);
    for recorded in program.record_often() {
        assert!(recorded.tables.meta.degraded.is_empty());
        // Teams of up to four, and one more thread in each of two nested regions at most.
        let forks = count(&recorded, |op| matches!(op, Op::Fork { .. }));
        assert!((3..=5).contains(&forks), "{forks} threads");
        assert!(count(&recorded, |op| matches!(op, Op::BarrierEnter { .. })) > 50);
    }
}
