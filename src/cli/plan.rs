//! `witness plan`, `witness analyze --shard` and `witness merge`: one analysis on several machines.

use super::ExitCode;
use super::analyze::{AnalysisArgs, ReportTarget, from_report, say_unlisted, show, to_report, warn_if_cut};
use super::execution::must_be_execution;
use super::follow::{Following, ShardIsTaken, Stages};
use super::input::InputArgs;
use super::output::{Color, print, say};
use super::reports::ReportArgs;
use super::watch::Watch;
use anyhow::bail;
use std::io::Write;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::thread::{self, available_parallelism};
use std::time::Duration;
use witness::analyze::{Decision, Options, Prepared, Shard, Work, decide_shards, decide_with, join, prepare};
use witness::own;
use witness::store::{self, Binding, Leases, Offer, Plan, PlanId};
use witness::trace::Trace;
use witness::verdict::{Unknown, Verdict};

/// Time between two looks at what other workers do.
const LOOK: Duration = Duration::from_secs(1);

/// Plan an analysis that several machines share.
///
/// Writes the trace's identity, the options and the pairs to decide, in their order, to TRACE.witnesses/plan.json. Any
/// machine that has trace and plan can then analyze any shard of the plan. Once the shards are together in
/// TRACE.witnesses/shards, `witness merge` writes what one analysis would have written, byte for byte.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness plan trace.bin
  for m in 1 2 3 4; do witness analyze trace.bin --shard $m/4; done
  witness merge trace.bin

Exit status: 0 done, 2 a trace that cannot be read, 3 out of time (--time-limit).")]
pub struct PlanArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

/// Combine the shards of an analysis.
///
/// Reads TRACE.witnesses/plan.json and the shards in TRACE.witnesses/shards, checks every schedule, and stores and
/// reports what `witness analyze` would have. Names shards that are missing, and shards of another plan.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness merge trace.bin
  witness merge trace.bin --report sarif=races.sarif

Exit status: as `witness analyze`; 2 also if shards are missing or damaged.")]
pub struct MergeArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Print the results object (schema witness-results/2) instead of the report.
    #[arg(long, env = "WITNESS_JSON")]
    json: bool,
    #[command(flatten)]
    reports: ReportArgs,
    /// Believe a plan and shards that were not written here by you: those of other machines. Witnesses are checked
    /// anyway; that a race is refuted is believed.
    #[arg(long, env = "WITNESS_TRUST")]
    trust: bool,
    /// The folder of the plan, the shards and the results [default: TRACE.witnesses].
    #[arg(long, env = "WITNESS_STORE", value_name = "DIR")]
    store: Option<PathBuf>,
}

/// Writes the plan of an analysis; how many pairs there are to decide, and where it is.
pub fn make(input: &InputArgs, analysis: &AnalysisArgs) -> anyhow::Result<(usize, PathBuf)> {
    if let Some(option) = analysis.only_of_whole() {
        bail!("{option} is not asked about in parts: analyze the trace as a whole");
    }
    let path = &input.trace;
    let watch = analysis.watch(path, "reading", None);
    let options = analysis.options();
    if options.beginning.events.is_some() {
        bail!("workers analyze the whole of a trace: --first-events is for analyze, run, test and confirm");
    }
    let trace = input.load()?;
    warn_if_cut(path, &trace);
    must_be_execution(path, &trace)?;
    let (plan, prepared) = prepare(
        &trace,
        &options,
        analysis.threads(),
        &Stages(&watch),
        |candidates, unlisted, prepared| {
            let plan = Plan::new(trace.id(), to_report(&options, &trace), candidates, unlisted);
            (plan, prepared)
        },
    );
    let (folder, binding) = (analysis.folder(path), Binding::of(path));
    let file = plan.save(&folder, &binding)?;
    store::save_prepared(&folder, &plan.id(), prepared.as_ref(), &binding)?;
    Ok((plan.candidates.len(), file))
}

/// Refuses a trace that is no execution. That of a plan of this user is one: the plan was made of it, and is sealed for
/// what the trace's file holds.
fn must_be_as_planned(path: &Path, trace: &Trace, is_ours: bool) -> anyhow::Result<()> {
    if !is_ours {
        must_be_execution(path, trace)?;
    }
    Ok(())
}

