//! Runs that any number of workers share: each makes the same exploration, and of its runs those that nobody else has
//! made or is making.
//!
//! What a run is follows from its number and its plan, so they name its file. The plan follows from the runs before, so
//! workers that know the same runs ask for the same ones, and what they learn depends neither on how many there are nor
//! on who makes which. A [lease](crate::lease) keeps two from one run. If two make one all the same, the file of the
//! first counts, for both: a program may do something else each time. Files bear the seal of the user ([`crate::own`]), as
//! journals do.

use super::End;
use super::journal::{JournalError, Subject, is_incidental};
use crate::forest::Picture;
use crate::lease::{Lease, Leases};
use crate::own::Own;
use crate::session::Diverged;
use bincode::Options;
use recorder_ring::Settings;
use recorder_ring::plan::Words;
use safe_files::{Readers, create_new, make_folder, random_name};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The folder's name in that of the exploration.
const FOLDER: &str = "shared";

/// What is explored, by whose seal files are bound to it.
const SUBJECT: &str = "subject";

/// What files are sealed as, and the length of a seal.
const PURPOSE: &str = "shared run";
const SEAL: usize = 64;

/// No run that is explored comes near it.
const LONGEST: u64 = 1 << 30;

/// What a user allows workers.
#[derive(Clone, Debug)]
pub struct Sharing {
    /// Options that have to be the same for all, in words.
    pub terms: String,
    /// After so long a run is taken from a worker that shows no sign of life.
    pub lease: Duration,
    /// Whether to make runs only, and leave what they show to others.
    pub only_runs: bool,
}

/// The runs of one exploration.
#[derive(Debug)]
pub(super) struct Shared {
    folder: PathBuf,
    own: &'static Own,
    /// The seal of what is explored.
    subject: String,
    leases: Leases,
    /// How many runs this worker has made.
    made: usize,
    /// Another one for each worker, so that they begin at different runs.
    worker: usize,
    pub(super) only_runs: bool,
}

/// What is explored, and how.
#[derive(Serialize, Deserialize)]
struct Terms {
    subject: Subject,
    terms: String,
}

/// A run that was made, before anything is learnt from it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Made {
    pub(super) end: End,
    /// Where it left its plan, if it did.
    pub(super) diverged: Option<Diverged>,
    /// What threads showed of themselves.
    pub(super) pictures: Vec<Picture>,
    /// Its trace.
    #[serde(skip)]
    pub(super) trace: Vec<u8>,
}

/// The folder of shared runs in that of an exploration.
#[must_use]
pub fn folder_of_shared(exploration: &Path) -> PathBuf {
    exploration.join(FOLDER)
}

/// The environment in which all workers run the program: without what tells them apart. How many variables there are
/// moves the program's stack, and so what it does to memory.
#[must_use]
pub fn shared_environment() -> Vec<(OsString, OsString)> {
    let is_shared = |name: &OsString| name.to_str().is_none_or(|name| !is_incidental(name));
    std::env::vars_os().filter(|(name, _)| is_shared(name)).collect()
}

/// The name of a run: that of its file.
pub(super) fn name_of(number: usize, plan: &[Words], then: &Settings, most_events: Option<u64>) -> String {
    let mut hasher = blake3::Hasher::new();
    for word in plan.iter().flatten() {
        hasher.update(&word.to_le_bytes());
    }
    hasher.update(format!("{then:?} {most_events:?}").as_bytes());
    let digest = hasher.finalize().to_hex();
    format!("{}-{}", number + 1, &digest[..32])
}

impl Shared {
    /// Joins, or begins, the exploration in a folder.
    pub(super) fn join(exploration: &Path, subject: Subject, sharing: &Sharing) -> Result<Shared, JournalError> {
        let folder = folder_of_shared(exploration);
        let path = folder.join(SUBJECT);
        let io = |source| JournalError::Io {
            path: folder.clone(),
            source,
        };
        make_folder(exploration)
            .and_then(|()| make_folder(&folder))
            .map_err(io)?;
        let of_others = || JournalError::OfOthers { path: path.clone() };
        let own = Own::of_user().ok_or_else(of_others)?;
        let here = Terms {
            subject,
            terms: sharing.terms.clone(),
        };
        let text = serde_json::to_vec(&here).map_err(|error| io(error.into()))?;
        publish(&path, &sealed(own, "", SUBJECT, &text)).map_err(io)?;
        let known = safe_files::read(&path, LONGEST).map_err(io)?;
        let text = unsealed(own, "", SUBJECT, &known).ok_or_else(of_others)?;
        let there: Terms = serde_json::from_slice(text).map_err(|_| of_others())?;
        let other_terms = || (here.terms != there.terms).then(|| format!("{} instead of {}", there.terms, here.terms));
        if let Some(difference) = here.subject.difference(&there.subject).or_else(other_terms) {
            return Err(JournalError::OtherShared { path, difference });
        }
        let subject = own.seal(PURPOSE, &[text]).to_string();
        Ok(Shared {
            folder,
            own,
            subject,
            leases: Leases::new(sharing.lease),
            made: 0,
            worker: std::process::id() as usize,
            only_runs: sharing.only_runs,
        })
    }

