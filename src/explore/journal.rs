//! The journal of an exploration: every run that was made and what was learnt from it, so that an exploration that was
//! killed, or reached a bound, goes on where it was.
//!
//! The file is a magic number and frames, each with its length, its checksum and a seal ([`crate::own`]): what was learnt
//! can only be believed, so a journal that somebody else has written is not gone on with. The first frame says what is
//! explored; each of the others is a run: what was learnt from it, and its trace. Frames are only ever appended, one write each.
//! Of a frame that the last session did not finish nothing is taken: that run is made again. Traces of one program have
//! nearly equal tables, so each is compressed with the first as its dictionary.

use super::session::Learnt;
use crate::own::{self, Own};
use crc32c::crc32c;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use safe_files::Readers;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 12] = b"\x89WITNESS-EX2";

/// Before each frame: the length of what follows, and its checksum, little-endian.
const FRAME: usize = 8;

/// What frames are sealed as, and the length of a seal.
const PURPOSE: &str = "exploration";
const SEAL: usize = 64;

/// No trace of a run that is explored comes near it: a length beyond it is damage.
const LONGEST: u32 = 1 << 30;

/// What is explored takes less, and what was learnt from a run, with its trace: both are compressed, or nearly.
const LONGEST_SUBJECT: u32 = 64 << 20;
const LONGEST_FRAME: u32 = LONGEST + (LONGEST >> 4);

/// What stands at a place of the file.
enum Frame {
    Whole(Vec<u8>),
    /// Nothing, or what was not finished.
    NotWhole,
    /// What announces more than any is long.
    TooLong,
}

/// Variables that say where and how a program was started, not what it is to do.
const INCIDENTAL: [&str; 18] = [
    "_",
    "COLUMNS",
    "ENVIRONMENT",
    "HOST",
    "HOSTNAME",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "LINES",
    "OLDPWD",
    "PWD",
    "SHLVL",
    "STY",
    "TMPDIR",
    "TMUX",
    "TMUX_PANE",
    "WINDOWID",
    "XDG_SESSION_ID",
    "XDG_VTNR",
];

/// Variables of this tool, those in which batch systems say which of many jobs this is, and those that say from where
/// somebody has logged in, begin so.
const OF_JOBS: [&str; 9] = [
    "WITNESS_",
    "SLURM",
    "PARALLEL_",
    "PBS_",
    "LSB_",
    "SGE_",
    "JOB_COMPLETION_",
    "KUBERNETES_",
    "SSH_",
];

/// Whether a variable says nothing of what a program is to do.
pub(super) fn is_incidental(variable: &str) -> bool {
    INCIDENTAL.contains(&variable) || OF_JOBS.iter().any(|begin| variable.starts_with(begin))
}

/// What is explored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Name and version of what explores.
    pub tool: String,
    /// The program's file.
    pub program: PathBuf,
    /// A checksum of it.
    pub contents: u64,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Where it runs.
    pub directory: PathBuf,
    /// Its environment.
    pub environment: BTreeMap<String, String>,
    /// What its standard input is: the file and the place in it.
    pub input: Option<String>,
    /// Which runs count as failing.
    pub fails_if: Vec<String>,
}

/// Why an exploration cannot go on, or its journal cannot be kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The file cannot be read or written.
    #[error("cannot use the journal {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another exploration is at work in the folder.
    #[error("{}: another exploration is writing it; name another folder with -o", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// It is no journal, or what it holds makes no sense.
    #[error("{}: damaged at byte {offset} ({why}); begin anew with --anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        offset: u64,
        /// What is wrong.
        why: &'static str,
    },
    /// Somebody else has written it.
    #[error("{}: was not written here by you{}, so what it says is not believed; begin anew with --anew",
        path.display(), own::hint())]
    OfOthers {
        /// The file.
        path: PathBuf,
    },
    /// The workers that share a folder explore something else.
    #[error("{}: those who share this folder explore {difference}; start this one as they were, or name another folder",
        path.display())]
    OtherShared {
        /// What they explore.
        path: PathBuf,
        /// What is different, in words.
        difference: String,
    },
    /// Something else was explored.
    #[error("{}: holds an exploration with {difference}; name another folder with -o, or begin anew with --anew", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What is different, in words.
        difference: String,
    },
}

/// The journal of one exploration, locked for this process.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    path: PathBuf,
    /// Where the next frame begins.
    end: u64,
    /// The seal of the first frame, which those of the others depend on.
    subject: String,
    /// The first trace.
    dictionary: Vec<u8>,
    /// Frames that are still to be read, of an earlier session.
    is_read: bool,
}

/// A run of an earlier session, and its trace.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) learnt: Learnt,
    pub(super) trace: Vec<u8>,
}

