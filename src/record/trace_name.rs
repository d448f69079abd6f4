//! The name of a trace, which one recording at a time has.
//!
//! Two recordings into one folder, started at once by a build or a test suite, must not write one file. A recording
//! holds a lock on `NAME.lock` from its start until whoever asked for it is done with the trace; the kernel gives the
//! lock back however the process ends. The lock file is removed by its holder, so a claim counts only if the file that
//! was locked is still the one that has the name.

use crate::session::RunError;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use safe_files::{Readers, beside as with_suffix};
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use trace_format::WriteError;

/// Which names a recording may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// The one that was asked for: if another recording has it, that is an error.
    Exact,
    /// If another recording has it, the next free one beside it: `trace-2.bin`, `trace-3.bin`, …
    NextFree,
    /// The next free one for which there is no trace, either.
    NeverUsed,
}

/// Recordings that may run at once with names beside one another.
const MOST: u32 = 1_000_000;

/// A trace's name, claimed until this is dropped.
#[derive(Debug)]
pub struct TraceName {
    path: PathBuf,
    lock_path: PathBuf,
    /// Locked as long as it is open.
    _lock: File,
}

/// What came of trying to claim a name.
enum Claim {
    Ours(TraceName),
    /// Another process has it: its number, if it can be read.
    Taken(Option<u32>),
}

impl TraceName {
    /// Claims `wanted`, or a name beside it.
    ///
    /// # Errors
    /// If another recording has the name and no other one may be taken, or no file can be made there.
    pub fn claim(wanted: &Path, naming: Naming) -> Result<TraceName, RunError> {
        let last = match naming {
            Naming::Exact => 1,
            Naming::NextFree | Naming::NeverUsed => MOST,
        };
        let mut holder = None;
        for number in 1..=last {
            let path = beside(wanted, number);
            match claim(&path) {
                Ok(Claim::Ours(name)) if naming != Naming::NeverUsed || !name.is_used() => return Ok(name),
                Ok(Claim::Ours(_)) => {}
                Ok(Claim::Taken(process)) => holder = holder.or(process),
                Err(source) => return Err(RunError::Write(WriteError::Io { path, source })),
            }
        }
        Err(RunError::NameTaken {
            path: wanted.to_owned(),
            holder: holder.map_or_else(String::new, |process| format!(" (process {process})")),
        })
    }

    /// Whether a recording has left something there, be it a trace without an end.
    fn is_used(&self) -> bool {
        self.path.exists() || with_suffix(&self.path, ".partial").exists()
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TraceName {
    fn drop(&mut self) {
        // Still locked: nobody else can have claimed the file that is removed. If it cannot be removed, it is only
        // litter.
        let _ = fs::remove_file(&self.lock_path);
    }
}

fn claim(path: &Path) -> io::Result<Claim> {
    let lock_path = with_suffix(path, ".lock");
    loop {
        let mut lock = safe_files::open_log(&lock_path, Readers::AsUsual)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(Claim::Taken(holder(&mut lock))),
            Err(error) => return Err(error.into()),
        }
        // Its last holder may have removed it meanwhile.
        let (ours, there) = (lock.metadata()?, fs::metadata(&lock_path));
        if there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
            // `-o Cargo` is not to cost anybody `Cargo.lock`.
            if ours.len() > 0 && holder(&mut lock).is_none() {
                let why = format!("{} is none of witness's: name another trace", lock_path.display());
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
            }
            // Only words for others.
            let emptied = lock.set_len(0).and_then(|()| lock.rewind());
            let _ = emptied.and_then(|()| write!(lock, "{}", std::process::id()));
            return Ok(Claim::Ours(TraceName {
                path: path.to_owned(),
                lock_path,
                _lock: lock,
            }));
        }
    }
}

/// Digits of a process's number, and one more.
const LONGEST_NUMBER: u64 = 11;

