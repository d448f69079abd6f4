//! Watches an analysis: shows its progress, and ends it if it takes more time or memory than allowed.
//!
//! Stages that can stop normally do so at the time limit: pairs undecided by then are *unknown: time*, and the results
//! are stored. A stage that does not stop within a second after the limit, or that takes more memory than allowed, is
//! ended from outside, by a thread that regularly checks both; the decisions made by then are in the journal, and are
//! not lost. So is one that the system gives no more memory, by the thread that asked for it.

use super::ExitCode;
use super::output::say;
use super::reports::ReportArgs;
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{hint, panic};
use witness::analyze::Decision;
use witness::report::Unfinished;
use witness::results::Summary;
use witness::verdict::{Pair, Verdict};

/// How long an analysis may go on after its time limit, to stop in good order.
const GRACE: Duration = Duration::from_millis(500);

/// How long it may take to say that it was ended: whoever should read it (a pipe, a terminal) may not.
const FAREWELL: Duration = Duration::from_millis(250);

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// What to do about memory that ran out, beside a larger limit.
const SMALLER: &str = "`--threads 1`, or a shorter recording (`witness record --max-events`)";

/// The analysis that is watched now.
static WATCHED: Mutex<Option<Arc<State>>> = Mutex::new(None);

/// The exploration that the analysis which is watched now is one of, if it is.
static EXPLORATION: Mutex<Option<Explored>> = Mutex::new(None);

/// What an exploration has found by something else than the analysis that is watched now.
struct Explored {
    lines: Vec<String>,
    status: ExitCode,
}

/// What an exploration says that is ended with an analysis.
const LEFT_OPEN: &str = "NOT EXHAUSTED: some schedules may show more, and so may the runs that were made: not all was \
                         analyzed; the same command goes on from here";

/// From now on, what is analyzed is what an exploration shows. That, and what it found otherwise, is told, and counts,
/// also if an analysis is ended from outside.
pub fn is_explored(lines: Vec<String>, status: ExitCode) {
    *EXPLORATION.lock().unwrap_or_else(PoisonError::into_inner) = Some(Explored { lines, status });
}

/// How what is ended now can go on, as a command to the user.
pub fn again() -> &'static str {
    // Whoever runs out of memory may be the one that holds it.
    match EXPLORATION.try_lock() {
        Ok(explored) if explored.is_some() => "the same command goes on from here",
        _ => "start `witness analyze` again to continue there",
    }
}

/// How an analysis of one trace goes on. Ends, with what watches it, when dropped.
pub struct Watch {
    state: Arc<State>,
    bar: ProgressBar,
}

struct State {
    progress: Mutex<Progress>,
    changed: Condvar,
    trace: PathBuf,
    until: Option<Instant>,
    memory: Option<Bytes>,
    /// What is to be said where a report would be, if the analysis is ended.
    reports: Option<ReportArgs>,
}

#[derive(Default)]
struct Progress {
    stage: &'static str,
    /// Pairs; none as long as they are not known.
    pairs: Option<usize>,
    decided: usize,
    /// What was decided in this run of the analysis, and is final: a witness once the checker has accepted it.
    found: Summary,
    /// Whether decisions are kept if the analysis ends now.
    kept: bool,
    over: bool,
}

impl Watch {
    /// Begins to watch the analysis of a trace, with its first stage.
    pub fn begin(
        trace: &Path,
        stage: &'static str,
        until: Option<Instant>,
        memory: Option<Bytes>,
        reports: Option<&ReportArgs>,
    ) -> Watch {
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(Duration::from_millis(200));
        let state = Arc::new(State {
            progress: Mutex::default(),
            changed: Condvar::new(),
            trace: trace.to_owned(),
            until,
            memory: memory.or_else(Bytes::of_machine),
            reports: reports.cloned(),
        });
        *watched() = Some(Arc::clone(&state));
        let watched = Arc::clone(&state);
        thread::spawn(move || watched.watch());
        let watch = Watch { state, bar };
        watch.stage(stage);
        watch
    }

    /// When the analysis has to end.
    pub fn until(&self) -> Option<Instant> {
        self.state.until
    }

    /// The next stage begins.
    pub fn stage(&self, name: &'static str) {
        allocator::give_back();
        self.state.progress().stage = name;
        self.bar.set_message(name);
    }

    /// The pairs are known; so many are decided already.
    pub fn pairs(&self, all: usize, decided: usize, kept: bool) {
        let mut progress = self.state.progress();
        (progress.pairs, progress.decided, progress.kept) = (Some(all), decided, kept);
        drop(progress);
        let style =
            ProgressStyle::with_template("{msg}: {pos} of {len} pairs decided {wide_bar} {per_sec}, {eta} left");
        self.bar.set_style(style.expect("a valid template"));
        self.bar.set_length(all as u64);
        self.bar.set_position(decided as u64);
    }

    /// One more pair is decided. A witness counts when it is [checked](Self::checked).
    pub fn decided(&self, decision: &Decision) {
        let mut progress = self.state.progress();
        progress.decided += 1;
        let verdict = &decision.pair.verdict;
        if !matches!(verdict, Verdict::Witnessed(_)) {
            progress.found.count(verdict);
        }
        drop(progress);
        self.bar.inc(1);
    }

