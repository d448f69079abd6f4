//! How many runs it takes until every schedule of a program is covered, and whether what is found is what is known of
//! it.

use super::Measurement;
use super::programs::{self, Program};
use anyhow::Result;
use std::fs;
use std::ops::ControlFlow;
use std::time::Instant;
use witness::explore::{self, Classes, End, Exploration, Goal, Limits, Options, What, classes};
use witness::session::Bounds;
use witness::session::Launch;

/// States that are met at most to count classes of executions.
const STATES_FOR_CLASSES: usize = 5_000_000;

/// Prints the table; fails if a program did otherwise than its comment says.
pub fn measure(measurement: &Measurement) -> Result<()> {
    let programs = programs::compile("small", &measurement.folder, |name| measurement.wants(name))?;
    println!(
        "| program | verdict | runs | classes | branches | states | seconds | |\n|---|---|---:|---:|---:|---:|---:|---|"
    );
    let mut wrong = 0;
    for program in &programs {
        let started = Instant::now();
        let explored = explore(program, measurement)?;
        let known = program.says("Verdict")?;
        let found = verdict(&explored);
        let mut notes: Vec<String> = explored.not_exhausted.iter().map(ToString::to_string).collect();
        if found != known {
            notes.push(format!("found: {found}"));
        }
        wrong += usize::from(!notes.is_empty());
        println!(
            "| {} | {known} | {} | {} | {} | {} | {:.2} | {} |",
            program.name,
            explored.runs,
            executions(&explored),
            explored.forest.branches(),
            explored.states,
            started.elapsed().as_secs_f64(),
            notes.join("; ")
        );
    }
    println!(
        "\n{} programs, {wrong} not exhausted or with another verdict",
        programs.len()
    );
    Ok(())
}

/// How many executions exploration needs that runs each reads-from class once.
fn executions(explored: &Exploration) -> String {
    if !explored.is_exhausted() {
        return String::new();
    }
    match classes(&explored.forest, STATES_FOR_CLASSES) {
        Some(Classes { count, at_least: false }) => count.to_string(),
        Some(Classes { count, at_least: true }) => format!("≥ {count}"),
        None => String::new(),
    }
}

/// The worst that was found.
fn verdict(explored: &Exploration) -> &'static str {
    let any = |is: &dyn Fn(&What) -> bool| explored.found.iter().any(|found| is(&found.what));
    if any(&|what| matches!(what, What::Ended(End::Failure(_)))) {
        "assertion"
    } else if any(&|what| matches!(what, What::Goal(Goal::Deadlock { .. }) | What::Ended(End::Deadlock))) {
        "deadlock"
    } else if any(&|what| matches!(what, What::Goal(Goal::Race(..)))) {
        "race"
    } else {
        "none"
    }
}

fn explore(program: &Program, measurement: &Measurement) -> Result<Exploration> {
    let folder = measurement.folder.join("runs");
    fs::create_dir_all(&folder)?;
    let launch = Launch {
        output: false,
        ..Launch::here(program.path.clone().into_os_string(), Vec::new())
    };
    let mut session = explore::Program::new(&launch, Bounds::default(), &folder, 0)?;
    let until = Instant::now() + measurement.seconds;
    let options = Options {
        limits: Limits {
            until: Some(until),
            ..Limits::default()
        },
        runs: measurement.runs,
        ..Options::default()
    };
    let explored = explore::explore(&mut session, &options, &mut |_| {
        if Instant::now() < until {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    fs::remove_dir_all(&folder)?;
    Ok(explored)
}
