//! Traces that were cut or corrupted, and files that are no traces.
//!
//! A trace cut anywhere is analyzed up to the cut and says so; what it lost may have made a pair
//! feasible, so nothing is refuted. A flipped bit is named, and never taken for a shorter trace.

use crate::case::{analyze, compile, folder, record};
use crate::command::{run, witness};
use crate::expectation::Expectation;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Length of the mark at the start of a trace; without it, a file is no trace.
const MARK: usize = 8;

/// A trace of the named program, as long as these programs are.
fn recorded(folder: &Path, name: &str) -> Result<PathBuf> {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let expectation = Expectation::read(&programs.join(format!("{name}.expect")))?;
    let program = compile(folder, &expectation)?;
    let trace = folder.join("whole.bin");
    record(folder, &program, &[], &trace, expectation.exit)?;
    Ok(trace)
}

/// What `head -c` leaves of a trace.
pub fn cut() -> Result<()> {
    let folder = folder("cut")?;
    let whole = recorded(&folder, "long_run")?;
    let all = analyze(&folder, &whole)?;
    let known: BTreeSet<_> = all.witnessed().map(|p| p.positions()).collect();
    ensure!(!known.is_empty(), "the whole trace has no witness");
    let length = fs::metadata(&whole)?.len();
    let (mut in_part, mut races_in_part) = (0, 0);
    let mut lengths: Vec<u64> = (0..32).map(|i| length * i / 32).collect();
    lengths.extend([length - 8, length - 1]);
    for kept in lengths {
        let part = folder.join(format!("cut-{kept}.bin"));
        run(
            &folder,
            Command::new("head").arg("-c").arg(kept.to_string()).arg(&whole),
        )?
        .expect(&[0])?;
        fs::copy(folder.join("stdout"), &part)?;
        ensure!(fs::metadata(&part)?.len() == kept, "head -c {kept} left another length");

        // Never 0: what is missing may hold a race, also where nothing is left.
        let outcome = run(&folder, witness().arg("analyze").arg(&part))?.expect(&[2, 3, 66])?;
        if outcome.status == 2 {
            ensure!(kept < 64, "{kept} bytes hold more than a header: {}", outcome.stderr);
            continue;
        }
        let said = format!("{}{}", outcome.stdout, outcome.stderr).to_lowercase();
        ensure!(
            said.contains("cut"),
            "{kept} of {length} bytes: the report does not say that the trace is cut:\n{said}"
        );
        let results = analyze(&folder, &part).with_context(|| format!("{kept} of {length} bytes"))?;
        ensure!(
            results.trace.ending == "cut",
            "{kept} of {length} bytes: ending {:?}",
            results.trace.ending
        );
        ensure!(
            results.summary.refuted == 0,
            "{kept} of {length} bytes: a refutation from a part of the trace"
        );
        for pair in results.witnessed() {
            ensure!(
                known.contains(&pair.positions()),
                "{:?} is witnessed in a part only",
                pair.positions()
            );
        }
        ensure!(
            results.trace.events <= all.trace.events,
            "a part with more events than the whole"
        );
        if (1..all.trace.events).contains(&results.trace.events) {
            in_part += 1;
            races_in_part += results.summary.witnessed;
        }
    }
    ensure!(in_part >= 16, "only {in_part} parts hold some of the events");
    ensure!(races_in_part >= in_part, "a part that holds the race does not show it");
    Ok(())
}

/// A flipped bit anywhere.
pub fn corrupted() -> Result<()> {
    let folder = folder("corrupted")?;
    let whole = recorded(&folder, "producer_consumer")?;
    let bytes = fs::read(&whole)?;
    for step in 0..40 {
        let at = bytes.len() * step / 40;
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (step % 8);
        let part = folder.join(format!("flipped-{at}.bin"));
        fs::write(&part, damaged)?;
        for command in ["analyze", "check", "info"] {
            let outcome = run(&folder, witness().arg(command).arg(&part))?
                .expect(&[2])
                .with_context(|| format!("byte {at} of {} flipped", bytes.len()))?;
            let said = outcome.stderr.to_lowercase();
            let place =
                (said.contains("offset") || said.contains("byte")) && said.contains(|c: char| c.is_ascii_digit());
            let no_trace = at < MARK && said.contains("not a witness trace");
            ensure!(place || no_trace, "byte {at}: the message names no offset: {said}");
        }
    }
    Ok(())
}

/// Input that is no trace at all, and programs that cannot be recorded.
pub fn bad_input() -> Result<()> {
    let folder = folder("bad_input")?;
    let text = folder.join("text.bin");
    fs::write(&text, "no trace of any kind\n".repeat(100))?;
    let empty = folder.join("empty.bin");
    fs::write(&empty, "")?;
    for file in [text, empty, folder.join("missing.bin"), folder.clone()] {
        for command in ["analyze", "check", "replay", "info", "dump"] {
            let outcome = run(&folder, witness().arg(command).arg(&file))?.expect(&[2])?;
            ensure!(!outcome.stderr.is_empty(), "no message: {}", outcome.line);
        }
    }

    let plain = folder.join("plain");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/hidden_race.c");
    run(
        &folder,
        Command::new("gcc")
            .args(["-g", "-pthread"])
            .arg(source)
            .arg("-o")
            .arg(&plain),
    )?
    .expect(&[0])?;
    let trace = folder.join("plain.trace");
    let outcome = run(
        &folder,
        witness().args(["record", "-o"]).arg(&trace).arg("--").arg(&plain),
    )?
    .expect(&[2])?;
    ensure!(
        outcome.stderr.contains("-fsanitize=thread"),
        "no word on how to build: {}",
        outcome.stderr
    );
    ensure!(!trace.exists(), "a trace was written all the same");

    run(
        &folder,
        witness()
            .args(["record", "-o"])
            .arg(&trace)
            .args(["--", "./no-such-program"]),
    )?
    .expect(&[2])?;
    run(&folder, witness().arg("analyse"))?.expect(&[2])?;
    Ok(())
}
