//! Every witness of every program in `tests/programs` is confirmed live.

use crate::expectation::Expectation;
use crate::program::Program;
use std::path::Path;

fn expectations() -> Vec<Expectation> {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let entries = std::fs::read_dir(programs).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|e| e == "expect"))
        .collect();
    paths.sort();
    paths.iter().map(|path| Expectation::read(path).unwrap()).collect()
}

/// What live runs cannot force; the recorder's README says so. Fibers that share one thread of the kernel cannot both
/// stand before an access; what the kernel wrote for a system call of the program's own is announced when it is done.
const NOT_FORCED: [&str; 2] = ["fibers", "own_system_calls"];

#[test]
fn all_of_them() {
    let mut witnesses = 0;
    let mut failures = Vec::new();
    for expectation in expectations() {
        if !expectation.can_be_built() || NOT_FORCED.contains(&&*expectation.name) {
            continue;
        }
        let name = format!("all-{}", expectation.name);
        let program = Program::compile(&name, &expectation.source, &expectation.cflags);
        for policy in [
            &["--policy", "fifo"][..],
            &["--policy", "random", "--seed", "1"],
            &["--policy", "random", "--seed", "2"],
            &["--policy", "random", "--seed", "3"],
        ] {
            program.record(policy, &[]);
            let outcome = program.live(&[]);
            let moved = program.live(&["--aslr"]);
            if moved.status != outcome.status {
                failures.push(format!("{} {policy:?}, elsewhere\n{}", expectation.name, moved.stdout));
            }
            let count = |start| outcome.stdout.lines().filter(|line| line.starts_with(start)).count();
            let confirmed = count("CONFIRMED: ");
            witnesses += confirmed;
            let expected = match confirmed {
                0 if outcome.stdout.contains("nothing to replay") => outcome.status,
                0 => 0,
                _ => 66,
            };
            if count("DIVERGED: ") + count("NOT REACHED: ") > 0 || outcome.status != expected {
                failures.push(format!("{} {policy:?}\n{}", expectation.name, outcome.stdout));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(witnesses > 90, "{witnesses} witnesses: what was tested?");
    println!("{witnesses} witnesses confirmed live");
}

#[test]
fn a_few_twenty_times() {
    for expectation in expectations() {
        if ![
            "hidden_race",
            "lost_signal",
            "heap_free",
            "wide_copy",
            "relaxed_flag",
            "sem_trywait",
        ]
        .contains(&&*expectation.name)
        {
            continue;
        }
        let name = format!("twenty-{}", expectation.name);
        let program = Program::compile(&name, &expectation.source, &expectation.cflags);
        program.record(&[], &[]);
        for repetition in 0..20 {
            let outcome = program.live(&[]);
            assert_eq!(outcome.status, 66, "{name} {repetition}: {}", outcome.stdout);
        }
    }
}
