//! Traces that other tools wrote, and traces for other tools: STD, RapidBin, RoadRunner, RV-Predict,
//! JSON lines.
//!
//! A trace in any format becomes a trace of our own, in memory: [`open`] gives a [`TraceFile`] as
//! if `witness record` had written it, so nothing after it knows where a trace came from. The same
//! input gives the same bytes, hence the same identity, and the results stored beside it are found
//! again.
//!
//! Formats without values ([`Format::Std`], [`Format::RapidBin`], [`Format::RoadRunner`], [`Format::RvPredict`]) share
//! one path: a parser yields records; `survey` walks them once to learn what lies ahead; `mend` walks them again, and
//! refuses or repairs what no execution can do; `build` gives each write a value of its own. `docs/formats.md`
//! describes the formats and every choice made.
//!
//! Memory is bounded by the size of the input: no count that a file claims is believed.
//!
//! ```
//! use witness::import::{Format, read};
//!
//! let text = "T0|fork(T1)|main.c:3\nT0|w(x)|main.c:4\nT1|r(x)|main.c:9\n";
//! let opened = read("race.std", text.as_bytes().to_vec(), None, false)?;
//! assert_eq!(opened.format, Format::Std);
//! assert_eq!(opened.file.len(), 3);
//!
//! let refused = read("bad.std", b"T0|rel(l)|1\n".to_vec(), None, false).unwrap_err();
//! assert!(refused.to_string().starts_with("bad.std:1: T0 releases l, which it does not hold"));
//! # Ok::<(), witness::import::ImportError>(())
//! ```

mod build;
mod detect;
mod error;
mod json_lines;
mod mend;
mod rapid_bin;
mod record;
mod rewrite;
mod roadrunner;
mod rv_predict;
mod std_export;
mod std_text;
mod survey;

pub use error::{ImportError, Malformed, Repair};
pub use json_lines::{ExportError as JsonError, export as write_json_lines};
pub use rewrite::{RewriteError, write_native};
pub use std_export::{ExportError, LeftOut, export as write_std};

use crate::check::validate;
use crate::trace::Trace;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use trace_format::TraceFile;

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Our own.
    Native,
    /// RAPID's text: `T0|acq(L1)|12`.
    Std,
    /// RAPID's binary events of 64 bits.
    RapidBin,
    /// What RoadRunner's printing tool logs.
    RoadRunner,
    /// The logs of RV-Predict for Java.
    RvPredict,
    /// Our own as JSON, one row or event a line.
    JsonLines,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 6] = [
        Format::Native,
        Format::Std,
        Format::RapidBin,
        Format::RoadRunner,
        Format::RvPredict,
        Format::JsonLines,
    ];

    /// The name that the command line knows it by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Native => "witness",
            Format::Std => "std",
            Format::RapidBin => "rapidbin",
            Format::RoadRunner => "roadrunner",
            Format::RvPredict => "rv-predict",
            Format::JsonLines => "jsonl",
        }
    }

    /// The format that the ending of a file's name stands for.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()? {
            "bin" => Some(Format::Native),
            "std" => Some(Format::Std),
            "rr" => Some(Format::RoadRunner),
            "jsonl" => Some(Format::JsonLines),
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        let known = Format::ALL.into_iter().find(|format| format.name() == text);
        known.ok_or_else(|| {
            let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
            format!("not one of {}", names.join(", "))
        })
    }
}

/// A trace, opened from whatever format it was in.
#[derive(Debug)]
pub struct Opened {
    /// The trace.
    pub file: TraceFile,
    /// The format it was in.
    pub format: Format,
    /// What was changed to make an execution of it; empty without `repair`.
    pub repairs: Vec<Repair>,
}

/// Opens a trace file of any format: the given one, else the one that its content shows. A folder
/// is one of RV-Predict's logs.
///
/// With `repair`, a trace that no execution can have is changed until one can; without, refused.
///
/// # Errors
/// [`ImportError`], when the file cannot be read, its format is not known, or it is refused.
pub fn open(path: &Path, format: Option<Format>, repair: bool) -> Result<Opened, ImportError> {
    let name = path.display().to_string();
    let io = |source| ImportError::Io {
        file: name.clone(),
        source,
    };
    if path.is_dir() && format.is_none_or(|format| format == Format::RvPredict) {
        return folder(path, repair);
    }
    // A pipe can be read once only; a native file is mapped instead of read.
    if format.unwrap_or(Format::Native) == Format::Native && std::fs::metadata(path).map_err(io)?.is_file() {
        let is_native = format.is_some() || detect::file_is_native(path).map_err(io)?;
        if is_native {
            return Ok(native(TraceFile::open(path)?));
        }
    }
    read(&name, std::fs::read(path).map_err(io)?, format, repair)
}

