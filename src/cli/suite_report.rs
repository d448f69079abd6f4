//! One report on the traces of a test suite: each race once, by its id, with the trace that shows it first.
//!
//! Of an id, a witness says more than an open question, and that more than a refutation, which speaks of one trace only.
//! Whatever another trace says at least as well is left out of a trace's results; a trace that has nothing left is
//! removed.

use super::ExitCode;
use super::analyze::{AnalysisArgs, rejected_code, reported, stored, verdict_code};
use super::output::{Color, print, say};
use super::reports::{ReportArgs, name_unused};
use hashbrown::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use trace_format::TraceFile;
use witness::report::results::Summary;
use witness::report::{Exporter, Filters, Findings, Json, Noise, Text, Words};
use witness::symbols::Symbols;
use witness::trace::Trace;
use witness::verdict::{Analysis, Verdict};

/// What is said of a race, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Said {
    Witnessed,
    Unknown,
    Less,
}

/// The traces that say something.
#[derive(Default)]
pub struct SuiteReport {
    traces: Vec<Analysed>,
    /// By id: the most that is said of it, and by which trace.
    best: HashMap<String, (Said, usize)>,
}

struct Analysed {
    path: PathBuf,
    analysis: Analysis,
    /// By pair.
    ids: Vec<String>,
}

impl SuiteReport {
    /// Analyses one more trace.
    pub fn add(&mut self, path: &Path, args: &AnalysisArgs, keep: bool) -> anyhow::Result<()> {
        let file = TraceFile::open(path)?;
        let trace = Trace::from_file(&file)?;
        let analysis = args.decide(path, &trace, &args.watch(path, "analysis"))?;
        let symbols = Symbols::new(trace.tables());
        let words = Words {
            trace: &trace,
            symbols: &symbols,
        };
        let noise = Noise::of(&words, &analysis, &Filters::default());
        let ids: Vec<String> = (0..analysis.pairs.len()).map(|row| noise.id(row).to_owned()).collect();
        let number = self.traces.len();
        let mut adds = keep || !analysis.rejected.is_empty();
        for (id, pair) in ids.iter().zip(&analysis.pairs) {
            let said = said(&pair.verdict);
            let best = self.best.entry(id.clone()).or_insert((Said::Less, number));
            adds |= best.1 == number;
            if said < best.0 {
                *best = (said, number);
                adds = true;
            }
        }
        if adds {
            let path = path.to_owned();
            self.traces.push(Analysed { path, analysis, ids });
        } else {
            remove(path, args);
        }
        Ok(())
    }

    /// Writes one report on all of them, and stores the results of each.
    pub fn write(
        mut self,
        reports: &ReportArgs,
        args: &AnalysisArgs,
        keep: bool,
        color: Color,
    ) -> anyhow::Result<ExitCode> {
        let filters = reports.filters()?;
        for (number, one) in self.traces.iter_mut().enumerate() {
            let mut ids = one.ids.iter();
            let best = &self.best;
            one.analysis.pairs.retain(|pair| {
                let id = ids.next().expect("an id for each pair");
                best.get(id).is_none_or(|best| *best == (said(&pair.verdict), number))
            });
        }
        self.traces.retain(|one| {
            // A later one says more.
            let kept = keep || !one.analysis.pairs.is_empty() || !one.analysis.rejected.is_empty();
            if !kept {
                remove(&one.path, args);
            }
            kept
        });
        let traces: Vec<Trace> = self
            .traces
            .iter()
            .map(|one| Trace::open(&one.path))
            .collect::<Result<_, _>>()?;
        let symbols: Vec<Symbols<'_>> = traces.iter().map(|trace| Symbols::new(trace.tables())).collect();
        let rows = || self.traces.iter().zip(traces.iter().zip(&symbols));
        let noises: Vec<Noise> = rows()
            .map(|(one, (trace, symbols))| Noise::of(&Words { trace, symbols }, &one.analysis, &filters))
            .collect();
        let folders: Vec<PathBuf> = self.traces.iter().map(|one| args.folder(&one.path)).collect();
        let (options, root) = (reported(&args.options()), reports.root());
        let findings: Vec<Findings<'_>> = rows()
            .zip(noises.iter().zip(&folders))
            .map(|((one, (trace, symbols)), (noise, folder))| {
                let findings = Findings {
                    trace,
                    path: &one.path,
                    analysis: &one.analysis,
                    symbols,
                    options,
                    folder: None,
                    noise,
                    root: &root,
                    heard: &[],
                };
                stored(findings, folder)
            })
            .collect();
        reports.write(
            &findings,
            color,
            false,
            &|paint, out| {
                for one in &findings {
                    writeln!(
                        out,
                        "{}: {}",
                        one.path.display(),
                        one.trace.tables().meta.command.join(" ")
                    )?;
                    Text { paint }.export(std::slice::from_ref(one), out)?;
                }
                Ok(())
            },
            &|_, out| Ok(Json.export(&findings, out)?),
        )?;
        let mut used = vec![false; filters.suppressions.len()];
        for noise in &noises {
            used.iter_mut().zip(noise.used()).for_each(|(used, also)| *used |= also);
        }
        name_unused(&filters.suppressions.unused(&used, false));
        let total = Summary::total(&findings);
        if reports.prints_text() {
            print(|out| {
                Ok(writeln!(
                    out,
                    "\nIn all: {} data race{} witnessed, {} unknown, in {} trace{}",
                    total.witnessed,
                    plural(total.witnessed),
                    total.unknown,
                    findings.len(),
                    plural(findings.len())
                )?)
            })?;
        }
        for (one, folder) in self.traces.iter().zip(&folders) {
            if let Some(code) = rejected_code(&one.analysis, folder) {
                return Ok(code);
            }
        }
        Ok(verdict_code(total))
    }
}

fn said(verdict: &Verdict) -> Said {
    match verdict {
        Verdict::Witnessed(_) => Said::Witnessed,
        Verdict::Unknown(_) => Said::Unknown,
        Verdict::Refuted(_) | Verdict::NotInTrace(_) => Said::Less,
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Removes a trace that says nothing that others do not say, and its results.
fn remove(path: &Path, args: &AnalysisArgs) {
    let folder = args.folder(path);
    let removed = fs::remove_file(path);
    // There are none if no pair had to be decided.
    let _ = fs::remove_dir_all(folder);
    if let Err(error) = removed {
        say!("witness: {} is not removed: {error}", path.display());
    }
}
