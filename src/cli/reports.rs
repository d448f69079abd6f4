//! `--report`, `--suppressions`, `--baseline`: what is shown, in which forms, and where.

use super::output::{Color, print, print_commands, say};
use anyhow::{Context, bail};
use clap::builder::{OsStringValueParser, TypedValueParser};
use safe_files::{Draft, Readers};
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use witness::escape::Escaped;
use witness::record::ProcessNumber;
use witness::report::noise::{Baseline, Suppressions};
use witness::report::{Exporter, FORMS, Filters, Findings, Json, Paint, SourceRoot, Text, Unfinished};

/// What to show, in which forms, and what not.
#[derive(Clone, Debug, clap::Args)]
pub struct ReportArgs {
    /// Write a report; repeat for several: text, json, sarif, junit, github, html, csv, or chrome-trace, which
    /// Perfetto shows. Without a file, or with `-`, it goes to standard output instead of the text.
    #[arg(long, env = "WITNESS_REPORT", value_name = "KIND=FILE", value_parser = OsStringValueParser::new().try_map(Target::parse))]
    report: Vec<Target>,
    /// Hide the races that a file in ThreadSanitizer's syntax names; repeat for several files.
    #[arg(long, env = "WITNESS_SUPPRESSIONS", value_name = "FILE")]
    suppressions: Vec<PathBuf>,
    /// Show only the races that are not in this results object (of --report json=FILE).
    #[arg(long, env = "WITNESS_BASELINE", value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// The folder of the sources, to which SARIF and annotations refer [default: the current one]. Of a trace that was
    /// not recorded here, only the sources below the folder that is named are shown.
    #[arg(long, env = "WITNESS_SOURCE_ROOT", value_name = "DIR")]
    source_root: Option<PathBuf>,
    #[arg(skip)]
    written: Written,
}

/// The files whose reports are there. Files are written under other names and then put in their places, so that none is
/// there in part, also if the analysis is ended by its time limit meanwhile.
type Written = Arc<Mutex<Vec<PathBuf>>>;

/// The forms that commands write in words of their own.
const TEXT: &str = "text";
const JSON: &str = "json";
const CSV: &str = "csv";

/// The form whose lines are commands to a service that runs builds.
const COMMANDS: &str = "github";

/// A report, and the file that it goes to; `None` is standard output.
#[derive(Clone, Debug)]
struct Target {
    /// One of the names of [`FORMS`].
    form: &'static str,
    file: Option<PathBuf>,
}

impl Target {
    /// Reads `KIND=FILE`; a file's name is whatever the system takes for one.
    fn parse(text: OsString) -> Result<Target, String> {
        let bytes = text.as_bytes();
        let (name, file) = match bytes.iter().position(|&byte| byte == b'=') {
            Some(at) => (&bytes[..at], OsStr::from_bytes(&bytes[at + 1..])),
            None => (bytes, OsStr::new("-")),
        };
        let name = String::from_utf8_lossy(name);
        let mut names = FORMS.iter().map(|(form, _)| *form);
        let Some(form) = names.clone().find(|form| *form == name) else {
            let names: Vec<&str> = names.by_ref().collect();
            return Err(format!("expected KIND=FILE, with a kind of {}", names.join(", ")));
        };
        if file.is_empty() {
            return Err("the file name is empty".to_owned());
        }
        let file = (file != "-").then(|| PathBuf::from(file));
        Ok(Target { form, file })
    }

    fn exporter(&self) -> &'static dyn Exporter {
        let form = FORMS.iter().find(|(form, _)| *form == self.form);
        form.expect("the name of a form").1
    }
}

/// Writes one form of a report, in these colors.
pub type Write1<'a> = &'a dyn Fn(Paint, &mut dyn Write) -> anyhow::Result<()>;

impl ReportArgs {
    /// For the trace of another process of the program: its reports lie beside those of the first.
    pub fn of_process(&self, number: &ProcessNumber) -> ReportArgs {
        let mut args = self.clone();
        for file in args.report.iter_mut().filter_map(|target| target.file.as_mut()) {
            *file = number.beside(file);
        }
        args
    }

    /// Whether standard output gets the text.
    pub fn prints_text(&self) -> bool {
        let mut printed = self.report.iter().filter(|target| target.file.is_none());
        printed.all(|target| target.form == TEXT)
    }

    /// What is not to be shown.
    pub fn filters(&self) -> anyhow::Result<Filters> {
        let mut suppressions = Suppressions::default();
        for path in &self.suppressions {
            suppressions.read(path)?;
        }
        let baseline = self.baseline.as_deref().map(Baseline::read).transpose()?;
        Ok(Filters { suppressions, baseline })
    }