    /// How many runs this worker has made.
    pub(super) fn made(&self) -> usize {
        self.made
    }

    /// Which of so many runs comes first for this worker.
    pub(super) fn first_of(&self, runs: usize) -> usize {
        // Neighbors among the numbers of processes are far apart.
        (self.worker.wrapping_mul(0x9e37_79b9) >> 4) % runs
    }

    /// A run that somebody has made.
    pub(super) fn find(&self, name: &str) -> Result<Option<Made>, JournalError> {
        let path = self.path(name, "run");
        let bytes = match safe_files::read(&path, LONGEST) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|source| self.io(source))?,
        };
        let of_others = || JournalError::OfOthers { path: path.clone() };
        let content = unsealed(self.own, &self.subject, name, &bytes).ok_or_else(of_others)?;
        unpacked(content).map(Some).ok_or_else(of_others)
    }

    /// Takes a run; `None` if somebody is making it.
    pub(super) fn take(&mut self, name: &str) -> Result<Option<Lease>, JournalError> {
        let path = self.path(name, "lease");
        self.leases.take(&path).map_err(|source| self.io(source))
    }

    /// Gives others a run that was made here; the one that counts, if somebody was faster.
    pub(super) fn give(&mut self, name: &str, made: Made) -> Result<Made, JournalError> {
        let content = packed(&made).map_err(|source| self.io(source))?;
        let bytes = sealed(self.own, &self.subject, name, &content);
        let is_first = publish(&self.path(name, "run"), &bytes).map_err(|source| self.io(source))?;
        self.made += 1;
        match is_first {
            true => Ok(made),
            false => Ok(self.find(name)?.unwrap_or(made)),
        }
    }

    fn path(&self, name: &str, end: &str) -> PathBuf {
        self.folder.join(format!("{name}.{end}"))
    }

    fn io(&self, source: io::Error) -> JournalError {
        JournalError::Io {
            path: self.folder.clone(),
            source,
        }
    }
}

/// Writes a file that nobody else has written; whether it is the first. It appears as a whole.
fn publish(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let draft = path.with_file_name(random_name("draft"));
    let written = create_new(&draft, Readers::Owner).and_then(|mut file| file.write_all(bytes));
    let linked = written.and_then(|()| fs::hard_link(&draft, path));
    let _ = fs::remove_file(&draft);
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        linked => linked.map(|()| true),
    }
}

fn sealed(own: &Own, subject: &str, name: &str, content: &[u8]) -> Vec<u8> {
    let seal = own.seal(PURPOSE, &[subject.as_bytes(), name.as_bytes(), content]);
    [seal.to_string().as_bytes(), content].concat()
}

/// What is in a file, if this user has written it.
fn unsealed<'b>(own: &Own, subject: &str, name: &str, bytes: &'b [u8]) -> Option<&'b [u8]> {
    let (seal, content) = bytes.split_at_checked(SEAL)?;
    let expected = own.seal(PURPOSE, &[subject.as_bytes(), name.as_bytes(), content]);
    (seal == expected.to_string().as_bytes()).then_some(content)
}

/// Lengths of what follows, and two blocks: what is known of the run, and its trace.
fn packed(made: &Made) -> io::Result<Vec<u8>> {
    let known = codec().serialize(made).map_err(io::Error::other)?;
    let (known, trace) = (
        lz4_flex::compress_prepend_size(&known),
        lz4_flex::compress_prepend_size(&made.trace),
    );
    Ok([&(known.len() as u32).to_le_bytes()[..], &known, &trace].concat())
}

/// Not text: every worker reads every run, and what threads showed of themselves are thousands of numbers.
fn codec() -> impl Options {
    bincode::DefaultOptions::new().with_limit(LONGEST)
}

fn unpacked(content: &[u8]) -> Option<Made> {
    let (length, rest) = content.split_first_chunk::<4>()?;
    let (known, trace) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let made: Made = codec()
        .deserialize(&lz4_flex::decompress_size_prepended(known).ok()?)
        .ok()?;
    let trace = lz4_flex::decompress_size_prepended(trace).ok()?;
    Some(Made { trace, ..made })
}
