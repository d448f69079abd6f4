//! How long a run of a session takes, and what of it, beside the program alone and a recording:
//! `cargo bench --bench session`.

#![allow(dead_code, unused_imports, reason = "what serves the tests serves here in part")]

#[path = "../tests/end_to_end/command.rs"]
mod command;
#[path = "../tests/session/forced.rs"]
mod forced;
#[path = "../tests/live/program.rs"]
mod program;

use forced::{all, is_acquire, prefix, random, session};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use witness::trace::{Op, Trace};

const RUNS: u32 = 200;

/// Processor time of this process and those that it has waited for, in milliseconds; the kernel counts hundredths of a
/// second.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11..15]
        .iter()
        .map(|ticks| ticks.parse::<f64>().unwrap() * 10.0)
        .sum()
}

/// Milliseconds of one of many: of a clock, and of processors.
fn each(what: &str, mut run: impl FnMut(u32)) {
    run(0);
    let (started, used) = (Instant::now(), processor_time());
    (1..=RUNS).for_each(&mut run);
    let (elapsed, used) = (started.elapsed() / RUNS, (processor_time() - used) / f64::from(RUNS));
    let each = elapsed.as_secs_f64() * 1e3;
    println!(
        "{what:40} {each:6.2} ms; {used:6.2} ms of a core: {:4.0} a second and core",
        1e3 / used
    );
}

fn main() {
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
        command.env("LD_LIBRARY_PATH", witness::session::runtime_folder().unwrap());
        assert!(command.stdout(Stdio::null()).status().unwrap().success());
    };
    each("the program, without instrumentation", |_| start(&bare));
    each("with the runtime, not recorded", |_| start(&program));
    let recorded = Trace::from_file(&session.run(&[], random(1)).unwrap().trace().unwrap()).unwrap();
    let mut events = recorded.program_order(witness::trace::ThreadId(0));
    let joins = events
        .position(|event| matches!(recorded.op(event), Op::Join { .. }))
        .unwrap();
    let steps = prefix(&recorded, &[(0, joins), (2, all(&recorded, 2)), (1, 2)]);
    assert!(
        recorded
            .program_order(witness::trace::ThreadId(1))
            .any(|event| is_acquire(recorded.op(event)))
    );
    each("a recording", |seed| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_witness"));
        command.args(["record", "--policy", "random", "--seed", &seed.to_string(), "-o"]);
        command.arg(program.with_file_name("trace.bin")).arg("--").arg(&program);
        assert!(command.stderr(Stdio::null()).status().unwrap().success());
    });
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
