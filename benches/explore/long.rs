//! What the tool takes to find a rare bug in a run of a hundred thousand events or more, as its user has it: runs and
//! processor time of `witness explore`, beside as many recordings under each policy, each analyzed if the bug is a race.
//! And what a further run of an exploration costs, its analysis included, beside a recording.

use super::Measurement;
use super::programs::{self, Program};
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// The policies that recordings are made under.
const POLICIES: [&str; 3] = ["random", "pct", "pos"];

/// A process that takes more memory than any time before is looked at so often.
const PAUSE: Duration = Duration::from_millis(5);

/// What one command took, and how it ended.
struct Took {
    status: i32,
    /// Seconds of processor time, of it and of all that it started.
    seconds: f64,
    megabytes: u64,
    output: String,
}

/// Prints the table.
pub fn measure(measurement: &Measurement) -> Result<()> {
    let wants = |name: &str| measurement.wants(name);
    let programs = programs::compile_with("long", &measurement.folder, wants, &measurement.defines)?;
    let policies: &[&str] = if measurement.policies { &POLICIES } else { &[] };
    print!("| program | shows as | events | explore | s |");
    policies.iter().for_each(|policy| print!(" {policy} | s |"));
    println!(" a recording, s | the first run, s | a further run, s | times | MB after 1 | MB after all |");
    println!("|---|---|{}", "---:|".repeat(9 + 2 * policies.len()));
    for program in &programs {
        print!(
            "| {} | {} | {} |",
            program.name,
            program.says("Shows as")?,
            events(program, measurement)?
        );
        let explored: Vec<_> = (0..measurement.seeds)
            .map(|seed| explore_until(program, seed, measurement))
            .collect::<Result<_>>()?;
        tell(&explored, measurement);
        for policy in policies {
            let recorded: Vec<_> = (0..measurement.seeds)
                .map(|seed| record_until(program, policy, seed, measurement))
                .collect::<Result<_>>()?;
            tell(&recorded, measurement);
        }
        tell_costs(program, measurement)?;
    }
    Ok(())
}

/// In how many trials it was found, in how many runs in the mean, a trial in vain counted as all its runs, and in what
/// time.
fn tell(trials: &[(Option<usize>, f64)], measurement: &Measurement) {
    let count = trials.len() as f64;
    let found = trials.iter().filter(|(runs, _)| runs.is_some()).count();
    let runs = trials.iter().map(|(runs, _)| runs.unwrap_or(measurement.runs));
    let mean = runs.sum::<usize>() as f64 / count;
    let seconds = trials.iter().map(|(_, seconds)| seconds).sum::<f64>() / count;
    print!(" {found} of {}: {mean:.1} | {seconds:.2} |", trials.len());
    let _ = std::io::Write::flush(&mut std::io::stdout());
}

/// The number of the first run that shows the bug, and the time until then.
fn explore_until(program: &Program, seed: u64, measurement: &Measurement) -> Result<(Option<usize>, f64)> {
    let all = explore(program, seed, measurement.runs, measurement)?;
    let found = matches!(all.status, 66..=68)
        .then(|| first_named(&all.output))
        .flatten();
    let Some(run) = found else {
        return Ok((None, all.seconds));
    };
    Ok((Some(run), explore(program, seed, run, measurement)?.seconds))
}

fn explore(program: &Program, seed: u64, runs: usize, measurement: &Measurement) -> Result<Took> {
    let folder = measurement.folder.join("explored");
    let _ = fs::remove_dir_all(&folder);
    let mut command = witness();
    command.args([
        "explore",
        "--seed",
        &seed.to_string(),
        "--runs",
        &runs.to_string(),
        "-o",
    ]);
    took(command.arg(&folder).arg("--").arg(&program.path))
}

/// The lowest number of a trace that a report names as one that shows something: it says how to replay it.
fn first_named(output: &str) -> Option<usize> {
    let shown = output.lines().filter(|line| line.contains("witness replay "));
    let before = shown.filter_map(|line| line.split_once(".bin")?.0.rsplit('/').next());
    before.filter_map(|number| number.parse().ok()).min()
}