impl Drop for Journal {
    /// Gives the lock back. Closing the file would not: a process that is being started has it open, too, until it runs
    /// its program.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Journal {
    /// Opens the journal, or begins one; the earlier one is dropped if `anew`.
    pub(super) fn open(path: &Path, subject: &Subject, anew: bool) -> Result<Journal, JournalError> {
        let io = |source| JournalError::Io {
            path: path.to_owned(),
            source,
        };
        let file = safe_files::open_log(path, Readers::Owner).map_err(io)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(JournalError::InUse { path: path.to_owned() }),
            Err(error) => return Err(io(error.into())),
        }
        if anew {
            file.set_len(0).map_err(io)?;
        }
        let mut journal = Journal {
            file,
            path: path.to_owned(),
            end: 0,
            subject: String::new(),
            dictionary: Vec::new(),
            is_read: false,
        };
        journal.begin(subject)?;
        Ok(journal)
    }

    /// Reads what is explored, or writes it.
    fn begin(&mut self, subject: &Subject) -> Result<(), JournalError> {
        let mut magic = Vec::new();
        let read = (&self.file).take(MAGIC.len() as u64).read_to_end(&mut magic);
        read.map_err(|source| self.io(source))?;
        self.end = MAGIC.len() as u64;
        if magic == MAGIC {
            if let Some(known) = self.next_frame()? {
                let known: Subject = serde_json::from_slice(&known).map_err(|_| self.damaged("no description"))?;
                return match subject.difference(&known) {
                    None => Ok(()),
                    Some(difference) => Err(JournalError::Other {
                        path: self.path.clone(),
                        difference,
                    }),
                };
            }
        } else if !MAGIC.starts_with(&magic) {
            self.end = 0;
            return Err(self.damaged("no journal of witness"));
        }
        // Nothing, or a beginning that was not finished.
        self.is_read = true;
        let begin = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(MAGIC)
        };
        begin(&mut self.file).map_err(|source| self.io(source))?;
        let text = serde_json::to_vec(subject).map_err(|error| self.io(error.into()))?;
        self.append(&text)
    }

    /// Whether no earlier session has left anything.
    pub(super) fn begins(&self) -> bool {
        self.is_read && self.dictionary.is_empty()
    }

    /// The next run of earlier sessions. After the last, the file ends with it.
    pub(super) fn next(&mut self) -> Result<Option<Entry>, JournalError> {
        if self.is_read {
            return Ok(None);
        }
        let Some(frame) = self.next_frame()? else {
            self.is_read = true;
            let end = self.end;
            self.file.set_len(end).map_err(|source| self.io(source))?;
            return Ok(None);
        };
        let damaged = || self.damaged("no run");
        let (length, rest) = frame.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (text, rest) = rest
            .split_at_checked(u32::from_le_bytes(*length) as usize)
            .ok_or_else(damaged)?;
        let learnt = serde_json::from_slice(text).map_err(|_| damaged())?;
        let (length, packed) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let length = u32::from_le_bytes(*length);
        if length > LONGEST {
            return Err(damaged());
        }
        let trace = lz4_flex::block::decompress_with_dict(packed, length as usize, &self.dictionary);
        let trace = trace.map_err(|_| damaged())?;
        if self.dictionary.is_empty() {
            self.dictionary.clone_from(&trace);
        }
        Ok(Some(Entry { learnt, trace }))
    }

    /// Adds a run.
    pub(super) fn add(&mut self, learnt: &Learnt, trace: &[u8]) -> Result<(), JournalError> {
        let text = serde_json::to_vec(learnt).map_err(|error| self.io(error.into()))?;
        let packed = lz4_flex::block::compress_with_dict(trace, &self.dictionary);
        let mut frame = Vec::with_capacity(text.len() + packed.len() + 8);
        frame.extend((text.len() as u32).to_le_bytes());
        frame.extend(text);
        frame.extend((trace.len() as u32).to_le_bytes());
        frame.extend(packed);
        if self.dictionary.is_empty() {
            self.dictionary = trace.to_owned();
        }
        self.append(&frame)
    }

    /// The frame at the end of what was read; `None` where there is none, or one that was not finished.
    fn next_frame(&mut self) -> Result<Option<Vec<u8>>, JournalError> {
        let mut read = || -> io::Result<Frame> {
            self.file.seek(SeekFrom::Start(self.end))?;
            let mut head = [0; FRAME];
            if (&self.file).take(FRAME as u64).read(&mut head)? < FRAME {
                return Ok(Frame::NotWhole);
            }
            let [l0, l1, l2, l3, c0, c1, c2, c3] = head;
            let length = u32::from_le_bytes([l0, l1, l2, l3]);
            let longest = if self.subject.is_empty() {
                LONGEST_SUBJECT
            } else {
                LONGEST_FRAME
            };
            if length > longest {
                return Ok(Frame::TooLong);
            }
            let mut frame = Vec::new();
            (&self.file).take(length.into()).read_to_end(&mut frame)?;
            let whole = frame.len() == length as usize && crc32c(&frame) == u32::from_le_bytes([c0, c1, c2, c3]);
            Ok(if whole { Frame::Whole(frame) } else { Frame::NotWhole })
        };
        match read().map_err(|source| self.io(source))? {
            Frame::Whole(frame) => {
                let content = self.unsealed(&frame)?;
                self.end += (FRAME + frame.len()) as u64;
                return Ok(Some(content));
            }
            Frame::TooLong => return Err(self.damaged("longer than any run")),
            Frame::NotWhole => {}
        }
        // A frame that was not finished is the last one; with more behind it, the file is damaged.
        if self.is_followed().map_err(|source| self.io(source))? {
            return Err(self.damaged("wrong checksum"));
        }
        Ok(None)
    }

    /// Whether more than one frame follows that is announced here.
    fn is_followed(&mut self) -> io::Result<bool> {
        let length = self.file.metadata()?.len();
        if length < self.end + FRAME as u64 {
            return Ok(false);
        }
        self.file.seek(SeekFrom::Start(self.end))?;
        let mut announced = [0; 4];
        self.file.read_exact(&mut announced)?;
        Ok(self.end + FRAME as u64 + u64::from(u32::from_le_bytes(announced)) < length)
    }

    /// The seal of a frame with this content, here.
    fn seal(&self, content: &[u8]) -> String {
        let place = self.end.to_le_bytes();
        let parts = [self.subject.as_bytes(), &place, content];
        Own::of_user().map_or_else(|| "-".repeat(SEAL), |own| own.seal(PURPOSE, &parts).to_string())
    }

    /// What is in a frame that was read here, if this user has written it.
    fn unsealed(&mut self, frame: &[u8]) -> Result<Vec<u8>, JournalError> {
        let Some((seal, content)) = frame.split_at_checked(SEAL) else {
            return Err(self.damaged("no seal"));
        };
        let expected = self.seal(content);
        if Own::of_user().is_none() || seal != expected.as_bytes() {
            return Err(JournalError::OfOthers {
                path: self.path.clone(),
            });
        }
        if self.subject.is_empty() {
            self.subject = expected;
        }
        Ok(content.to_vec())
    }

    fn append(&mut self, content: &[u8]) -> Result<(), JournalError> {
        let seal = self.seal(content);
        let frame = [seal.as_bytes(), content].concat();
        if self.subject.is_empty() {
            self.subject = seal;
        }
        let mut bytes = Vec::with_capacity(FRAME + frame.len());
        bytes.extend((frame.len() as u32).to_le_bytes());
        bytes.extend(crc32c(&frame).to_le_bytes());
        bytes.extend(frame);
        let end = self.end;
        let write = |file: &mut File| {
            file.seek(SeekFrom::Start(end))?;
            file.write_all(&bytes)
        };
        write(&mut self.file).map_err(|source| self.io(source))?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    fn io(&self, source: io::Error) -> JournalError {
        JournalError::Io {
            path: self.path.clone(),
            source,
        }
    }

    fn damaged(&self, why: &'static str) -> JournalError {
        JournalError::Damaged {
            path: self.path.clone(),
            offset: self.end,
            why,
        }
    }
}

