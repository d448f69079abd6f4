//! Results beside the trace: `trace.bin.witnesses/` holds `results.json` and one schedule file for
//! each witnessed pair, `1.sched`, `2.sched`, ….
//!
//! Every file is written under another name and renamed, once all are written: earlier results stay until then. Whoever
//! writes or reads them locks the folder meanwhile. `results.json` names the trace's identity and the version that wrote it; results of another
//! trace or version are not used, nor those that another user has stored ([`Binding`]). A schedule is checked again
//! before it is shown.
//!
//! A running analysis keeps its decisions in `journal`; the next start does not decide them again. An analysis in
//! shards has its [`Plan`] in `plan.json`, what its workers need not work out again in `plan.prepared`, and its
//! decisions in `shards/`, where the workers that share them keep their [`Leases`].

mod binding;
mod decisions;
mod leases;
mod plan;
mod prepared;

pub use binding::Binding;
pub use decisions::{Journal, Shards, load_shards, save_shard, shard_journal_path, shard_path};
pub use leases::{Lease, Leases, Offer};
pub use plan::{PLAN_SCHEMA, Plan, PlanId, PlannedPair};
pub use prepared::{load_prepared, save_prepared};

pub use crate::results::folder_of;
use crate::results::{Results, SCHEMA, Schema, tool};
use crate::schedule::{ParseScheduleError, Schedule};
use crate::trace::TraceId;
use crate::verdict::{Analysis, Pair, Rejected, Unknown, Verdict};
use blake3::Hasher;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use safe_files::{Draft, Readers, make_folder};
use serde::Serialize;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const RESULTS: &str = "results.json";
/// The seal of the results.
const SEAL: &str = "results.seal";
/// What they are sealed as.
const PURPOSE: &str = "results";

/// Bytes of results that are written at once.
const ROOM: usize = 1 << 16;

/// Longer files are none that an analysis stores.
const LARGEST: u64 = 1 << 30;

/// Why results could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file could not be written or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The results are no results object.
    #[error("{}: {source}; `witness analyze` rewrites it", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// There is no plan.
    #[error("{}: there is no plan; `witness plan` writes one", path.display())]
    NoPlan {
        /// Where it should be.
        path: PathBuf,
    },
    /// The plan is no plan.
    #[error("{}: {source}; `witness plan` rewrites it", path.display())]
    MalformedPlan {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The plan is for something else.
    #[error("{}: this is a plan for another {what}; `witness plan` rewrites it", path.display())]
    OtherPlan {
        /// The file.
        path: PathBuf,
        /// In what it differs.
        what: &'static str,
    },
    /// There is no complete set of shards.
    #[error("{}: {}", folder.display(), shards(missing, foreign))]
    Shards {
        /// Their folder.
        folder: PathBuf,
        /// The shards that are missing, as in `2/8`.
        missing: Vec<String>,
        /// The files of other plans.
        foreign: Vec<PathBuf>,
    },
    /// A shard is not as it was written.
    #[error("{}:{line}: the file is damaged or incomplete; analyze this shard again", path.display())]
    DamagedShard {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A schedule is malformed.
    #[error("{}: {source}", path.display())]
    Schedule {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: ParseScheduleError,
    },
}

fn shards(missing: &[String], foreign: &[PathBuf]) -> String {
    let mut text = match missing {
        [] => "there is no shard of this plan; run `witness analyze --shard M/N` for each M from 1 to N".to_owned(),
        missing => format!(
            "missing {}; run `witness analyze --shard {}`",
            missing.join(", "),
            missing[0]
        ),
    };
    if !foreign.is_empty() {
        let foreign: Vec<_> = foreign.iter().map(|path| path.display().to_string()).collect();
        text += &format!("; ignored, since they belong to another plan: {}", foreign.join(", "));
    }
    text
}

/// The file of the decisions of an analysis that goes on, in a folder.
#[must_use]
pub fn journal_path(folder: &Path) -> PathBuf {
    folder.join("journal")
}

/// The file of a witness in a folder; witnesses are numbered from 1.
#[must_use]
pub fn schedule_path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{number}.sched"))
}