fn holder(lock: &mut File) -> Option<u32> {
    let mut text = String::new();
    lock.rewind().ok()?;
    lock.take(LONGEST_NUMBER).read_to_string(&mut text).ok()?;
    text.parse().ok()
}

/// The name itself, or with a number: `trace-2.bin`. (`trace.2.bin` is that of another process of one recording.)
fn beside(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;
    use std::time::Duration;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("witness-trace-name-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn many_at_once_have_names_of_their_own() {
        let folder = folder("many");
        let (wanted, all_have_one) = (folder.join("trace.bin"), Barrier::new(16));
        let names: BTreeSet<PathBuf> = thread::scope(|scope| {
            let claims: Vec<_> = (0..16)
                .map(|_| {
                    scope.spawn(|| {
                        let name = TraceName::claim(&wanted, Naming::NextFree).unwrap();
                        all_have_one.wait();
                        name.path().to_owned()
                    })
                })
                .collect();
            claims.into_iter().map(|claim| claim.join().unwrap()).collect()
        });
        assert_eq!(names.len(), 16, "{names:?}");
        assert!(names.contains(&wanted) && names.contains(&folder.join("trace-16.bin")));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "no lock is left");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_name_that_was_used_is_not_used_again() {
        let folder = folder("used");
        let wanted = folder.join("trace.bin");
        for name in ["trace.bin", "trace-2.bin.partial"] {
            fs::write(folder.join(name), "").unwrap();
        }
        let name = TraceName::claim(&wanted, Naming::NeverUsed).unwrap();
        assert_eq!(name.path(), folder.join("trace-3.bin"));
        drop(name);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_that_is_called_like_a_lock_is_not_touched() {
        let folder = folder("no-lock");
        let lock = folder.join("Cargo.lock");
        for (content, is_ours) in [
            ("version = 3\n", false),
            ("12345678901234", false),
            ("4242", true),
            // Longer than the number of this process, which takes its place.
            ("1234567890", true),
            ("", true),
        ] {
            fs::write(&lock, content).unwrap();
            for naming in [Naming::Exact, Naming::NextFree] {
                let claimed = TraceName::claim(&folder.join("Cargo"), naming);
                assert_eq!(claimed.is_ok(), is_ours, "{content:?}");
                let here = fs::read_to_string(&lock).unwrap();
                assert_eq!(
                    here,
                    if is_ours {
                        std::process::id().to_string()
                    } else {
                        content.to_owned()
                    }
                );
                drop(claimed);
                assert_eq!(fs::read_to_string(&lock).ok().as_deref(), (!is_ours).then_some(content));
                fs::write(&lock, content).unwrap();
            }
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn one_at_a_time_has_a_name_that_is_given_back_again_and_again() {
        let folder = folder("one");
        let (wanted, have_it) = (folder.join("a.bin"), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut had = 0;
                    while had < 1000 {
                        let Ok(name) = TraceName::claim(&wanted, Naming::Exact) else {
                            continue;
                        };
                        had += 1;
                        let others = have_it.fetch_add(1, Ordering::SeqCst);
                        // The others try meanwhile.
                        thread::sleep(Duration::from_micros(50));
                        have_it.fetch_sub(1, Ordering::SeqCst);
                        drop(name);
                        assert_eq!(others, 0, "two have the name");
                    }
                });
            }
        });
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_name_that_is_asked_for_is_refused_while_another_recording_has_it() {
        let folder = folder("exact");
        let wanted = folder.join("a.bin");
        let first = TraceName::claim(&wanted, Naming::Exact).unwrap();
        let error = TraceName::claim(&wanted, Naming::Exact).unwrap_err().to_string();
        assert!(error.contains(&format!("(process {})", std::process::id())), "{error}");
        drop(first);
        assert_eq!(TraceName::claim(&wanted, Naming::Exact).unwrap().path(), wanted);
        fs::remove_dir_all(&folder).unwrap();
    }
}