    /// The witness of a decision, if it has one, is accepted.
    pub fn checked(&self, decision: &Decision) {
        if matches!(decision.pair.verdict, Verdict::Witnessed(_)) {
            self.state.progress().found.count(&decision.pair.verdict);
        }
    }

    /// This was decided before; a witness is checked anew, and counts when it is.
    pub fn taken_up(&self, decision: &Decision) {
        if !matches!(decision.pair.verdict, Verdict::Witnessed(_)) {
            self.state.progress().found.count(&decision.pair.verdict);
        }
    }

    /// Decisions are not kept any more.
    pub fn lost(&self) {
        self.state.progress().kept = false;
    }

    /// All pairs are decided, of which some are less sure than was told: what follows is words.
    pub fn all_decided(&self, pairs: &[Pair], stage: &'static str) {
        let mut found = Summary::default();
        pairs.iter().for_each(|pair| found.count(&pair.verdict));
        self.state.progress().found = found;
        self.stage(stage);
        self.bar.set_style(ProgressStyle::default_spinner());
    }

    /// The last stage: the report itself is shown.
    pub fn reports(&self) {
        self.stage("reports");
        self.hide();
    }

    /// Shows nothing any more.
    pub fn hide(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.hide();
        self.state.progress().over = true;
        self.state.changed.notify_all();
        let mut watched = watched();
        if watched.as_ref().is_some_and(|state| Arc::ptr_eq(state, &self.state)) {
            *watched = None;
        }
    }
}

impl State {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(self: &Arc<State>) {
        let mut progress = self.progress();
        while !progress.over {
            let waited = self.changed.wait_timeout(progress, PAUSE);
            (progress, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if progress.over {
                break;
            }
            if self.until.is_some_and(|until| Instant::now() >= until + GRACE) {
                let status = if progress.found.witnessed > 0 {
                    ExitCode::Witnessed
                } else {
                    ExitCode::OnlyUnknowns
                };
                self.end(&progress, "out of time", "a longer --time-limit", status);
            }
            if let Some(limit) = self.memory
                && Bytes::in_use().is_some_and(|used| used > limit)
            {
                let what = format!("out of memory (the limit is {limit})");
                let remedy = format!("a larger --memory-limit if there is more, {SMALLER}");
                self.end(&progress, &what, &remedy, ExitCode::BadInput);
            }
        }
    }

    /// Ends the process, whatever its other threads do, also if nobody reads what it says.
    fn end(self: &Arc<State>, progress: &Progress, what: &str, remedy: &str, status: ExitCode) -> ! {
        let words = self.last_words(progress, what, remedy);
        let exploration = EXPLORATION.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (found, open, status) = match exploration {
            Some(Explored { lines, status: found }) => (lines, Some(LEFT_OPEN), found.or_worse(status)),
            None => (Vec::new(), None, status),
        };
        let (said, is_said) = channel();
        let (state, aloud) = (Arc::clone(self), words.clone());
        let speaker = thread::Builder::new().spawn(move || {
            found.iter().for_each(|line| say!("{line}"));
            state.say_last(aloud);
            open.iter().for_each(|line| say!("{line}"));
            let _ = said.send(());
        });
        match speaker {
            Ok(_) => drop(is_said.recv_timeout(FAREWELL)),
            Err(_) => self.say_last(words),
        }
        allocator::exit_at_once(i32::from(status as u8))
    }

    /// Why it is ended, and what was decided.
    fn last_words(&self, progress: &Progress, what: &str, remedy: &str) -> (String, Option<Summary>) {
        let stage = progress.stage;
        let decided = match (progress.pairs, progress.kept) {
            (None, _) => "no pair is decided yet".to_owned(),
            (Some(all), true) => format!(
                "{} of {all} pairs are decided and stored; {}",
                progress.decided,
                again()
            ),
            (Some(all), false) => format!(
                "{} of {all} pairs were decided, but could not be stored",
                progress.decided
            ),
        };
        let why = format!("{what} ({stage}): {decided}; try {remedy}");
        let summary = progress.pairs.map(|all| {
            let Summary {
                witnessed,
                refuted,
                not_in_trace,
                ..
            } = progress.found;
            Summary {
                unknown: all.saturating_sub(witnessed + refuted + not_in_trace),
                ..progress.found
            }
        });
        (why, summary)
    }

