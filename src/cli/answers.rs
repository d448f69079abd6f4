//! What runs have said so far of what is asked: which questions have a witness, and where other outcomes may bring one
//! about. Of the traces, those stay in memory that answer something better than the others.

use super::analyze::to_report;
use super::explored::Positions;
use hashbrown::HashSet;
use std::path::{Path, PathBuf};
use trace_format::TraceFile;
use witness::analyze::{Glance, Options};
use witness::confirm::{Confirmation, Outcome, Run, Suppressed};
use witness::report::{Findings, NO_ROOT, Noise};
use witness::symbols::Symbols;
use witness::trace::Trace;
use witness::verdict::{Analysis, Fact, Verdict};
use witness::warnings::Warning;

/// A trace, and what it says.
pub struct Asked {
    pub path: PathBuf,
    pub trace: Trace,
    pub confirmation: Confirmation,
}

impl Asked {
    /// Whether a question has a witness here.
    pub fn is_witnessed(&self, question: usize) -> bool {
        let Confirmation { analysis, answers } = &self.confirmation;
        answers[question].is_witnessed(analysis)
    }
}

/// What is found in a trace.
pub fn findings<'a>(
    asked: &'a Asked,
    symbols: &'a Symbols<'a>,
    options: witness::results::Options,
    noise: &'a Noise,
) -> Findings<'a> {
    Findings {
        trace: &asked.trace,
        checker: None,
        path: &asked.path,
        analysis: &asked.confirmation.analysis,
        symbols,
        options,
        folder: None,
        noise,
        root: &NO_ROOT,
        attached_warnings: &[],
        exploration: None,
    }
}

/// Which traces answer something better than the others; one in any case.
pub fn used(warnings: &[Warning], asked: &[Asked], options: &Options) -> Vec<bool> {
    if asked.len() == 1 {
        return vec![true];
    }
    let symbols: Vec<Symbols<'_>> = asked.iter().map(|asked| Symbols::new(asked.trace.tables())).collect();
    let noise = Noise::default();
    let runs: Vec<Run<'_>> = asked
        .iter()
        .zip(&symbols)
        .map(|(asked, symbols)| Run {
            findings: findings(asked, symbols, to_report(options, &asked.trace), &noise),
            answers: &asked.confirmation.answers,
        })
        .collect();
    let outcome = Outcome {
        warnings,
        runs: &runs,
        suppressed: &Suppressed::default(),
        exploration: None,
    };
    let mut used = vec![false; asked.len()];
    // One trace stays in any case.
    used[0] = outcome.confirmed().next().is_none();
    outcome.confirmed().for_each(|confirmed| used[confirmed.run] = true);
    used
}

/// Where other outcomes may bring about a race or a deadlock: at the places themselves, and at the reads by which they
/// are excluded.
pub fn places_near(analysis: &Analysis, trace: &Trace) -> Vec<u64> {
    let mut near = Vec::new();
    for pair in &analysis.pairs {
        near.extend([pair.positions.0, pair.positions.1]);
        near.extend(reads_of_core(&pair.verdict, trace));
    }
    for deadlock in &analysis.deadlocks {
        near.extend(&deadlock.positions);
        near.extend(reads_of_core(&deadlock.verdict, trace));
    }
    near
}

/// Where the reads are that exclude something.
fn reads_of_core<'a>(verdict: &'a Verdict, trace: &'a Trace) -> impl Iterator<Item = u64> + 'a {
    verdict.core().into_iter().flatten().filter_map(|fact| match fact {
        Fact::Read { read, .. } => Some(trace.pc(*read)),
        _ => None,
    })
}

/// What the runs have said, one after the other.
pub struct Answers<'a> {
    warnings: &'a [Warning],
    options: &'a Options,
    /// Those that stay.
    pub asked: Vec<Asked>,
    /// The traces of the others.
    pub unused: Vec<PathBuf>,
    /// The questions without a witness.
    pub open: Vec<usize>,
    near: HashSet<u64>,
    /// The pairs that the questions mean.
    meant: HashSet<Positions>,
    /// Those of them that have a witness.
    witnessed: HashSet<Positions>,
    /// The trace of the first run.
    first: Option<PathBuf>,
    glance: Glance,
}

impl<'a> Answers<'a> {
    /// None, to so many questions.
    pub fn new(warnings: &'a [Warning], options: &'a Options, questions: usize) -> Answers<'a> {
        Answers {
            warnings,
            options,
            asked: Vec::new(),
            unused: Vec::new(),
            open: (0..questions).collect(),
            near: HashSet::new(),
            meant: HashSet::new(),
            witnessed: HashSet::new(),
            first: None,
            glance: Glance::new(),
        }
    }

    /// Adds what a trace says.
    pub fn add(&mut self, one: Asked) {
        self.open.retain(|&question| !one.is_witnessed(question));
        for pair in &one.confirmation.analysis.pairs {
            let (a, b) = pair.positions;
            let positions = (a.min(b), a.max(b));
            self.meant.insert(positions);
            if matches!(pair.verdict, Verdict::Witnessed(_)) {
                self.witnessed.insert(positions);
            }
        }
        self.near.extend(places_near(&one.confirmation.analysis, &one.trace));
        self.glance.note(&one.trace, &one.confirmation.analysis);
        self.first.get_or_insert_with(|| one.path.clone());
        self.asked.push(one);
    }

    /// Whether a further trace of a long run is worth being asked.
    pub fn is_worthwhile(&mut self, path: &Path) -> anyhow::Result<bool> {
        if let Some(first) = self.first.as_ref().filter(|_| !self.glance.has_begun()) {
            self.glance.begin(&TraceFile::open(first)?)?;
        }
        Ok(self.glance.is_worthwhile(&TraceFile::open(path)?)?)
    }

    /// What is not known of further traces that were not worth being asked, in words.
    pub fn left_open(&self) -> Option<String> {
        self.glance.left_open()
    }

    /// Forgets the traces that answer nothing better than others, since each takes much memory; whether the last one
    /// stays.
    pub fn drop_unused(&mut self) -> bool {
        let used = used(self.warnings, &self.asked, self.options);
        let stays = used.last() == Some(&true);
        for (asked, used) in std::mem::take(&mut self.asked).into_iter().zip(used) {
            match used {
                true => self.asked.push(asked),
                false => self.unused.push(asked.path),
            }
        }
        stays
    }

    /// Whether another outcome at this place may bring about what is asked for.
    pub fn is_near(&self, position: u64) -> bool {
        self.near.contains(&position)
    }

    /// Whether a question means this race.
    pub fn is_meant(&self, (a, b): Positions) -> bool {
        self.meant.contains(&(a.min(b), a.max(b)))
    }

    /// Whether a race is none that was asked for, or some trace proves it.
    pub fn is_settled(&self, (a, b): Positions) -> bool {
        !self.is_meant((a, b)) || self.witnessed.contains(&(a.min(b), a.max(b)))
    }
}
