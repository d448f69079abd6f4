//! Decisions as they are made: the journal of a running analysis, and the result of a shard.
//!
//! Each decision is a line: a checksum (CRC-32C, eight hexadecimal digits), a seal ([`Binding`]) and an object, with
//! spaces between them. The first line names plan and shard, the last one says that the shard is complete; between them,
//! a later decision on a candidate replaces an earlier one. A journal may end anywhere, as after its process was killed:
//! everything after its last good line is cut off, and a line that this user has not sealed is none. A shard must be
//! complete; who has sealed it is said.

use super::{Binding, LARGEST, Plan, PlanId, StoreError, at, remove};
use crate::analyze::{Decision, Shard};
use safe_files::{Readers, make_folder};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The value of [`Header::schema`].
const SCHEMA: &str = "witness-decisions/3";
/// Bytes of a longer first line, which is none.
const LONGEST_HEADER: u64 = 4096;
/// Bytes of a longer line, which is none: a schedule is far shorter than the trace that it is of.
const LONGEST_LINE: u64 = 1 << 28;
/// Bytes of all shards of a folder.
const MOST_OF_SHARDS: u64 = 4 * LARGEST;
/// Missing shards that are named.
const NAMED: usize = 16;
/// What lines are sealed as.
const PURPOSE: &str = "decision";

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

/// Lines of one file: they are sealed for its header.
struct Lines<'a> {
    binding: &'a Binding,
    header: String,
}

impl<'a> Lines<'a> {
    fn of(binding: &'a Binding, header: &Header) -> Lines<'a> {
        let header = serde_json::to_string(header).expect("a header has string keys only");
        Lines { binding, header }
    }

    fn parts<'p>(&'p self, json: &'p [u8]) -> [&'p [u8]; 2] {
        [self.header.as_bytes(), json]
    }

    fn line(&self, content: &Line) -> String {
        let json = serde_json::to_string(content).expect("a decision has string keys only");
        let seal = self.binding.seal(PURPOSE, &self.parts(json.as_bytes()));
        let sealed = format!("{seal} {json}");
        format!("{:08x} {sealed}\n", crc32c::crc32c(sealed.as_bytes()))
    }

    fn has_sealed(&self, read: &Read<'_>) -> bool {
        self.binding.has_sealed(read.seal, PURPOSE, &self.parts(read.json))
    }
}

/// A line that was read.
struct Read<'a> {
    content: Line,
    seal: &'a str,
    json: &'a [u8],
}

/// A line without its end, if it is whole.
fn parse(line: &[u8]) -> Option<Read<'_>> {
    let (sum, sealed) = line.split_at_checked(8)?;
    let sealed = sealed.strip_prefix(b" ")?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
    if sum != crc32c::crc32c(sealed) {
        return None;
    }
    let space = sealed.iter().position(|&byte| byte == b' ')?;
    let (seal, json) = (std::str::from_utf8(&sealed[..space]).ok()?, &sealed[space + 1..]);
    let content = serde_json::from_slice(json).ok()?;
    Some(Read { content, seal, json })
}

/// Decisions that are written down one by one.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    binding: Binding,
    header: Header,
}