/// Results that were read back.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The results object.
    pub results: Results,
    /// The schedules of the witnessed pairs, then of the witnessed deadlocks and atomicity violations, in their order.
    pub schedules: Vec<Schedule>,
}

/// Writes results and the numbered schedules of their witnesses to a folder, in place of what was there. A journal is
/// not needed any more, unless time ran out.
///
/// # Errors
/// [`StoreError::Io`].
pub fn save<'a>(
    results: &impl Serialize,
    schedules: impl Iterator<Item = (usize, &'a Schedule)>,
    analysis: &Analysis,
    folder: &Path,
    binding: &Binding,
) -> Result<(), StoreError> {
    at(folder, make_folder(folder))?;
    let _alone = at(folder, lock(folder, FlockOperation::LockExclusive))?;
    let mut drafts = Drafts::default();
    for (number, schedule) in schedules {
        drafts.add(schedule_path(folder, number), schedule.to_string().as_bytes())?;
    }
    // Of many pairs, it is longer than all that was known of them: written piece by piece.
    let path = folder.join(RESULTS);
    let digest = at(&path, write_json(results, drafts.begin(path.clone())?))?;
    let seal = binding.seal(PURPOSE, &[digest.as_bytes()]) + "\n";
    drafts.add(folder.join(SEAL), seal.as_bytes())?;
    // Everything is written: what was there may go. Until the last file has its name, some are of these results and
    // some of earlier ones: without a seal, nobody uses them.
    remove(&folder.join(SEAL))?;
    let kept = drafts.publish()?;
    clear(folder, &kept)?;
    let undecided = |pair: &Pair| matches!(pair.verdict, Verdict::Unknown(Unknown::Time));
    if analysis.pairs.iter().any(undecided) {
        return Ok(());
    }
    remove(&journal_path(folder))
}

/// Writes schedules that the checker rejected, for a report of the bug; returns their paths.
///
/// # Errors
/// [`StoreError::Io`].
pub fn save_rejected(rejected: &[Rejected], folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut paths = Vec::new();
    for (number, rejected) in (1..).zip(rejected) {
        at(folder, make_folder(folder))?;
        let path = folder.join(format!("rejected-{number}.sched"));
        let reason = rejected.reason.replace('\n', " ");
        write(&path, format!("# {reason}\n{}", rejected.schedule).as_bytes())?;
        paths.push(path);
    }
    Ok(paths)
}

/// What there is in place of results.
#[derive(Clone, Debug)]
pub enum Found {
    /// Results of this trace and version that this user has stored.
    Stored(Box<Stored>),
    /// Results, but not known to be stored by this user: that races are refuted there says nothing.
    OfOthers,
    /// None, or only those of another trace or version.
    Nothing,
}

/// Reads results back.
///
/// # Errors
/// [`StoreError`] if there are results of this trace and version, but they cannot be read.
pub fn load(folder: &Path, trace: TraceId, binding: &Binding) -> Result<Found, StoreError> {
    let _unchanged = match lock(folder, FlockOperation::LockShared) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        locked => at(folder, locked)?,
    };
    let path = folder.join(RESULTS);
    let json = match safe_files::read(&path, LARGEST) {
        Ok(json) => json,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(source) => return Err(StoreError::Io { path, source }),
    };
    let malformed = |source| StoreError::Malformed {
        path: path.clone(),
        source,
    };
    let of_another = || {
        tracing::info!(path = %path.display(), "results of another trace or version");
        Ok(Found::Nothing)
    };
    let Schema { schema } = serde_json::from_slice(&json).map_err(malformed)?;
    if schema != SCHEMA {
        return of_another();
    }
    let results: Results = serde_json::from_slice(&json).map_err(malformed)?;
    if results.tool != tool() || results.trace.id != trace.to_string() {
        return of_another();
    }
    let seal = safe_files::read(&folder.join(SEAL), LARGEST).unwrap_or_default();
    if !binding.has_sealed(
        String::from_utf8_lossy(&seal).trim_end(),
        PURPOSE,
        &[blake3::hash(&json).as_bytes()],
    ) {
        return Ok(Found::OfOthers);
    }
    let races = results.pairs.iter().filter(|pair| pair.verdict == "witnessed").count();
    let deadlocks = results
        .deadlocks
        .iter()
        .filter(|cycle| cycle.verdict == "witnessed")
        .count();
    let interruptions = results.atomicity_violations.iter();
    let interruptions = interruptions
        .filter(|violation| violation.verdict == "witnessed")
        .count();
    let witnesses = races + deadlocks + interruptions;
    let schedules = (1..=witnesses).map(|number| {
        let path = schedule_path(folder, number);
        parse_schedule(&path, safe_files::read(&path, LARGEST))
    });
    let schedules = schedules.collect::<Result<_, _>>()?;
    Ok(Found::Stored(Box::new(Stored { results, schedules })))
}