    fn say_last(&self, (why, summary): (String, Option<Summary>)) {
        say!("witness: {}: {why}", self.trace.display());
        match summary {
            Some(summary) => say!("SUMMARY: witness: {summary}"),
            None => say!("SUMMARY: witness: nothing decided"),
        }
        if let Some(reports) = &self.reports {
            let trace = &self.trace;
            let why = &why;
            reports.write_unfinished(&Unfinished { trace, why, summary });
        }
    }
}

fn watched() -> MutexGuard<'static, Option<Arc<State>>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Enough for a thread that waits.
const STACK: usize = 64 << 10;

/// Ends this process should it take more than nine tenths of the memory that the machine has left now, whatever it does:
/// a small file can stand for much. Where an analysis is watched, its own limit counts.
pub fn limit_memory() {
    let Some(limit) = Bytes::of_machine() else { return };
    let watch = move || {
        loop {
            thread::sleep(PAUSE);
            if watched().is_none() && Bytes::in_use().is_some_and(|used| used > limit) {
                say!("witness: out of memory (the limit is {limit}, nearly all that the machine had left)");
                signal_hook::low_level::exit(i32::from(ExitCode::BadInput as u8));
            }
        }
    };
    // Without it, the system ends what takes too much.
    let _ = thread::Builder::new()
        .name("memory".to_owned())
        .stack_size(STACK)
        .spawn(watch);
}

/// Ends the program, which has asked for so many bytes and does not get them.
pub fn out_of_memory(size: usize) -> ! {
    let what = format!("out of memory (the system does not give {size} bytes more)");
    let remedy = format!("a larger limit (`ulimit -v`) if there is one, {SMALLER}");
    // Whoever holds one of these was about to change it, and may be this thread.
    let state = WATCHED.try_lock().ok().and_then(|watched| watched.clone());
    if let Some(state) = &state
        && let Ok(progress) = state.progress.try_lock()
    {
        // There is no memory for another thread.
        state.say_last(state.last_words(&progress, &what, &remedy));
    } else {
        say!("witness: {what}: try {remedy}");
    }
    signal_hook::low_level::exit(i32::from(ExitCode::BadInput as u8))
}

/// From now on, a panic in a process that gets no more memory ends it as any lack of memory does: where a thread gets no
/// stack, and where a request that a library makes of the system itself fails. Whether it is that, the system says: a
/// request for as much as they may have asked for is refused.
pub fn end_panics_without_memory() {
    /// More than the stack of a thread takes.
    const ROOM: usize = 64 << 20;
    /// How the standard library begins. The room may be there again a moment later, when other threads have ended.
    const NO_THREAD: &str = "failed to spawn thread";
    /// What a thread takes, mostly for its stack.
    const THREAD: usize = 2 << 20;
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let said = info.payload().downcast_ref::<String>();
        if said.is_some_and(|said| said.starts_with(NO_THREAD)) {
            allocator::exhausted(THREAD);
        }
        usual(info);
        // If it is refused, the allocator does not return.
        drop(hint::black_box(Vec::<u8>::with_capacity(ROOM)));
    }));
}

/// An amount of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(u64);

impl Bytes {
    /// How many.
    pub fn number(self) -> u64 {
        self.0
    }

    /// Nine tenths of what the machine, and the control group of this process, have left for it.
    pub fn of_machine() -> Option<Bytes> {
        let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
        let free = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        let free = free.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024;
        let group = fs::read_to_string("/proc/self/cgroup").ok();
        let group = group
            .as_deref()
            .and_then(|groups| groups.lines().find_map(|line| line.strip_prefix("0::")));
        let of_group = group.and_then(|group| {
            let limit = fs::read_to_string(format!("/sys/fs/cgroup{group}/memory.max")).ok()?;
            limit.trim().parse::<u64>().ok()
        });
        Some(Bytes(free.min(of_group.unwrap_or(u64::MAX)) / 10 * 9))
    }

    /// What this process takes, without files that it has mapped: the system can take these back.
    fn in_use() -> Option<Bytes> {
        // Without the heap: a thread that takes memory gets many addresses for it, of which there may be few.
        let mut text = [0; 128];
        let length = File::open("/proc/self/statm").ok()?.read(&mut text).ok()?;
        let pages = std::str::from_utf8(&text[..length]).ok()?;
        let mut pages = pages.split(' ').skip(1).map_while(|number| number.parse::<u64>().ok());
        let (resident, mapped) = (pages.next()?, pages.next()?);
        Some(Bytes(
            resident.saturating_sub(mapped) * rustix::param::page_size() as u64,
        ))
    }
}

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Bytes, String> {
        let (number, unit) = match text.find(|letter: char| !letter.is_ascii_digit()) {
            Some(at) => text.split_at(at),
            None => (text, "M"),
        };
        let shift = match unit {
            "K" | "k" => 10,
            "M" | "m" => 20,
            "G" | "g" => 30,
            _ => return Err("expected a number of megabytes, or a number with K, M or G".to_owned()),
        };
        let bytes = number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(1 << shift));
        bytes
            .filter(|&bytes| bytes > 0)
            .map(Bytes)
            .ok_or_else(|| "expected a positive amount".to_owned())
    }
}

impl Bytes {
    /// As `--memory-limit` takes it.
    pub fn as_flag(self) -> String {
        format!("{}K", self.0 >> 10)
    }
}

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} MB", self.0 >> 20)
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    #[test]
    fn amounts_of_memory() {
        for (text, bytes) in [("500", 500 << 20), ("3G", 3 << 30), ("64k", 64 << 10), ("7M", 7 << 20)] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "0", "G", "-1", "3T", "3 G", "99999999999999999999"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        assert!(Bytes::in_use() > Some(Bytes(0)) && Bytes::of_machine() > Some(Bytes(0)));
    }
}