impl Journal {
    /// Opens a journal for a shard of a plan, with what is in it already. One of another plan or shard, or of another
    /// user, is begun anew.
    /// `None` if another process writes to it.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn open(
        path: &Path,
        plan: &PlanId,
        shard: Shard,
        binding: Binding,
    ) -> Result<Option<(Journal, Vec<Decision>)>, StoreError> {
        if let Some(folder) = path.parent() {
            at(folder, make_folder(folder))?;
        }
        let mut file = at(path, safe_files::open_log(path, Readers::AsUsual))?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            locked => at(path, locked.map_err(io::Error::from))?,
        }
        let header = Header::new(plan, shard);
        let lines = Lines::of(&binding, &header);
        let (mut good, mut decisions) = (0, BTreeMap::new());
        // Line by line, up to the first that this user has not sealed: whatever lies there, no more of it is read.
        let mut reader = BufReader::new(&file);
        let (mut text, mut longest) = (Vec::new(), LONGEST_HEADER);
        loop {
            text.clear();
            at(path, (&mut reader).take(longest).read_until(b'\n', &mut text))?;
            let read = text.strip_suffix(b"\n").and_then(parse);
            match read.filter(|read| lines.has_sealed(read)).map(|read| read.content) {
                Some(Line::Header(found)) if good == 0 && found == header => longest = LONGEST_LINE,
                Some(Line::Decision(decision)) if good > 0 => drop(decisions.insert(decision.number, decision)),
                _ => break,
            }
            good += text.len() as u64;
        }
        at(path, file.set_len(good))?;
        at(path, file.seek(SeekFrom::Start(good)))?;
        if good == 0 {
            let first = lines.line(&Line::Header(header.clone()));
            at(path, file.write_all(first.as_bytes()))?;
        }
        let journal = Journal {
            path: path.to_owned(),
            file,
            binding,
            header,
        };
        Ok(Some((journal, decisions.into_values().collect())))
    }

    /// Writes down a decision.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn append(&mut self, decision: &Decision) -> Result<(), StoreError> {
        // One call for a whole line, so that a killed process leaves at most its last line torn.
        let text = Lines::of(&self.binding, &self.header).line(&Line::Decision(decision.clone()));
        at(&self.path, self.file.write_all(text.as_bytes()))
    }
}

/// The file of a shard in a folder.
#[must_use]
pub fn shard_path(folder: &Path, shard: Shard) -> PathBuf {
    let (number, of) = (shard.number(), shard.of());
    folder.join("shards").join(format!("{number}-of-{of}.decisions"))
}

/// What lies in the place of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing, or what is of another plan, or damaged.
    Nothing,
    /// All decisions of the shard, written by this user, or by one who is believed.
    Decided,
    /// What this user has not written.
    OfOthers,
}