/// What was worked out along with a plan, if this user has written it.
fn prepared(folder: &Path, plan: &Plan, trace: &Trace, binding: &Binding) -> Option<Prepared> {
    store::load_prepared(folder, &plan.id(), trace, plan.candidates.len(), binding)
}

pub fn plan(args: &PlanArgs) -> anyhow::Result<ExitCode> {
    let path = &args.input.trace;
    let (pairs, file) = make(&args.input, &args.analysis)?;
    print(|out| {
        writeln!(out, "{pairs} pairs to decide: {}", file.display())?;
        let trace = path.display();
        writeln!(
            out,
            "next: `witness analyze {trace} --shard M/N` for each M from 1 to N, then `witness merge {trace}`"
        )?;
        Ok(())
    })?;
    Ok(ExitCode::Nothing)
}

/// Decides one shard of the plan, and stores what it decides.
pub fn carry_out(
    path: &Path,
    trace: &Trace,
    analysis: &AnalysisArgs,
    shard: Shard,
    watch: &Watch,
) -> anyhow::Result<ExitCode> {
    warn_if_cut(path, trace);
    let folder = analysis.folder(path);
    let binding = Binding::of(path);
    let (plan, is_ours) = Plan::load(&folder, trace.id(), &binding)?;
    must_be_as_planned(path, trace, is_ours)?;
    let journal = store::shard_journal_path(&folder, shard);
    let following = Following::shard((trace.id(), binding), &plan, shard, &journal, watch);
    let prepared = prepared(&folder, &plan, trace, &binding);
    let work = Work {
        shard,
        threads: analysis.threads(),
        prepared: prepared.as_ref(),
        ..Work::default()
    };
    let options = Options {
        until: watch.until(),
        // Whatever its options say, no more than it has.
        most_pairs: plan.candidates.len() as u32,
        ..from_report(&plan.options)
    };
    let decisions = decide_with(trace, &options, &work, &following)?;
    watch.hide();
    finish(&folder, &plan.id(), shard, decisions, &binding)?;
    Ok(ExitCode::Nothing)
}

/// How workers share a plan.
pub struct Sharing {
    /// In so many shards.
    pub of: NonZeroU32,
    /// How long one is another's that shows no sign of life.
    pub lease: Duration,
    /// Whether shards count that somebody else has written.
    pub trust: bool,
}

/// Decides shards of the plan that nobody else works on, until all are done.
pub fn work(
    path: &Path,
    trace: &Trace,
    analysis: &AnalysisArgs,
    sharing: &Sharing,
    watch: &Watch,
) -> anyhow::Result<ExitCode> {
    warn_if_cut(path, trace);
    let folder = analysis.folder(path);
    let binding = Binding::of(path);
    let (plan, is_ours) = Plan::load(&folder, trace.id(), &binding)?;
    must_be_as_planned(path, trace, is_ours)?;
    let id = plan.id();
    let options = Options {
        until: watch.until(),
        // Whatever its options say, no more than it has.
        most_pairs: plan.candidates.len() as u32,
        ..from_report(&plan.options)
    };
    // Whoever cannot tell the plan from a forged one cannot tell shards from forged ones either: `merge` asks.
    let mut leases = Leases::new(&folder, &plan, binding, sharing.of, sharing.lease, std::process::id())
        .believing_others(sharing.trust || !is_ours);
    // Who comes when all is done has nothing to work out.
    let mut first = match leases.take()? {
        Offer::Done => return Ok(ExitCode::Nothing),
        offer => Some(offer),
    };
    let prepared = prepared(&folder, &plan, trace, &binding);
    let (threads, stages) = (analysis.threads(), Stages(watch));
    let all_done = decide_shards(trace, &options, threads, prepared.as_ref(), &stages, |decide| {
        loop {
            let offer = first.take().map_or_else(|| leases.take(), Ok)?;
            for shard in leases.of_others() {
                say!(
                    "witness: {}: was not written here by you{}, so it is decided anew; --trust believes it",
                    shard.display(),
                    own::hint()
                );
            }
            let lease = match offer {
                Offer::Shard(lease) => lease,
                Offer::Wait => {
                    watch.stage("waiting for other workers");
                    thread::sleep(LOOK.min(sharing.lease));
                    continue;
                }
                Offer::Done => return anyhow::Ok(()),
            };
            watch.stage("deciding");
            let shard = lease.shard();
            let journal = store::shard_journal_path(&folder, shard);
            let following = Following::shard((trace.id(), binding), &plan, shard, &journal, watch);
            match decide(shard, &following) {
                // The time is over: the next worker goes on from the journal.
                Ok(decisions) if decisions.iter().any(ran_out_of_time) => return Ok(()),
                Ok(decisions) => finish(&folder, &id, shard, decisions, &binding)?,
                // Its worker stood still for so long that its lease ran out, and is not dead.
                Err(error) if error.is::<ShardIsTaken>() => thread::sleep(LOOK),
                Err(error) => return Err(error),
            }
        }
    });
    watch.hide();
    all_done?;
    Ok(ExitCode::Nothing)
}