/// Reads a schedule file.
///
/// # Errors
/// [`StoreError`] if it cannot be read or is malformed.
pub fn read_schedule(path: &Path) -> Result<Schedule, StoreError> {
    parse_schedule(path, safe_files::read_named(path, LARGEST))
}

fn parse_schedule(path: &Path, read: io::Result<Vec<u8>>) -> Result<Schedule, StoreError> {
    let text = at(
        path,
        read.and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other)),
    )?;
    text.parse().map_err(|source| StoreError::Schedule {
        path: path.to_owned(),
        source,
    })
}

fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, StoreError> {
    result.map_err(|source| StoreError::Io {
        path: path.to_owned(),
        source,
    })
}

/// Keeps others from changing the results in a folder, or from reading them while they change, until the file is
/// closed. Where the system has no such locks, nobody is kept from anything.
fn lock(folder: &Path, operation: FlockOperation) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = File::from(rustix::fs::open(folder, flags, Mode::empty())?);
    while flock(&folder, operation) == Err(Errno::INTR) {}
    Ok(folder)
}

/// Writes the results object, and returns the digest of what is written.
fn write_json(results: &impl Serialize, out: &mut Draft) -> io::Result<blake3::Hash> {
    let hasher = Hasher::new();
    let mut out = BufWriter::with_capacity(ROOM, Digesting { out, hasher });
    serde_json::to_writer_pretty(&mut out, results)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(out.get_ref().hasher.finalize())
}

/// Writes on, and knows the digest of what it has written.
struct Digesting<W> {
    out: W,
    hasher: Hasher,
}

impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Files that take their names together, once all are written.
#[derive(Default)]
struct Drafts(Vec<(PathBuf, Draft)>);

impl Drafts {
    fn add(&mut self, path: PathBuf, bytes: &[u8]) -> Result<(), StoreError> {
        let written = self.begin(path.clone())?.write_all(bytes);
        at(&path, written)
    }

    /// A file that is to be written.
    fn begin(&mut self, path: PathBuf) -> Result<&mut Draft, StoreError> {
        let draft = at(&path, Draft::create(&path, ".partial", Readers::AsUsual))?;
        self.0.push((path, draft));
        let (_, last) = self.0.last_mut().expect("one was added");
        Ok(last)
    }

    /// Returns their names.
    fn publish(mut self) -> Result<Vec<PathBuf>, StoreError> {
        let mut published = Vec::new();
        for (path, draft) in self.0.drain(..) {
            at(&path, draft.rename())?;
            published.push(path);
        }
        Ok(published)
    }
}

impl Drop for Drafts {
    fn drop(&mut self) {
        self.0.drain(..).for_each(|(_, draft)| draft.discard());
    }
}

/// Removes schedules of earlier results, but for those that are `kept`, and no file that has another name.
fn clear(folder: &Path, kept: &[PathBuf]) -> Result<(), StoreError> {
    let kept: HashSet<_> = kept.iter().filter_map(|path| path.file_name()).collect();
    for entry in at(folder, fs::read_dir(folder))? {
        let path = at(folder, entry)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let number = name
            .strip_suffix(".sched")
            .map(|stem| stem.trim_start_matches("rejected-"));
        if number.is_some_and(|number| number.parse::<usize>().is_ok())
            && !path.file_name().is_some_and(|name| kept.contains(name))
        {
            at(&path, fs::remove_file(&path))?;
        }
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    at(path, safe_files::write(path, bytes, Readers::AsUsual))
}

/// Removes a file that may be there.
fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => at(path, Err(error)),
        _ => Ok(()),
    }
}
