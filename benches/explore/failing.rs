//! How many runs it takes until a program fails for the first time: a failed assertion, a crash, a deadlock.

use super::Measurement;
use super::programs::{self, Program};
use anyhow::{Result, anyhow};
use std::fs;
use std::ops::ControlFlow;
use std::time::Instant;
use trace_format::ProgramEnd;
use witness::explore::{self, End, Learnt, Limits, Options, Prefix, ProgramError, Ran};
use witness::forest::Forest;
use witness::session::{Bounds, Session};
use witness::session::{Launch, Policy, Settings};

/// The policies that recordings are made under, with the depth of `pct`.
const POLICIES: [(Policy, &str); 3] = [(Policy::Random, "random"), (Policy::Pct, "pct"), (Policy::Pos, "pos")];
const DEPTH: u32 = 3;

/// Prints the table.
pub fn measure(measurement: &Measurement) -> Result<()> {
    let programs = programs::compile("failing", &measurement.folder, |name| measurement.wants(name))?;
    let policies: &[(Policy, &str)] = if measurement.policies { &POLICIES } else { &[] };
    let mut columns = vec![Column::new("explore")];
    columns.extend(policies.iter().map(|&(_, name)| Column::new(name)));
    print!("| program | kind | shows as |");
    columns.iter().for_each(|column| print!(" {} |", column.name));
    println!("\n|---|---|---|{}", "---:|".repeat(columns.len()));
    for program in &programs {
        print!(
            "| {} | {} | {} |",
            program.name,
            program.says("Kind")?,
            program.says("Shows as")?
        );
        let mut explored = Trials::default();
        for seed in 0..measurement.seeds {
            explored.add(explore(program, seed, measurement)?);
        }
        columns[0].tell(explored, measurement);
        for (index, &(policy, _)) in policies.iter().enumerate() {
            let mut trials = Trials::default();
            for seed in 0..measurement.seeds {
                trials.add(record(program, policy, seed, measurement)?);
            }
            columns[index + 1].tell(trials, measurement);
        }
        println!();
    }
    print!("| geometric mean | | |");
    for column in &columns {
        print!(" {:.2} |", (column.logarithms / programs.len() as f64).exp());
    }
    print!("\n| in every trial | | |");
    for column in &columns {
        print!(" {} of {} |", column.always, programs.len());
    }
    println!();
    Ok(())
}

/// The runs of the trials of a program, each with its own seed.
#[derive(Default)]
struct Trials {
    found: Vec<usize>,
    missed: usize,
}

impl Trials {
    fn add(&mut self, runs: Option<usize>) {
        match runs {
            Some(runs) => self.found.push(runs),
            None => self.missed += 1,
        }
    }
}

/// A way to find failures, and how it did so far.
struct Column {
    name: &'static str,
    /// The sum of the logarithms of the programs' means.
    logarithms: f64,
    /// Programs that failed in every trial.
    always: usize,
}

impl Column {
    fn new(name: &'static str) -> Column {
        Column {
            name,
            logarithms: 0.0,
            always: 0,
        }
    }

    /// Mean, least and most; a trial without a failure counts as all its runs.
    fn tell(&mut self, trials: Trials, measurement: &Measurement) {
        let missed = trials.missed;
        let count = (trials.found.len() + missed) as f64;
        let mean = (trials.found.iter().sum::<usize>() + missed * measurement.runs) as f64 / count;
        self.logarithms += mean.ln();
        self.always += usize::from(missed == 0);
        match (trials.found.iter().min(), trials.found.iter().max()) {
            (Some(least), Some(most)) if missed == 0 && least == most => print!(" {most} |"),
            (Some(least), Some(most)) if missed == 0 => print!(" {mean:.1} ({least}–{most}) |"),
            (Some(least), _) => print!(" ≥ {mean:.0} ({least}–; {missed} missed) |"),
            _ => print!(" never |"),
        }
        let _ = std::io::Write::flush(&mut std::io::stdout());
    }
}

fn launch(program: &Program) -> Launch {
    Launch {
        output: false,
        ..Launch::here(program.path.clone().into_os_string(), Vec::new())
    }
}

/// Runs of exploration until the first that fails.
fn explore(program: &Program, seed: u64, measurement: &Measurement) -> Result<Option<usize>> {
    // Of its own, so that no exploration goes on where another one ended.
    let folder = measurement.folder.join(format!("runs-{seed}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let mut session = UntilFailure {
        program: explore::Program::new(&launch(program), Bounds::default(), &folder, seed)?,
        runs: 0,
    };
    let until = Instant::now() + measurement.seconds;
    let options = Options {
        limits: Limits {
            until: Some(until),
            ..Limits::default()
        },
        runs: measurement.runs,
        show_goals: true,
        failures_first: true,
        looks_ahead_after: Some(explore::RUNS_BEFORE_LOOKING_AHEAD),
        ..Options::default()
    };
    let explored = explore::explore(&mut session, &options, &mut |_| {
        if Instant::now() < until {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    match explored {
        Err(Stop::Failed) => Ok(Some(session.runs)),
        Err(Stop::Program(error)) => Err(anyhow!(error)),
        Ok(_) => Ok(None),
    }
}

/// Why an exploration ends before it is over.
enum Stop {
    Failed,
    Program(ProgramError),
}

/// Ends the exploration at the first run that fails.
struct UntilFailure {
    program: explore::Program,
    runs: usize,
}

impl explore::Session for UntilFailure {
    type Error = Stop;

    fn run(&mut self, forest: &Forest, prefix: &Prefix) -> Result<Ran, Stop> {
        let ran = self.program.run(forest, prefix).map_err(Stop::Program)?;
        self.runs += 1;
        match ran.end {
            End::Failure(_) | End::Deadlock => Err(Stop::Failed),
            End::Success | End::Limit | End::TimedOut => Ok(ran),
        }
    }

    fn keep(&mut self, run: usize, learnt: &Learnt) -> Result<(), Stop> {
        self.program.keep(run, learnt).map_err(Stop::Program)
    }
}

/// Recordings under a policy until the first that fails.
fn record(program: &Program, policy: Policy, seed: u64, measurement: &Measurement) -> Result<Option<usize>> {
    let mut session = Session::new(&launch(program), Bounds::default())?;
    for run in 0..measurement.runs {
        let settings = Settings {
            policy,
            // No two trials share a run.
            seed: (seed << 32) + run as u64,
            depth: DEPTH,
            ..Settings::fifo()
        };
        let end = session.run(&[], settings)?.end;
        let fails = match end {
            ProgramEnd::Exited(status) => status != 0,
            ProgramEnd::Signaled(_) | ProgramEnd::Deadlock => true,
            ProgramEnd::EventLimit | ProgramEnd::TimeLimit | ProgramEnd::Unknown => false,
        };
        if fails {
            return Ok(Some(run + 1));
        }
    }
    Ok(None)
}