    /// The folder of the sources.
    pub fn root(&self) -> SourceRoot {
        let root = self.source_root.as_deref().unwrap_or(Path::new("."));
        SourceRoot {
            folder: fs::canonicalize(root).unwrap_or_else(|_| root.to_owned()),
            is_named: self.source_root.is_some(),
        }
    }

    /// Writes the reports on one trace: on standard output the text, or with `as_json` the results object, if nothing
    /// else goes there.
    pub fn write_findings(&self, findings: &Findings<'_>, color: Color, as_json: bool) -> anyhow::Result<()> {
        let all = std::slice::from_ref(findings);
        self.write(
            all,
            color,
            as_json,
            &|paint, out| Ok(Text { paint }.export(all, out)?),
            &|_, out| Ok(Json.export(all, out)?),
        )
    }

    /// Writes the reports that were asked for, and on standard output the text, or with `as_json` the JSON, if none
    /// goes there.
    pub fn write(
        &self,
        findings: &[Findings<'_>],
        color: Color,
        as_json: bool,
        text: Write1<'_>,
        json: Write1<'_>,
    ) -> anyhow::Result<()> {
        let mut targets: Vec<Target> = self.report.clone();
        let printed = |target: &&Target| target.file.is_none();
        match targets.iter().filter(printed).count() + usize::from(as_json) {
            0 => targets.insert(0, Target { form: TEXT, file: None }),
            1 if as_json => targets.insert(0, Target { form: JSON, file: None }),
            1 => {}
            _ => bail!("two reports go to standard output: give all but one a file, --report KIND=FILE"),
        }
        for target in &targets {
            let to = |out: &mut dyn Write, paint: Paint| -> anyhow::Result<()> {
                match target.form {
                    TEXT => text(paint, out),
                    JSON => json(paint, out),
                    _ => Ok(target.exporter().export(findings, out)?),
                }
            };
            match &target.file {
                None if target.form == COMMANDS => print_commands(|out| to(out, Paint::default()))?,
                None => print(|out| to(out, Paint { on: color.for_stdout() }))?,
                Some(path) => self
                    .put(path, ".part", &|out| match target.form {
                        // Its lines end as its form wants.
                        CSV => to(out, Paint::default()),
                        form => {
                            let mut out = match form {
                                TEXT => Escaped::new(out, false),
                                // Of these, some lines begin so.
                                _ => Escaped::with_commands(out),
                            };
                            to(&mut out, Paint::default())?;
                            Ok(out.flush()?)
                        }
                    })
                    .with_context(|| format!("cannot write the report {}", path.display()))?,
            }
        }
        Ok(())
    }

    /// Writes a file, whole or not at all. What is no regular file (a terminal, a pipe) is written as it comes.
    fn put(&self, path: &Path, suffix: &str, to: &dyn Fn(&mut dyn Write) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let is_special = fs::metadata(path).is_ok_and(|about| !about.is_file());
        if is_special {
            let mut out = BufWriter::new(OpenOptions::new().write(true).open(path)?);
            to(&mut out)?;
            out.flush()?;
            self.written().push(path.to_owned());
            return Ok(());
        }
        let mut out = BufWriter::new(Draft::create(path, suffix, Readers::AsUsual)?);
        let done = to(&mut out).and_then(|()| out.into_inner().map_err(|error| error.into_error().into()));
        let draft = done?;
        let mut written = self.written();
        draft.rename()?;
        written.push(path.to_owned());
        Ok(())
    }

    fn written(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes, where no report is yet, that the analysis was ended before there was one.
    pub fn write_unfinished(&self, analysis: &Unfinished<'_>) {
        let written = |path: &PathBuf| self.written().contains(path);
        for target in &self.report {
            if let Some(path) = target.file.as_ref().filter(|path| !written(path))
                && let Err(error) = self.put(path, ".unfinished", &|out| {
                    Ok(target.exporter().unfinished(analysis, out)?)
                })
            {
                say!("witness: cannot write the report {}: {error}", path.display());
            }
        }
    }
}

/// Says on stderr which suppressions hid nothing.
pub fn name_unused(unused: &[String]) {
    for suppression in unused {
        say!("witness: this suppression hides nothing: {suppression}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Args;

    #[test]
    fn the_help_names_every_form() {
        let help = ReportArgs::augment_args(clap::Command::new("witness"))
            .render_long_help()
            .to_string();
        for (form, _) in FORMS.iter().filter(|(form, _)| *form != "perfetto") {
            assert!(help.contains(form), "{form}: {help}");
        }
    }
}