fn ran_out_of_time(decision: &Decision) -> bool {
    matches!(decision.pair.verdict, Verdict::Unknown(Unknown::Time))
}

/// Stores what is decided of a shard, and says how much of what.
fn finish(
    folder: &Path,
    plan: &PlanId,
    shard: Shard,
    decisions: Vec<Decision>,
    binding: &Binding,
) -> anyhow::Result<()> {
    let count = |wanted: fn(&Verdict) -> bool| {
        decisions
            .iter()
            .filter(|decision| wanted(&decision.pair.verdict))
            .count()
    };
    let witnessed = count(|verdict| matches!(verdict, Verdict::Witnessed(_)));
    let refuted = count(|verdict| matches!(verdict, Verdict::Refuted(_)));
    let elsewhere = match count(|verdict| matches!(verdict, Verdict::NotInTrace(_))) {
        0 => String::new(),
        count => format!(", {count} not in this trace"),
    };
    let unknown = count(|verdict| matches!(verdict, Verdict::Unknown(_)));
    let file = store::save_shard(folder, plan, shard, decisions, binding)?;
    print(|out| {
        let (number, of) = (shard.number(), shard.of());
        writeln!(
            out,
            "shard {number}/{of}: {witnessed} witnessed, {refuted} refuted{elsewhere}, {unknown} unknown: {}",
            file.display()
        )?;
        Ok(())
    })
}

/// Names the plan and the shards that this user has not written here; an error, unless they are to be believed.
fn believe(of_others: &[PathBuf], trust: bool) -> anyhow::Result<()> {
    let names: Vec<String> = of_others.iter().map(|path| path.display().to_string()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let names = names.join(", ");
    if trust {
        say!("witness: not written here by you, and believed, since you say --trust: {names}");
        return Ok(());
    }
    bail!(
        "not written here by you: {names}{}; what they refute, or do not look for, cannot be checked. If you know who \
         wrote them, add --trust",
        own::hint()
    )
}

pub fn merge(args: &MergeArgs, color: Color) -> anyhow::Result<ExitCode> {
    let path = &args.input.trace;
    let trace = args.input.load()?;
    warn_if_cut(path, &trace);
    let folder = args.store.clone().unwrap_or_else(|| store::folder_of(path));
    let binding = Binding::of(path);
    let loaded = Plan::load(&folder, trace.id(), &binding);
    must_be_as_planned(path, &trace, loaded.as_ref().is_ok_and(|&(_, is_ours)| is_ours))?;
    let (plan, is_ours) = loaded?;
    let shards = store::load_shards(&folder, &plan, &binding)?;
    let plan_of_others = (!is_ours).then(|| Plan::path(&folder));
    let of_others: Vec<PathBuf> = plan_of_others.into_iter().chain(shards.of_others).collect();
    believe(&of_others, args.trust)?;
    let stray = |decision: &&Decision| !decision.pair.is_of(&trace);
    if let Some(decision) = shards.decisions.iter().find(stray) {
        bail!(
            "{}: what is decided of pair {} names events that the trace does not have; analyze its shard again",
            folder.display(),
            decision.number
        );
    }
    let prepared = prepared(&folder, &plan, &trace, &binding);
    let options = from_report(&plan.options);
    let threads = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut analysis = join(&trace, &options, threads, prepared.as_ref(), shards.decisions);
    analysis.unlisted = plan.unlisted;
    say_unlisted(path, &analysis);
    let (filters, root) = (args.reports.filters()?, args.reports.root());
    let target = ReportTarget {
        filters: &filters,
        root: &root,
        folder: &folder,
    };
    show(path, &trace, None, &analysis, plan.options, &target, |findings| {
        args.reports.write_findings(findings, color, args.json)
    })
}
