//! What several traces show together, from the runs of one program or the programs of a test suite: each race once, by
//! its id, with the trace that shows it best. A trace that adds nothing is removed.

use super::ExitCode;
use super::analyze::{AnalysisArgs, rejected_code, stored, to_report, verdict_code};
use super::answers::places_near;
use super::live::is_bad_pointer;
use super::output::{Color, print, say};
use super::reports::{ReportArgs, name_unused};
use super::runs;
use hashbrown::{HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use trace_format::TraceFile;
use witness::analyze::Glance;
use witness::check::Checker;
use witness::own::Origin;
use witness::record::ProcessNumber;
use witness::replay::live::{self, Deadlocked, LiveError, Outcome};
use witness::report::{
    Exporter, Filters, Findings, Json, Noise, Paint, Row, Text, Words, bad_pointer_in_short, deadlock_in_short,
    in_short,
};
use witness::results::{ExplorationResult, Summary};
use witness::schedule::Schedule;
use witness::session::{Companions, Launch, StandardInput};
use witness::symbols::Symbols;
use witness::trace::{LoadError, Trace};
use witness::verdict::{Analysis, Entry, Unknown, Verdict};

/// What is said of a race, from what says most to what says least. A refutation speaks of one trace's operations, so it
/// comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Said {
    Confirmed,
    Witnessed,
    Unknown,
    NotInTrace,
    /// Not in the trace, and only because of another race.
    Behind,
    Refuted,
}

/// A first trace of more events is read again for the report: meanwhile it would stand beside each further one.
const MOST_EVENTS_KEPT: usize = 1 << 20;

/// The traces that add something.
pub struct Merged<'a> {
    /// Which process of a program they are all of, if it is not the one that was started.
    number: Option<ProcessNumber>,
    filters: &'a Filters,
    reports: ReportArgs,
    traces: Vec<Analyzed>,
    /// By id.
    best: HashMap<String, Said>,
    /// By positions, the lower one first.
    witnessed: HashSet<(u64, u64)>,
    /// Where other outcomes may bring about what the first trace excludes.
    near: HashSet<u64>,
    glance: Glance,
}

/// One trace, and what was found in it.
struct Analyzed {
    path: PathBuf,
    folder: PathBuf,
    /// Of the first one, which often is the only one, unless it is long; there may be too many others to have them all
    /// in memory.
    trace: Option<Trace>,
    /// How many of its events were analyzed, if not all.
    first_events: Option<u64>,
    analysis: Analysis,
    /// The most that it says of each race that is not hidden, by id.
    said: HashMap<String, Said>,
    /// No other thread, and no part is missing.
    one_thread: bool,
    /// What became of the live runs of witnesses.
    live: HashMap<Entry, LiveOutcome>,
    /// Why the program cannot be driven along any.
    not_live: Option<String>,
    /// Whether the trace stays, whatever others show.
    keep: bool,
}

/// The result of a witness's live runs.
struct LiveOutcome {
    confirmed: bool,
    words: String,
}

/// How to show witnesses live.
pub struct Live {
    /// From where each run reads its input.
    pub input: StandardInput,
    /// Runs for each witness.
    pub attempts: u32,
    /// What runs before and beside each.
    pub companions: Companions,
}