/// Whether a plan's shard is decided. A shard of somebody else counts only if others are believed: what it refutes
/// cannot be checked.
pub(super) fn find_shard(
    path: &Path,
    plan: &Plan,
    id: &PlanId,
    shard: Shard,
    binding: &Binding,
    believes: bool,
) -> Found {
    match read_shard(path, binding) {
        Ok((header, part)) if header == Header::new(id, shard) && part.decides(plan, shard.number(), shard.of()) => {
            match part.is_ours || believes {
                true => Found::Decided,
                false => Found::OfOthers,
            }
        }
        _ => Found::Nothing,
    }
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
pub fn save_shard(
    folder: &Path,
    plan: &PlanId,
    shard: Shard,
    decisions: Vec<Decision>,
    binding: &Binding,
) -> Result<PathBuf, StoreError> {
    let path = shard_path(folder, shard);
    let shards = folder.join("shards");
    at(folder, make_folder(folder))?;
    at(&shards, make_folder(&shards))?;
    let complete = Line::Complete(decisions.len());
    let header = Header::new(plan, shard);
    let lines = Lines::of(binding, &header);
    let mut text = lines.line(&Line::Header(header.clone()));
    for decision in decisions {
        text.push_str(&lines.line(&Line::Decision(decision)));
    }
    text.push_str(&lines.line(&complete));
    super::write(&path, text.as_bytes())?;
    remove(&shard_journal_path(folder, shard))?;
    Ok(path)
}

/// The decisions of a plan.
#[derive(Debug)]
pub struct Shards {
    /// Those of all shards.
    pub decisions: Vec<Decision>,
    /// The files among them that this user has not written here.
    pub of_others: Vec<PathBuf>,
}

/// A shard that was read.
struct Part {
    path: PathBuf,
    decisions: Vec<Decision>,
    is_ours: bool,
}

impl Part {
    /// Whether it has one decision of each candidate of its shard, and no others: each line may be good, and one of them
    /// stand there twice in place of another.
    fn decides(&self, plan: &Plan, number: u32, of: u32) -> bool {
        let mut decided: Vec<u32> = self.decisions.iter().map(|decision| decision.number).collect();
        decided.sort_unstable();
        let all = plan.candidates.len() as u32;
        Shard::new(number, of).is_some_and(|shard| (0..all).filter(|&number| shard.has(number, all)).eq(decided))
    }
}

/// Reads the decisions of all shards of a plan, with which it was carried out in however many.
///
/// # Errors
/// [`StoreError::Shards`] if some are missing or belong to another plan, [`StoreError::DamagedShard`] if one is not as
/// it was written.
pub fn load_shards(folder: &Path, plan: &Plan, binding: &Binding) -> Result<Shards, StoreError> {
    let (shards, id) = (folder.join("shards"), plan.id());
    let mut found: BTreeMap<u32, BTreeMap<u32, Part>> = BTreeMap::new();
    let (mut foreign, mut together) = (Vec::new(), 0);
    let entries = match fs::read_dir(&shards) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        entries => Some(at(&shards, entries)?),
    };
    for entry in entries.into_iter().flatten() {
        let path = at(&shards, entry)?.path();
        if path.extension().is_none_or(|extension| extension != "decisions") {
            continue;
        }
        let about = at(&shards, fs::symlink_metadata(&path))?;
        together += about.len();
        if together > MOST_OF_SHARDS {
            let why = format!(
                "with the shards before it, this is more than {} GiB: remove those of other plans",
                MOST_OF_SHARDS >> 30
            );
            return at(&path, Err(io::Error::other(why)));
        }
        let (header, part) = read_shard(&path, binding)?;
        if header.plan == id && header.schema == SCHEMA {
            let (number, of) = header.shard;
            if !part.decides(plan, number, of) {
                let line = 1;
                return Err(StoreError::DamagedShard { path, line });
            }
            found.entry(of).or_default().insert(number, part);
        } else {
            foreign.push(path);
        }
    }
    foreign.sort();
    let complete = |(of, parts): &(u32, BTreeMap<u32, Part>)| parts.len() == *of as usize;
    let missing = |(of, parts): &(u32, BTreeMap<u32, Part>)| *of as usize - parts.len();
    // A file can say that there are billions.
    let names = |set: &(u32, BTreeMap<u32, Part>)| {
        let (of, parts) = set;
        let numbers = (1..=*of).filter(|number| !parts.contains_key(number));
        let mut names: Vec<String> = numbers.take(NAMED).map(|number| format!("{number}/{of}")).collect();
        let others = missing(set) - names.len();
        names.extend((others > 0).then(|| format!("and {others} more")));
        names
    };
    let mut sets: Vec<_> = found.into_iter().collect();
    if let Some(place) = sets.iter().position(complete) {
        let (_, parts) = sets.swap_remove(place);
        let of_others = parts.values().filter(|part| !part.is_ours);
        return Ok(Shards {
            of_others: of_others.map(|part| part.path.clone()).collect(),
            decisions: parts.into_values().flat_map(|part| part.decisions).collect(),
        });
    }
    // The set that lacks least is the one that somebody is about to complete.
    let missing = sets
        .iter()
        .min_by_key(|set| missing(set))
        .map(names)
        .unwrap_or_default();
    Err(StoreError::Shards {
        folder: shards,
        missing,
        foreign,
    })
}

fn read_shard(path: &Path, binding: &Binding) -> Result<(Header, Part), StoreError> {
    let bytes = at(path, safe_files::read(path, LARGEST))?;
    let damaged = |line: usize| StoreError::DamagedShard {
        path: path.to_owned(),
        line: line + 1,
    };
    let mut header = None;
    let mut decisions: Vec<Decision> = Vec::new();
    let (mut complete, mut is_ours) = (false, true);
    for (number, text) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let Some(read) = text.strip_suffix(b"\n").and_then(parse) else {
            return Err(damaged(number));
        };
        if let (Line::Header(found), 0) = (&read.content, number) {
            let (number, of) = found.shard;
            header = Shard::new(number, of).map(|_| found.clone());
        }
        is_ours &= header
            .as_ref()
            .is_some_and(|header| Lines::of(binding, header).has_sealed(&read));
        match read.content {
            Line::Header(_) if number == 0 => {}
            Line::Decision(decision) if number > 0 && !complete => decisions.push(decision),
            Line::Complete(count) if number > 0 && !complete && count == decisions.len() => complete = true,
            _ => return Err(damaged(number)),
        }
    }
    match header {
        Some(header) if complete => Ok((
            header,
            Part {
                path: path.to_owned(),
                decisions,
                is_ours,
            },
        )),
        _ => Err(damaged(bytes.iter().filter(|&&byte| byte == b'\n').count())),
    }
}
