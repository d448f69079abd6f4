//! Decisions as they are made: the journal of a running analysis, and the result of a shard.
//!
//! Each decision is a line: a checksum (CRC-32C, eight hexadecimal digits), a space, and an object. The first line
//! names plan and shard, the last one says that the shard is complete; between them, a later decision on a candidate
//! replaces an earlier one. A journal may end anywhere, as after its process was killed: everything after its last good
//! line is cut off. A shard must be complete.

use super::{PlanId, StoreError, at, remove};
use crate::analyze::{Decision, Shard};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The value of [`Header::schema`].
const SCHEMA: &str = "witness-decisions/1";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    schema: String,
    plan: PlanId,
    shard: (u32, u32),
}

impl Header {
    fn new(plan: &PlanId, shard: Shard) -> Header {
        Header {
            schema: SCHEMA.to_owned(),
            plan: plan.clone(),
            shard: (shard.number(), shard.of()),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Header(Header),
    Decision(Decision),
    /// The number of candidates decided.
    Complete(usize),
}

fn line(content: &Line) -> String {
    let json = serde_json::to_string(content).expect("a decision has string keys only");
    format!("{:08x} {json}\n", crc32c::crc32c(json.as_bytes()))
}

/// A line without its end, if it is whole.
fn parse(line: &[u8]) -> Option<Line> {
    let (sum, json) = line.split_at_checked(8)?;
    let json = json.strip_prefix(b" ")?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
    (sum == crc32c::crc32c(json))
        .then(|| serde_json::from_slice(json).ok())
        .flatten()
}

/// Decisions that are written down one by one.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens a journal for a shard of a plan, with what is in it already. One of another plan or shard is begun anew.
    /// `None` if another process writes to it.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn open(path: &Path, plan: &PlanId, shard: Shard) -> Result<Option<(Journal, Vec<Decision>)>, StoreError> {
        if let Some(folder) = path.parent() {
            at(folder, fs::create_dir_all(folder))?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = at(path, options.open(path))?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            locked => at(path, locked.map_err(io::Error::from))?,
        }
        let mut bytes = Vec::new();
        at(path, file.read_to_end(&mut bytes))?;
        let header = Header::new(plan, shard);
        let (mut good, mut decisions) = (0, BTreeMap::new());
        for (number, text) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
            match text.strip_suffix(b"\n").and_then(parse) {
                Some(Line::Header(found)) if number == 0 && found == header => {}
                Some(Line::Decision(decision)) if number > 0 => drop(decisions.insert(decision.number, decision)),
                _ => break,
            }
            good += text.len() as u64;
        }
        at(path, file.set_len(good))?;
        at(path, file.seek(SeekFrom::Start(good)))?;
        if good == 0 {
            at(path, file.write_all(line(&Line::Header(header)).as_bytes()))?;
        }
        let journal = Journal {
            path: path.to_owned(),
            file,
        };
        Ok(Some((journal, decisions.into_values().collect())))
    }

    /// Writes down a decision.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn append(&mut self, decision: &Decision) -> Result<(), StoreError> {
        // One call for a whole line, so that a killed process leaves at most its last line torn.
        let text = line(&Line::Decision(decision.clone()));
        at(&self.path, self.file.write_all(text.as_bytes()))
    }
}

/// The file of a shard in a folder.
#[must_use]
pub fn shard_path(folder: &Path, shard: Shard) -> PathBuf {
    let (number, of) = (shard.number(), shard.of());
    folder.join("shards").join(format!("{number}-of-{of}.decisions"))
}

/// The journal of a shard in a folder.
#[must_use]
pub fn shard_journal_path(folder: &Path, shard: Shard) -> PathBuf {
    shard_path(folder, shard).with_extension("journal")
}

/// Writes the decisions of a whole shard, under another name first, and removes its journal.
///
/// # Errors
/// [`StoreError::Io`].
pub fn save_shard(folder: &Path, plan: &PlanId, shard: Shard, decisions: Vec<Decision>) -> Result<PathBuf, StoreError> {
    let path = shard_path(folder, shard);
    let shards = folder.join("shards");
    at(&shards, fs::create_dir_all(&shards))?;
    let complete = Line::Complete(decisions.len());
    let mut text = line(&Line::Header(Header::new(plan, shard)));
    for decision in decisions {
        text.push_str(&line(&Line::Decision(decision)));
    }
    text.push_str(&line(&complete));
    super::write(&path, text.as_bytes())?;
    remove(&shard_journal_path(folder, shard))?;
    Ok(path)
}

/// Reads the decisions of all shards of a plan, with which it was carried out in however many.
///
/// # Errors
/// [`StoreError::Shards`] if some are missing or belong to another plan, [`StoreError::DamagedShard`] if one is not as
/// it was written.
pub fn load_shards(folder: &Path, plan: &PlanId) -> Result<Vec<Decision>, StoreError> {
    let shards = folder.join("shards");
    let mut found: BTreeMap<u32, BTreeMap<u32, Vec<Decision>>> = BTreeMap::new();
    let mut foreign = Vec::new();
    let entries = match fs::read_dir(&shards) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        entries => Some(at(&shards, entries)?),
    };
    for entry in entries.into_iter().flatten() {
        let path = at(&shards, entry)?.path();
        if path.extension().is_none_or(|extension| extension != "decisions") {
            continue;
        }
        let (header, decisions) = read_shard(&path)?;
        if header.plan == *plan && header.schema == SCHEMA {
            let (number, of) = header.shard;
            found.entry(of).or_default().insert(number, decisions);
        } else {
            foreign.push(path);
        }
    }
    foreign.sort();
    let complete = |(of, parts): &(u32, BTreeMap<u32, Vec<Decision>>)| parts.len() == *of as usize;
    let missing = |(of, parts): &(u32, BTreeMap<u32, Vec<Decision>>)| {
        let missing = (1..=*of).filter(|number| !parts.contains_key(number));
        missing.map(|number| format!("{number}/{of}")).collect::<Vec<_>>()
    };
    let mut sets: Vec<_> = found.into_iter().collect();
    if let Some(place) = sets.iter().position(complete) {
        let (_, parts) = sets.swap_remove(place);
        return Ok(parts.into_values().flatten().collect());
    }
    // The set that lacks least is the one that somebody is about to complete.
    let missing = sets.iter().map(missing).min_by_key(Vec::len).unwrap_or_default();
    Err(StoreError::Shards {
        folder: shards,
        missing,
        foreign,
    })
}

fn read_shard(path: &Path) -> Result<(Header, Vec<Decision>), StoreError> {
    let bytes = at(path, fs::read(path))?;
    let damaged = |line: usize| StoreError::DamagedShard {
        path: path.to_owned(),
        line: line + 1,
    };
    let mut header = None;
    let mut decisions: Vec<Decision> = Vec::new();
    let mut complete = false;
    for (number, text) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        match text.strip_suffix(b"\n").and_then(parse) {
            Some(Line::Header(found)) if number == 0 => header = Some(found),
            Some(Line::Decision(decision)) if number > 0 && !complete => decisions.push(decision),
            Some(Line::Complete(count)) if number > 0 && !complete && count == decisions.len() => complete = true,
            _ => return Err(damaged(number)),
        }
    }
    match header {
        Some(header) if complete => Ok((header, decisions)),
        _ => Err(damaged(bytes.iter().filter(|&&byte| byte == b'\n').count())),
    }
}
