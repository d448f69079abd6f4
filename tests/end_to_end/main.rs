//! End to end: real programs, compiled, recorded, analyzed, checked and replayed through the command line.
//!
//! Tests are data: each `tests/programs/*.expect` is one test of that name. `cargo test --test
//! end_to_end figure3` runs one of them.

mod case;
mod command;
mod damage;
mod expectation;
mod verdicts;

use expectation::Expectation;
use libtest_mimic::{Arguments, Trial};
use std::path::Path;

fn main() {
    let arguments = Arguments::from_args();
    let trial = |name: &str, test: fn() -> anyhow::Result<()>| {
        Trial::test(name, move || test().map_err(|error| format!("{error:#}").into()))
    };
    let mut trials = vec![
        trial("self::mistakes_in_expectations", expectation::mistakes_are_noticed),
        trial("self::wrong_verdicts", verdicts::wrong_verdicts_are_noticed),
        trial("damage::cut", damage::cut),
        trial("damage::corrupted", damage::corrupted),
        trial("damage::bad_input", damage::bad_input),
    ];

    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut names: Vec<_> = std::fs::read_dir(&programs)
        .expect("tests/programs")
        .map(|entry| entry.expect("an entry of tests/programs").path())
        .filter(|path| path.extension().is_some_and(|e| e == "expect"))
        .collect();
    names.sort();
    for path in names {
        let name = format!("programs::{}", path.file_stem().unwrap_or_default().to_string_lossy());
        trials.push(Trial::test(name, move || {
            Expectation::read(&path)
                .and_then(|e| case::test(&e))
                .map_err(|error| format!("{error:#}").into())
        }));
    }
    libtest_mimic::run(&arguments, trials).exit();
}
