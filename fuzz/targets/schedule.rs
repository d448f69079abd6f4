//! The schedule parser on arbitrary text, and the checker on what it reads.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use witness::check::Checker;
use witness::import::read;
use witness::replay::Replay;
use witness::schedule::Schedule;
use witness::trace::Trace;

/// A trace that has a little of everything STD has.
const TRACE: &str = "T0|fork(T1)|1\nT0|acq(l)|2\nT0|w(x)|3\nT0|rel(l)|4\nT0|wait(c)|5\nT1|acq(l)|6\nT1|r(x)|7\n\
                     T1|notify(c)|8\nT1|rel(l)|9\nT0|acq(l)|10\nT0|rel(l)|11\nT0|w(x)|12\nT0|w(y)|13\nT1|r(y)|14\n";

static LOADED: LazyLock<Trace> = LazyLock::new(|| {
    let opened = read("fuzz", TRACE.as_bytes().to_vec(), None, false).expect("a trace");
    Trace::from_file(&opened.file).expect("it can be loaded")
});

fuzz_target!(|text: &str| {
    let Ok(mut schedule) = text.parse::<Schedule>() else {
        return;
    };
    assert_eq!(schedule.to_string().parse::<Schedule>().as_ref(), Ok(&schedule));
    // A fuzzer will not guess the identity of the trace.
    schedule.trace = LOADED.id();
    let checker = Checker::new(&LOADED);
    let accepted = checker.check(&schedule).is_ok();
    assert_eq!(
        accepted,
        Replay::of(&checker, &schedule).is_ok(),
        "checker and replay agree"
    );
});