impl<'a> Merged<'a> {
    /// For reports that are made once all traces are there; if an analysis has to be ended before, they say so.
    pub fn new(number: Option<ProcessNumber>, filters: &'a Filters, reports: ReportArgs) -> Merged<'a> {
        Merged {
            number,
            filters,
            reports,
            traces: Vec::new(),
            best: HashMap::new(),
            witnessed: HashSet::new(),
            near: HashSet::new(),
            glance: Glance::new(),
        }
    }

    /// Which process of the program it is; `None` for the one that was started.
    pub fn number(&self) -> Option<&ProcessNumber> {
        self.number.as_ref()
    }

    /// Its first trace.
    pub fn first(&self) -> &Path {
        self.traces.first().map_or(Path::new(""), |one| &one.path)
    }

    /// The code positions of the pairs that some trace witnesses, one that adds nothing to the report, too, hidden or
    /// not.
    pub fn witnessed(&self) -> &HashSet<(u64, u64)> {
        &self.witnessed
    }

    /// The places in the code at which other outcomes may bring about what the first trace excludes.
    pub fn near(&self) -> &HashSet<u64> {
        &self.near
    }

    /// Whether no trace has added anything yet.
    pub fn is_empty(&self) -> bool {
        self.traces.is_empty()
    }

    /// As [`add`](Self::add), of a further run that is long: it only adds what it proves. What it leaves open others do,
    /// too, and each trace takes much room on the disk, and in memory in the end.
    pub fn add_proofs(
        &mut self,
        path: &Path,
        analysis: &AnalysisArgs,
        live: Option<&Live>,
        keep: bool,
    ) -> anyhow::Result<()> {
        self.add_what(path, analysis, live, keep, Said::Witnessed)
    }

    /// Analyses one more trace, and drives its program along the witnesses that are not confirmed yet. The trace is
    /// removed if it adds nothing, unless it is to be kept.
    pub fn add(&mut self, path: &Path, analysis: &AnalysisArgs, live: Option<&Live>, keep: bool) -> anyhow::Result<()> {
        self.add_what(path, analysis, live, keep, Said::Refuted)
    }

    /// As [`add`](Self::add); what says less than `least` adds nothing.
    fn add_what(
        &mut self,
        path: &Path,
        analysis: &AnalysisArgs,
        live: Option<&Live>,
        keep: bool,
        least: Said,
    ) -> anyhow::Result<()> {
        let watch = analysis.watch(path, "reading", Some(&self.reports));
        let file = TraceFile::open(path)?;
        let trace = Trace::beginning(&file, analysis.options().beginning.of(file.len()))?;
        drop(file);
        let (found, _) = analysis.decide(path, &trace, &watch)?;
        drop(watch);
        if self.traces.is_empty() {
            self.near.extend(places_near(&found, &trace));
        }
        self.glance.note(&trace, &found);
        let mut one = Analyzed {
            path: path.to_owned(),
            folder: analysis.folder(path),
            one_thread: trace.threads() < 2 && trace.cut().is_none(),
            trace: None,
            first_events: trace.first_events(),
            analysis: found,
            said: HashMap::new(),
            live: HashMap::new(),
            not_live: None,
            keep,
        };
        let confirmed = |id: &str| self.best.get(id) == Some(&Said::Confirmed);
        if let Some(live) = live {
            one.show_live(&trace, self.filters, &confirmed, live)?;
        }
        one.said = one.say(&trace, self.filters);
        let pairs = one.analysis.pairs.iter();
        let witnessed = pairs.filter(|pair| matches!(pair.verdict, Verdict::Witnessed(_)));
        let positions = witnessed.map(|pair| pair.positions);
        self.witnessed.extend(positions.map(|(a, b)| (a.min(b), a.max(b))));
        let adds = one
            .said
            .iter()
            .any(|(id, said)| *said <= least && self.best.get(id).is_none_or(|best| said < best));
        if adds || one.keep || !one.analysis.rejected.is_empty() {
            for (id, &said) in &one.said {
                let best = self.best.entry_ref(id).or_insert(said);
                *best = said.min(*best);
            }
            one.trace = Some(trace).filter(|trace| self.traces.is_empty() && trace.len() < MOST_EVENTS_KEPT);
            self.traces.push(one);
        } else {
            runs::remove(path, Some(&one.folder));
        }
        Ok(())
    }

    /// Whether a further trace of a long run is worth its analysis; if not, it is removed.
    pub fn is_worthwhile(&mut self, path: &Path) -> anyhow::Result<bool> {
        if !self.glance.has_begun() {
            self.glance.begin(&TraceFile::open(self.first())?)?;
        }
        let is_worthwhile = self.glance.is_worthwhile(&TraceFile::open(path)?)?;
        if !is_worthwhile {
            runs::remove(path, None);
        }
        Ok(is_worthwhile)
    }

    /// What is not known of further traces that were not worth their analysis, in words.
    pub fn left_open(&self) -> Option<String> {
        self.glance.left_open()
    }

    /// Whether something was found, and nothing is left that another run could settle; or there is nothing that one
    /// could change.
    pub fn is_settled(&self, live: bool) -> bool {
        let open = |said: &Said| match said {
            Said::Unknown | Said::NotInTrace => true,
            Said::Witnessed => live,
            Said::Confirmed | Said::Behind | Said::Refuted => false,
        };
        let found = |said: &Said| *said <= Said::Witnessed;
        let one_thread = self.traces.iter().all(|one| one.one_thread);
        if self.traces.iter().any(|one| one.analysis.unlisted > 0) {
            return false;
        }
        one_thread || (self.best.values().any(found) && !self.best.values().any(open))
    }

    /// Reports on all of them at once, and stores the results of each.
    pub fn report(
        self,
        reports: &ReportArgs,
        analysis: &AnalysisArgs,
        live: bool,
        color: Color,
    ) -> anyhow::Result<ExitCode> {
        self.report_of_all(reports, analysis, live, None, color)
    }

    /// As [`report`](Self::report), with what an exploration says of all schedules.
    pub fn report_of_all(
        mut self,
        reports: &ReportArgs,
        analysis: &AnalysisArgs,
        live: bool,
        exploration: Option<&ExplorationResult>,
        color: Color,
    ) -> anyhow::Result<ExitCode> {
        let owners = self.owners();
        // What has come to be shown better by a later run is not needed any more.
        let mut row = 0;
        self.traces.retain(|one| {
            let kept = one.keep || owners.values().any(|&owner| owner == row) || !one.analysis.rejected.is_empty();
            row += 1;
            if !kept {
                runs::remove(&one.path, Some(&one.folder));
            }
            kept
        });
        let (owners, left_out) = self.listed(analysis.options().most_pairs as usize);
        if left_out > 0 {
            say!(
                "witness: {left_out} of the findings are left out of the report, which lists {} of all runs and \
                 programs together: --max-pairs lists more",
                owners.len()
            );
        }
        let root = reports.root();
        let opened = self.traces.iter_mut().map(|one| match one.trace.take() {
            Some(trace) => Ok(trace),
            None => Trace::beginning(&TraceFile::open(&one.path)?, one.first_events),
        });
        let traces: Vec<Trace> = opened.collect::<Result<_, LoadError>>()?;
        let symbols: Vec<Symbols<'_>> = traces.iter().map(|trace| Symbols::new(trace.tables())).collect();
        let own = self.traces.iter().zip(&traces);
        let own: Vec<Noise> = own.map(|(one, trace)| one.noise(trace, self.filters)).collect();
        let merged: Vec<Noise> = own
            .iter()
            .enumerate()
            .map(|(row, noise)| noise.only(|id| !self.best.contains_key(id) || owners.get(id) == Some(&row)))
            .collect();
        // What is beyond the bound is said in every form, and so of the first.
        let with_left_out = self.traces.first().filter(|_| left_out > 0).map(|first| {
            let unlisted = first.analysis.unlisted + left_out;
            Analysis {
                unlisted,
                ..first.analysis.clone()
            }
        });
        let options = analysis.options();
        let mut all = Vec::new();
        let rows = self.traces.iter().zip(traces.iter().zip(&symbols));
        for ((one, (trace, symbols)), (own, noise)) in rows.zip(own.iter().zip(&merged)) {
            let findings = |noise| Findings {
                trace,
                checker: None,
                path: &one.path,
                analysis: &one.analysis,
                symbols,
                options: to_report(&options, trace),
                folder: None,
                noise,
                root: &root,
                attached_warnings: &[],
                exploration,
            };
            let folder = stored(findings(own), &one.folder).folder;
            let analysis = with_left_out.as_ref().filter(|_| all.is_empty());
            all.push(Findings {
                folder,
                analysis: analysis.unwrap_or(&one.analysis),
                ..findings(noise)
            });
        }
        reports.write(
            &all,
            color,
            false,
            &|paint, out| Ok(Text { paint }.export(&all, out)?),
            &|_, out| Ok(Json.export(&all, out)?),
        )?;
        let mut used = vec![false; self.filters.suppressions.len()];
        for noise in &own {
            used.iter_mut().zip(noise.used()).for_each(|(used, also)| *used |= also);
        }
        name_unused(&self.filters.suppressions.unused(&used, false));
        let total = Summary::total(&all);
        let witnessed = total.witnessed + total.deadlocks + total.atomicity_violations;
        if live && (witnessed > 0 || self.traces.iter().any(|one| !one.live.is_empty())) {
            self.tell_live(&all, &total, reports, color)?;
        }
        for one in &self.traces {
            if let Some(code) = rejected_code(&one.analysis, &one.folder) {
                return Ok(code);
            }
        }
        let cut = all.iter().any(|findings| findings.trace.cut().is_some());
        let analyses: Vec<&Analysis> = self.traces.iter().map(|one| &one.analysis).collect();
        Ok(match verdict_code(total, cut) {
            ExitCode::Nothing if analysis.leaves_orders_open(&analyses) => ExitCode::OnlyUnknowns,
            code => code,
        })
    }

    /// By id: the first trace that says most of it.
    fn owners(&self) -> HashMap<String, usize> {
        let mut owners = HashMap::new();
        for (row, one) in self.traces.iter().enumerate() {
            for (id, said) in &one.said {
                if self.best.get(id) == Some(said) {
                    owners.entry_ref(id).or_insert(row);
                }
            }
        }
        owners
    }

    /// As [`owners`](Self::owners), of so many findings at most: those that say most come first. And how many are left
    /// out.
    fn listed(&self, most: usize) -> (HashMap<String, usize>, usize) {
        let owners = self.owners();
        let left_out = owners.len().saturating_sub(most);
        if left_out == 0 {
            return (owners, 0);
        }
        let mut all: Vec<(String, usize)> = owners.into_iter().collect();
        all.sort_by(|(one, row), (other, of)| (self.best.get(one), row, one).cmp(&(self.best.get(other), of, other)));
        all.truncate(most);
        (all.into_iter().collect(), left_out)
    }

    /// What became of each witness in the program itself, one line each.
    fn tell_live(
        &self,
        all: &[Findings<'_>],
        total: &Summary,
        reports: &ReportArgs,
        color: Color,
    ) -> anyhow::Result<()> {
        // Text would not belong into the report of another kind that is printed.
        let printed = reports.prints_text();
        let tell = |line: &str| {
            if printed {
                return print(|out| Ok(writeln!(out, "{line}")?));
            }
            say!("{line}");
            Ok(())
        };
        let paint = Paint {
            on: printed && color.for_stdout(),
        };
        tell("Live:")?;
        let (mut confirmed, mut witnessed) = (0, 0);
        for (one, findings) in self.traces.iter().zip(all) {
            let of = if self.traces.len() > 1 {
                format!("{}, ", one.path.display())
            } else {
                String::new()
            };
            let rows: Vec<(Row<'_>, usize)> = findings.shown().filter_map(|row| Some((row, row.number?))).collect();
            if let Some(why) = one.not_live.as_ref().filter(|_| !rows.is_empty()) {
                tell(&format!("  {of}not shown: {why}"))?;
            }
            let words = findings.words();
            for (row, number) in rows {
                let shown = one.live.get(&row.entry);
                match shown {
                    Some(LiveOutcome { confirmed: true, .. }) => confirmed += 1,
                    _ => witnessed += 1,
                }
                if let (Some(shown), Some(schedule)) = (shown, row.schedule()) {
                    let places = words.places(&schedule.goal);
                    tell(&format!("  {of}witness {number}: {places}: {}", shown.words))?;
                }
            }
            for (number, other) in findings.witnessed_others() {
                let shown = one.live.get(&other.entry);
                match shown {
                    Some(LiveOutcome { confirmed: true, .. }) => confirmed += 1,
                    _ => witnessed += 1,
                }
                if let (Some(shown), Verdict::Witnessed(schedule)) = (shown, other.verdict()) {
                    let (name, places) = (other.name(), words.places(&schedule.goal));
                    tell(&format!("  {of}witness {number}: {name} at {places}: {}", shown.words))?;
                }
            }
            // What a live run was to settle, and did not.
            for (row, pair) in one.analysis.pairs.iter().enumerate() {
                if let Verdict::Unknown(Unknown::Unsynchronized { schedule, .. }) = &pair.verdict
                    && let Some(shown) = one.live.get(&Entry::Pair(row))
                {
                    let places = words.places(&schedule.goal);
                    tell(&format!("  {of}unrecorded synchronization: {places}: {}", shown.words))?;
                }
            }
        }
        let unknown = total.unknown;
        let summary =
            format!("SUMMARY: witness: {confirmed} confirmed live, {witnessed} witnessed only, {unknown} unknown");
        tell(&format!("\n{}", paint.warning(summary)))
    }
}

impl Analyzed {
    fn noise(&self, trace: &Trace, filters: &Filters) -> Noise {
        let symbols = Symbols::new(trace.tables());
        let words = Words {
            trace,
            symbols: &symbols,
        };
        Noise::of(&words, &self.analysis, filters)
    }

    /// The most that the trace says of each race that is not hidden.
    fn say(&self, trace: &Trace, filters: &Filters) -> HashMap<String, Said> {
        let noise = self.noise(trace, filters);
        let mut all: HashMap<String, Said> = HashMap::new();
        for (entry, verdict) in self.analysis.entries() {
            if noise.hidden(entry).is_some() {
                continue;
            }
            let said = match verdict {
                Verdict::Witnessed(_) if self.live.get(&entry).is_some_and(|shown| shown.confirmed) => Said::Confirmed,
                Verdict::Witnessed(_) => Said::Witnessed,
                Verdict::Unknown(_) => Said::Unknown,
                Verdict::NotInTrace(_) if self.is_behind(entry) => Said::Behind,
                Verdict::NotInTrace(_) => Said::NotInTrace,
                Verdict::Refuted(_) => Said::Refuted,
            };
            let most = all.entry(noise.id(entry).to_owned()).or_insert(said);
            *most = said.min(*most);
        }
        all
    }

    /// Whether only what a racing read saw keeps a pair out of the trace.
    fn is_behind(&self, entry: Entry) -> bool {
        matches!(entry, Entry::Pair(row) if self.analysis.pairs[row].behind.is_some())
    }

    /// Runs the program along each witness whose race is not confirmed yet.
    fn show_live(
        &mut self,
        trace: &Trace,
        filters: &Filters,
        confirmed: &dyn Fn(&str) -> bool,
        live: &Live,
    ) -> anyhow::Result<()> {
        let noise = self.noise(trace, filters);
        // The same interruption in the same functions once.
        let mut known = HashSet::new();
        let open = self.analysis.entries().filter_map(|(entry, verdict)| {
            let schedule = match verdict {
                Verdict::Witnessed(schedule) => schedule,
                // Unseen synchronization would keep the program from having both next, but not from doing one after the
                // other.
                Verdict::Unknown(Unknown::Unsynchronized { schedule, .. }) if !schedule.goal.is_unordered() => {
                    schedule.as_ref()
                }
                _ => return None,
            };
            let id = noise.id(entry);
            let wanted = noise.hidden(entry).is_none() && !confirmed(id);
            let mut again = |entry| matches!(entry, Entry::AtomicityViolation(_)) && !known.insert(id.to_owned());
            (wanted && !again(entry)).then(|| (entry, schedule.clone()))
        });
        let mut open: Vec<(Entry, Schedule)> = open.collect();
        if open.is_empty() {
            return Ok(());
        }
        // Those of which there are few before those of which there may be thousands.
        open.sort_by_key(|(entry, _)| matches!(entry, Entry::Pair(_)));
        // Whoever asks for it has just recorded the trace.
        let launch = match live::launch(trace, &[], Origin::Here) {
            Ok(launch) => Launch {
                input: live.input,
                companions: live.companions.clone(),
                ..launch
            },
            Err(why @ LiveError::UnknownPolicy { .. }) => {
                self.not_live = Some(why.to_string());
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let checker = Checker::new(trace);
        let attempted = open.iter().filter(|(entry, _)| !matches!(entry, Entry::Deadlock(_)));
        let planner = live::Planner::new(&checker, attempted.map(|(_, schedule)| schedule));
        for (entry, schedule) in open {
            let (confirmed, words) = if let Entry::Deadlock(_) = entry {
                match live::deadlock(&planner, &schedule, &launch) {
                    Ok(outcome) => (matches!(outcome, Deadlocked::Confirmed(_)), deadlock_in_short(&outcome)),
                    Err(why @ LiveError::ForkedProcess { .. }) => {
                        self.not_live = Some(why.to_string());
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                }
            } else if is_bad_pointer(&schedule.goal) {
                match live::bad_pointer(&planner, &schedule, &launch) {
                    Ok(outcome) => (outcome.is_confirmed(), bad_pointer_in_short(&outcome)),
                    Err(why @ LiveError::ForkedProcess { .. }) => {
                        self.not_live = Some(why.to_string());
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                }
            } else {
                let (run, ..) = live::attempt(&planner, &schedule, &launch, live.attempts)?;
                let confirmed = matches!(run.outcome, Outcome::Confirmed(_));
                (confirmed, in_short(&schedule.goal, &run.outcome))
            };
            self.live.insert(entry, LiveOutcome { confirmed, words });
            if confirmed {
                *self.analysis.verdict_mut(entry) = Verdict::Witnessed(schedule);
            }
        }
        Ok(())
    }
}
