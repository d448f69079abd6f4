//! One program from its source to its verdicts, through the command line alone.

use crate::command::{run, witness};
use crate::expectation::Expectation;
use crate::verdicts::{Results, differences};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An empty folder for the files of one test.
pub fn folder(name: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("end_to_end").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Compiles the program as its user would, C or C++. No gcc is a failure: nothing would have been tested.
pub fn compile(folder: &Path, expectation: &Expectation) -> Result<PathBuf> {
    let program = folder.join(&expectation.name);
    let cpp = expectation.source.extension().is_some_and(|e| e == "cc");
    let mut gcc = Command::new(if cpp { "g++" } else { "gcc" });
    gcc.args(["-g", "-O0", "-fsanitize=thread", "-pthread"])
        .args(&expectation.cflags);
    gcc.arg(&expectation.source).arg("-o").arg(&program);
    run(folder, &mut gcc)
        .context("the tests need gcc: apt-get install build-essential")?
        .expect(&[0])?;
    Ok(program)
}

/// Records one run; `policy` is as on the command line.
pub fn record(folder: &Path, program: &Path, policy: &[String], trace: &Path, exit: i32) -> Result<()> {
    run(
        folder,
        witness()
            .args(["record", "-o"])
            .arg(trace)
            .args(policy)
            .arg("--")
            .arg(program),
    )?
    .expect(&[exit])?;
    Ok(())
}

/// Analyses a trace that is in order.
pub fn analyze(folder: &Path, trace: &Path) -> Result<Results> {
    let outcome = run(folder, witness().arg("analyze").arg(trace).arg("--json"))?.expect(&[0, 3, 66])?;
    Results::parse(&outcome.stdout, outcome.status).with_context(|| outcome.line)
}

/// The whole path of one case, for every recording of it.
pub fn test(expectation: &Expectation) -> Result<()> {
    if !expectation.can_be_built() {
        return Ok(());
    }
    let folder = folder(&expectation.name)?;
    let program = compile(&folder, expectation)?;
    let mut recordings = vec![vec!["--policy".to_owned(), "fifo".to_owned()]];
    recordings.extend(expectation.seeds.iter().map(|seed| {
        ["--policy", "random", "--seed"]
            .map(str::to_owned)
            .into_iter()
            .chain([seed.to_string()])
            .collect()
    }));
    let mut failures = Vec::new();
    for (number, policy) in recordings.iter().enumerate() {
        let trace = folder.join(format!("{number}.bin"));
        record(&folder, &program, policy, &trace, expectation.exit)?;
        match verdicts(&folder, &trace, expectation, number == 0) {
            Ok(found) => failures.extend(found.into_iter().map(|f| format!("{}: {f}", policy.join(" ")))),
            Err(error) => failures.push(format!("{}: {error:#}", policy.join(" "))),
        }
    }
    ensure!(
        failures.is_empty(),
        "{}\n(traces in {})",
        failures.join("\n"),
        folder.display()
    );
    Ok(())
}

fn verdicts(folder: &Path, trace: &Path, expectation: &Expectation, fifo: bool) -> Result<Vec<String>> {
    run(folder, witness().arg("check").arg(trace))?
        .expect(&[0])
        .context("the recorded trace is not valid")?;

    let results = analyze(folder, trace)?;
    ensure!(
        results.trace.ending == "complete",
        "the trace ends {:?}",
        results.trace.ending
    );
    ensure!(results.trace.events > 0, "the trace is empty");
    let again = analyze(folder, trace)?;
    let order = |r: &Results| {
        r.pairs
            .iter()
            .map(|p| (p.verdict.clone(), p.positions()))
            .collect::<Vec<_>>()
    };
    ensure!(
        order(&results) == order(&again),
        "a second analysis of the same trace differs"
    );

    let stored = PathBuf::from(format!("{}.witnesses", trace.display())).join("results.json");
    ensure!(stored.is_file(), "{} is missing", stored.display());
    for pair in results.witnessed() {
        let schedule = pair
            .schedule
            .as_deref()
            .context("a witnessed pair without a schedule")?;
        run(folder, witness().arg("check").arg(trace).arg(schedule))?
            .expect(&[0])
            .context("the checker does not accept a schedule that was reported")?;
    }

    // 3 where nothing is witnessed, and something is not decided.
    let replay = run(folder, witness().arg("replay").arg(trace))?.expect(&[0, 3, 66])?;
    for pair in results.witnessed() {
        for position in [pair.a.position(), pair.b.position()] {
            ensure!(
                replay.stdout.contains(&position),
                "the replay does not show {position}:\n{}",
                replay.stdout
            );
        }
    }
    Ok(differences(expectation, &results, fifo))
}
