//! Who works on what, where any number of processes share a folder.
//!
//! Whoever takes something creates the file of its lease, which nobody else can create then, and touches that file as
//! long as it works. A process that died touches nothing any more: whoever has seen no touch for as long as a lease
//! lasts, by its own clock, so that clocks of machines need not agree, takes the lease away. Nothing may rest on it that
//! two never work on the same (a machine may have stood still for longer than that): what they make has to be the same,
//! or the first to be there counts.

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};
use safe_files::{Readers, create_new, random_name};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

/// Touches in the time that a lease lasts: some may come late.
const TOUCHES: u32 = 8;

/// Leases, as one process sees them.
#[derive(Debug)]
pub struct Leases {
    /// How long a lease lasts that nobody touches.
    lasts: Duration,
    /// Of others' leases: when each was touched, and since when that has been known.
    seen: HashMap<PathBuf, (SystemTime, Instant)>,
}

impl Leases {
    /// Those that last so long if nobody touches them: the same for all processes.
    #[must_use]
    pub fn new(lasts: Duration) -> Leases {
        Leases {
            lasts,
            seen: HashMap::new(),
        }
    }

    /// Takes the lease of this name; `None` if somebody has it.
    ///
    /// # Errors
    /// If its folder cannot be used.
    pub fn take(&mut self, path: &Path) -> io::Result<Option<Lease>> {
        if let Some(lease) = Lease::take(path, self.lasts)? {
            self.seen.remove(path);
            return Ok(Some(lease));
        }
        let Some(touched) = touched(path)? else {
            return Ok(None);
        };
        let now = Instant::now();
        let seen = self.seen.entry(path.to_owned()).or_insert((touched, now));
        if seen.0 != touched {
            *seen = (touched, now);
        } else if now - seen.1 >= self.lasts {
            self.seen.remove(path);
            if take_away(path, touched)? {
                return Lease::take(path, self.lasts);
            }
        }
        Ok(None)
    }
}

/// When a lease was last touched; `None` if it is gone.
fn touched(path: &Path) -> io::Result<Option<SystemTime>> {
    match fs::symlink_metadata(path).and_then(|about| about.modified()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        touched => touched.map(Some),
    }
}

/// Removes a lease that was last touched then. Another process may have been faster, and have taken a new one meanwhile,
/// which gets its name back.
fn take_away(path: &Path, seen: SystemTime) -> io::Result<bool> {
    let aside = path.with_file_name(random_name("expired"));
    match fs::rename(path, &aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        renamed => renamed?,
    }
    let is_same = touched(&aside)? == Some(seen);
    if !is_same {
        // If there is another one already, two work on the same.
        let _ = fs::hard_link(&aside, path);
    }
    // Who has put a folder there has left it to others to remove.
    let _ = fs::remove_file(&aside);
    Ok(is_same)
}

/// What this process has taken. It is given back when dropped.
#[derive(Debug)]
pub struct Lease {
    path: PathBuf,
    /// Ends the touching when dropped.
    beat: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Lease {
    /// `None` if somebody has it.
    fn take(path: &Path, lasts: Duration) -> io::Result<Option<Lease>> {
        let file = match create_new(path, Readers::Owner) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            file => file?,
        };
        let (ended, end) = channel::<()>();
        let beat = thread::spawn(move || {
            while end.recv_timeout(lasts / TOUCHES) == Err(RecvTimeoutError::Timeout) {
                touch(&file);
            }
        });
        Ok(Some(Lease {
            path: path.to_owned(),
            beat: Some((ended, beat)),
        }))
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Sets a file's time to now, by the clock of whoever keeps the file. One that fails is as if the process had died, which
/// costs work and nothing else.
fn touch(file: &File) {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    let _ = futimens(file, &times);
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some((ended, beat)) = self.beat.take() {
            drop(ended);
            let _ = beat.join();
        }
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use safe_files::ScratchFolder;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn one_has_it_until_it_is_given_back_or_not_touched_any_more() {
        let folder = ScratchFolder::new("lease").unwrap();
        let path = folder.path().join("a.lease");
        let (mut first, mut second) = (Leases::new(LONG), Leases::new(Duration::from_millis(80)));
        let lease = first.take(&path).unwrap().expect("nobody has it");
        assert_eq!(lease.path(), path);
        assert!(second.take(&path).unwrap().is_none());
        drop(lease);
        let lease = second.take(&path).unwrap().expect("it was given back");
        // As long as it is touched, it is not taken away, however long that is.
        let mut third = Leases::new(Duration::from_millis(80));
        for _ in 0..20 {
            assert!(third.take(&path).unwrap().is_none(), "it is touched");
            thread::sleep(Duration::from_millis(20));
        }
        drop(lease);
        // Who died has left it, and touches it no more.
        fs::write(&path, "").unwrap();
        assert!(third.take(&path).unwrap().is_none(), "it is seen for the first time");
        assert!(first.take(&path).unwrap().is_none());
        thread::sleep(Duration::from_millis(90));
        assert!(first.take(&path).unwrap().is_none(), "its own leases last longer");
        let lease = third.take(&path).unwrap().expect("nobody has touched it");
        drop(lease);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn what_another_has_taken_meanwhile_is_not_taken_away() {
        let folder = ScratchFolder::new("lease-faster").unwrap();
        let path = folder.path().join("a.lease");
        fs::write(&path, "").unwrap();
        let old = touched(&path).unwrap().expect("it is there");
        // The one that was seen is gone, and this is another's.
        fs::remove_file(&path).unwrap();
        thread::sleep(Duration::from_millis(20));
        let lease = Leases::new(LONG).take(&path).unwrap().expect("nobody has it");
        assert!(!take_away(&path, old).unwrap());
        assert!(path.exists(), "it has its name back");
        drop(lease);
        assert!(!take_away(&path, old).unwrap(), "it is gone");
        // Whatever has the name.
        fs::create_dir(&path).unwrap();
        let folder = touched(&path).unwrap().expect("it is there");
        assert!(take_away(&path, folder).unwrap());
        assert!(!path.exists());
    }
}