/// Opens a trace in memory; `name` is what it is called in errors.
///
/// # Errors
/// As [`open`].
pub fn read(name: &str, bytes: Vec<u8>, format: Option<Format>, repair: bool) -> Result<Opened, ImportError> {
    let format = match format.or_else(|| detect::detect(&bytes)) {
        Some(format) => format,
        None => return Err(ImportError::UnknownFormat { file: name.to_owned() }),
    };
    let (bytes, repairs) = match format {
        Format::Native => return Ok(native(TraceFile::from_bytes(name, bytes)?)),
        Format::JsonLines => return rows(name, &bytes),
        Format::RvPredict => {
            let mut records = Vec::new();
            rv_predict::unpack(name, &bytes, &mut records)?;
            translate(name, &records, format, repair)?
        }
        Format::Std | Format::RapidBin | Format::RoadRunner => translate(name, &bytes, format, repair)?,
    };
    Ok(Opened {
        file: TraceFile::from_bytes(name, bytes)?,
        format,
        repairs,
    })
}

/// Bytes of one of the logs that lie in a folder, at most.
const LARGEST_LOG: u64 = 4 << 30;

/// The logs of all threads, together.
fn folder(path: &Path, repair: bool) -> Result<Opened, ImportError> {
    let io = |path: &Path| {
        let file = path.display().to_string();
        move |source| ImportError::Io { file, source }
    };
    let logs = rv_predict::logs(path).map_err(io(path))?;
    let name = path.display().to_string();
    if logs.is_empty() {
        return Err(ImportError::NoLogs { folder: name });
    }
    let mut records = Vec::new();
    for log in logs {
        let bytes = safe_files::read_named(&log, LARGEST_LOG).map_err(io(&log))?;
        rv_predict::unpack(&log.display().to_string(), &bytes, &mut records)?;
    }
    let format = Format::RvPredict;
    let (bytes, repairs) = translate(&name, &records, format, repair)?;
    Ok(Opened {
        file: TraceFile::from_bytes(&name, bytes)?,
        format,
        repairs,
    })
}

fn native(file: TraceFile) -> Opened {
    Opened {
        file,
        format: Format::Native,
        repairs: Vec::new(),
    }
}

/// JSON lines. What is written by hand is seldom right at once, so the checker itself goes over it.
fn rows(name: &str, bytes: &[u8]) -> Result<Opened, ImportError> {
    let (written, lines) = json_lines::import(name, bytes)?;
    let file = TraceFile::from_bytes(name, written)?;
    let trace = Trace::from_file(&file).map_err(|error| ImportError::Load {
        file: name.to_owned(),
        error: error.to_string(),
    })?;
    validate(&trace).map_err(|violation| ImportError::NoExecution {
        file: name.to_owned(),
        line: lines.get(violation.event.index()).copied().unwrap_or(0),
        violation,
    })?;
    Ok(Opened {
        file,
        format: Format::JsonLines,
        repairs: Vec::new(),
    })
}

fn translate(name: &str, bytes: &[u8], format: Format, repair: bool) -> Result<(Vec<u8>, Vec<Repair>), ImportError> {
    let parse = match format {
        Format::RapidBin => rapid_bin::parse,
        Format::RoadRunner => roadrunner::parse,
        Format::RvPredict => rv_predict::parse,
        _ => std_text::parse,
    };
    let mut released = mend::Released::default();
    loop {
        let mut names = record::Names::default();
        let survey = survey::survey(name, bytes, parse, &mut names)?;
        let mut mender = mend::Mender::new(name, format, survey, names, repair, released)?;
        parse(name, bytes, &mut record::Names::default(), &mut |line, parsed| {
            mender.record(line, parsed)
        })?;
        match mender.finish()? {
            mend::Finished::Mended(bytes, repairs) => return Ok((bytes, repairs)),
            mend::Finished::OnceMore(more) => released = more,
        }
    }
}
