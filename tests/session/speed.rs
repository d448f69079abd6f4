//! How long a run of a session takes, and what of it. `cargo test --release --test session speed -- --ignored --nocapture`

use crate::forced::{all, is_acquire, prefix, random, session};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use witness::trace::{Op, Trace};

const RUNS: u32 = 200;

/// Milliseconds of one of many.
fn each(what: &str, mut run: impl FnMut(u32)) {
    run(0);
    let started = Instant::now();
    (1..=RUNS).for_each(&mut run);
    let one = started.elapsed() / RUNS;
    println!(
        "{what:60} {:6.2} ms, {:5.0} a second",
        one.as_secs_f64() * 1e3,
        1.0 / one.as_secs_f64()
    );
}

#[test]
#[ignore = "measures"]
fn speed() {
    let mut session = session("counter.c", &[], "speed");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("live/session-speed/program");
    let bare = program.with_file_name("bare");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/programs/counter.c");
    assert!(
        Command::new("gcc")
            .arg(&source)
            .arg("-pthread")
            .arg("-o")
            .arg(&bare)
            .status()
            .unwrap()
            .success()
    );
    let start = |program: &Path| {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", witness::record::runtime_folder().unwrap());
        assert!(command.stdout(Stdio::null()).status().unwrap().success());
    };
    each("the program, without instrumentation", |_| start(&bare));
    each("with the runtime, not recorded", |_| start(&program));
    let recorded = Trace::from_file(&session.run(&[], random(1)).unwrap().trace().unwrap()).unwrap();
    let events = recorded.program_order(witness::trace::ThreadId(0));
    let joins = events
        .iter()
        .position(|&event| matches!(recorded.op(event), Op::Join { .. }))
        .unwrap();
    let steps = prefix(&recorded, &[(0, joins), (2, all(&recorded, 2)), (1, 2)]);
    assert!(
        recorded
            .program_order(witness::trace::ThreadId(1))
            .iter()
            .any(|&event| is_acquire(recorded.op(event)))
    );
    each("a run of the session", |seed| {
        session.run(&[], random(seed.into())).unwrap();
    });
    each("along a prefix", |seed| {
        assert_eq!(session.run(&steps, random(seed.into())).unwrap().diverged, None);
    });
    each("and its trace read back", |seed| {
        let ran = session.run(&steps, random(seed.into())).unwrap();
        assert!(Trace::from_file(&ran.trace().unwrap()).unwrap().len() > 10);
    });
}