impl Subject {
    /// In what another one is different, in words; `None` if a run of the one is a run of the other.
    pub(super) fn difference(&self, other: &Subject) -> Option<String> {
        let differs = |what: &str, here: &str, there: &str| Some(format!("{what} {there:?} instead of {here:?}"));
        if self.tool != other.tool {
            return differs("", &self.tool, &other.tool).map(|text| text.trim_start().to_owned());
        }
        if self.program != other.program {
            let (here, there) = (self.program.to_string_lossy(), other.program.to_string_lossy());
            return differs("the program", &here, &there);
        }
        if self.contents != other.contents {
            return Some(format!("another build of {}", self.program.display()));
        }
        if self.arguments != other.arguments {
            return differs("the arguments", &self.arguments.join(" "), &other.arguments.join(" "));
        }
        if self.directory != other.directory {
            let (here, there) = (self.directory.to_string_lossy(), other.directory.to_string_lossy());
            return differs("the working folder", &here, &there);
        }
        if self.input != other.input {
            return Some("another standard input".to_owned());
        }
        if self.fails_if != other.fails_if {
            return differs("--fails-if", &self.fails_if.join(" "), &other.fails_if.join(" "));
        }
        let names: std::collections::BTreeSet<&String> =
            self.environment.keys().chain(other.environment.keys()).collect();
        let mut names = names.iter().filter(|name| !is_incidental(name));
        let name = names.find(|name| self.environment.get(**name) != other.environment.get(**name))?;
        Some(format!("another value of the environment variable {name}"))
    }
}

#[cfg(test)]
mod tests;