/// The number of the first recording that shows the bug, and the time until then.
fn record_until(program: &Program, policy: &str, seed: u64, measurement: &Measurement) -> Result<(Option<usize>, f64)> {
    let is_race = program.says("Shows as")?.starts_with("race");
    let trace = measurement.folder.join("recorded.bin");
    let mut seconds = 0.0;
    for run in 0..measurement.runs {
        // No two trials share a run.
        let recorded = record(program, policy, (seed << 32) + run as u64, &trace)?;
        seconds += recorded.seconds;
        let mut shows = recorded.status != 0;
        if is_race && !shows {
            let analyzed = took(witness().arg("analyze").arg(&trace))?;
            seconds += analyzed.seconds;
            shows = analyzed.status == 66;
        }
        if shows {
            return Ok((Some(run + 1), seconds));
        }
    }
    Ok((None, seconds))
}

fn record(program: &Program, policy: &str, seed: u64, trace: &Path) -> Result<Took> {
    let mut command = witness();
    command.args(["record", "--policy", policy, "--seed", &seed.to_string(), "-o"]);
    took(command.arg(trace).arg("--").arg(&program.path))
}

fn events(program: &Program, measurement: &Measurement) -> Result<String> {
    let trace = measurement.folder.join("first.bin");
    record(program, "fifo", 0, &trace)?;
    let told = took(witness().arg("info").arg(&trace))?.output;
    let line = told.lines().find_map(|line| line.trim().strip_prefix("events"));
    Ok(line
        .context("`witness info` says how many events there are")?
        .trim()
        .to_owned())
}

/// What a recording costs, under the policies in the proportion in which explorations use them, and what a run of an
/// exploration does.
fn tell_costs(program: &Program, measurement: &Measurement) -> Result<()> {
    const BY_TURNS: [&str; 4] = ["random", "pct", "random", "pos"];
    const TIMES: u64 = 3;
    let trace = measurement.folder.join("recorded.bin");
    let mut recording = 0.0;
    for seed in 0..TIMES {
        for policy in BY_TURNS {
            recording += record(program, policy, seed, &trace)?.seconds / (TIMES * BY_TURNS.len() as u64) as f64;
        }
    }
    let first = explore(program, 0, 1, measurement)?;
    let all = explore(program, 0, measurement.runs, measurement)?;
    let further = (all.seconds - first.seconds) / (measurement.runs - 1).max(1) as f64;
    println!(
        " {recording:.3} | {:.2} | {further:.3} | {:.1} | {} | {} |",
        first.seconds,
        further / recording,
        first.megabytes,
        all.megabytes
    );
    Ok(())
}

fn witness() -> Command {
    Command::new(env!("CARGO_BIN_EXE_witness"))
}

fn took(command: &mut Command) -> Result<Took> {
    let before = seconds_of_children()?;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().context("cannot start witness")?;
    let id = child.id();
    let mut stdout = child.stdout.take().context("its output")?;
    let reader = thread::spawn(move || {
        let mut output = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stdout, &mut output);
        String::from_utf8_lossy(&output).into_owned()
    });
    let mut megabytes = 0;
    let status = loop {
        megabytes = megabytes_of(id).unwrap_or_default().max(megabytes);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        thread::sleep(PAUSE);
    };
    Ok(Took {
        status: status.code().unwrap_or(-1),
        seconds: seconds_of_children()? - before,
        megabytes,
        output: reader.join().unwrap_or_default(),
    })
}

/// The most memory that a process has had.
fn megabytes_of(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let most = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = most.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024)
}

/// Processor time of all children that were waited for, and of theirs.
fn seconds_of_children() -> Result<f64> {
    const TICKS: f64 = 100.0;
    let text = fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = text.rsplit_once(") ").context("/proc/self/stat")?;
    let ticks = fields.split(' ').skip(13).take(2).map(str::parse::<u64>);
    Ok(ticks.sum::<Result<u64, _>>()? as f64 / TICKS)
}
