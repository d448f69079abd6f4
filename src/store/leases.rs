//! Who works on which shard of a plan, where any number of workers share a folder.
//!
//! A worker takes a shard by creating its file of a lease, `M-of-N.lease`, which nobody else can create then, and
//! touches that file as long as it works. A worker that died touches nothing any more: whoever has seen no touch for as
//! long as a lease lasts, by its own clock, so that clocks of machines need not agree, takes the lease away and the
//! shard over, with the decisions in its journal. Nothing rests on it that two never work on one shard (a machine may have stood
//! still for longer than that): they decide the same, and the file of a shard appears as a whole.

use super::{StoreError, at, has_shard, shard_path};
use crate::analyze::Shard;
use crate::store::PlanId;
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};
use safe_files::{Readers, create_new, make_folder, random_name};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

/// Touches in the time that a lease lasts: some may come late.
const TOUCHES: u32 = 8;

/// The leases of a plan's shards, as one worker sees them.
#[derive(Debug)]
pub struct Leases<'a> {
    folder: &'a Path,
    plan: &'a PlanId,
    /// How long a lease lasts that nobody touches.
    lasts: Duration,
    /// Shards that are not known to be done. The first one is tried first: another one for each worker.
    left: Vec<Shard>,
    /// Of others' leases: when each was touched, and since when that has been known.
    seen: HashMap<u32, (SystemTime, Instant)>,
}

/// What a worker can do next.
#[derive(Debug)]
pub enum Offer {
    /// Decide a shard.
    Shard(Lease),
    /// Wait: others work on all that are left.
    Wait,
    /// End: all shards are done.
    Done,
}

impl<'a> Leases<'a> {
    /// Of a plan in so many shards; `lasts` is how long a lease is respected that nobody touches, the same for all
    /// workers. Workers with different numbers begin at different shards.
    #[must_use]
    pub fn new(folder: &'a Path, plan: &'a PlanId, of: NonZeroU32, lasts: Duration, worker: u32) -> Leases<'a> {
        let mut left: Vec<Shard> = (1..=of.get())
            .filter_map(|number| Shard::new(number, of.get()))
            .collect();
        left.rotate_left((worker % of.get()) as usize);
        Leases {
            folder,
            plan,
            lasts,
            left,
            seen: HashMap::new(),
        }
    }

    /// Takes a shard that nobody works on.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn take(&mut self) -> Result<Offer, StoreError> {
        let shards = self.folder.join("shards");
        at(self.folder, make_folder(self.folder))?;
        at(&shards, make_folder(&shards))?;
        let (folder, plan) = (self.folder, self.plan);
        self.left.retain(|&shard| !has_shard(folder, plan, shard));
        for &shard in &self.left {
            let path = shard_path(folder, shard).with_extension("lease");
            if let Some(lease) = Lease::take(shard, &path, self.lasts)? {
                return Ok(Offer::Shard(lease));
            }
            let Some(touched) = touched(&path)? else {
                continue;
            };
            let now = Instant::now();
            let seen = self.seen.entry(shard.number()).or_insert((touched, now));
            if seen.0 != touched {
                *seen = (touched, now);
            } else if now - seen.1 >= self.lasts {
                self.seen.remove(&shard.number());
                if take_away(&path, touched)?
                    && let Some(lease) = Lease::take(shard, &path, self.lasts)?
                {
                    return Ok(Offer::Shard(lease));
                }
            }
        }
        Ok(if self.left.is_empty() { Offer::Done } else { Offer::Wait })
    }
}

/// When a lease was last touched; `None` if it is gone.
fn touched(path: &Path) -> Result<Option<SystemTime>, StoreError> {
    match fs::symlink_metadata(path).and_then(|about| about.modified()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        touched => at(path, touched).map(Some),
    }
}

/// Removes a lease that was last touched then. Another worker may have been faster, and have taken a new one meanwhile,
/// which gets its name back.
fn take_away(path: &Path, seen: SystemTime) -> Result<bool, StoreError> {
    let aside = path.with_file_name(random_name("expired"));
    match fs::rename(path, &aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        renamed => at(path, renamed)?,
    }
    let is_same = touched(&aside)? == Some(seen);
    if !is_same {
        // If there is another one already, two work on the shard, and decide the same.
        let _ = fs::hard_link(&aside, path);
    }
    // Who has put a folder there has left it to others to remove.
    let _ = fs::remove_file(&aside);
    Ok(is_same)
}

/// A shard that this worker has taken. It is given back when dropped.
#[derive(Debug)]
pub struct Lease {
    shard: Shard,
    path: PathBuf,
    /// Ends the touching when dropped.
    beat: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Lease {
    /// `None` if somebody has it.
    fn take(shard: Shard, path: &Path, lasts: Duration) -> Result<Option<Lease>, StoreError> {
        let file = match create_new(path, Readers::Owner) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            file => at(path, file)?,
        };
        let (ended, end) = channel::<()>();
        let beat = thread::spawn(move || {
            while end.recv_timeout(lasts / TOUCHES) == Err(RecvTimeoutError::Timeout) {
                touch(&file);
            }
        });
        Ok(Some(Lease {
            shard,
            path: path.to_owned(),
            beat: Some((ended, beat)),
        }))
    }

    /// The shard.
    #[must_use]
    pub fn shard(&self) -> Shard {
        self.shard
    }
}

/// Sets a file's time to now, by the clock of whoever keeps the file. One that fails is as if the worker had died, which
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
    use super::{Leases, Offer};
    use crate::analyze::Shard;
    use crate::store::{Binding, Plan, save_shard};
    use std::num::NonZeroU32;
    use std::path::Path;
    use std::thread;
    use std::time::Duration;

    const OPTIONS: &str = r#"{"instances":10,"explanations":20,"budget":1,"solver":"both","model":"prefix"}"#;

    fn plan() -> Plan {
        Plan {
            schema: "s".to_owned(),
            tool: "t".to_owned(),
            trace: "0".to_owned(),
            options: serde_json::from_str(OPTIONS).expect("options"),
            candidates: Vec::new(),
            unlisted: 0,
        }
    }

    #[test]
    fn nobody_gets_what_another_has_until_it_is_done_or_its_worker_is_dead() {
        let folder = safe_files::ScratchFolder::new("leases").expect("a folder");
        let (folder, plan) = (folder.path(), plan().id());
        let of = NonZeroU32::new(2).expect("two");
        let mut first = Leases::new(folder, &plan, of, Duration::from_millis(1), 0);
        let mut second = Leases::new(folder, &plan, of, Duration::from_secs(3600), 1);
        let Ok(Offer::Shard(one)) = first.take() else {
            panic!("no shard is taken yet");
        };
        let Ok(Offer::Shard(other)) = second.take() else {
            panic!("one shard is left");
        };
        assert_eq!((one.shard().number(), other.shard().number()), (1, 2));
        assert!(matches!(second.take(), Ok(Offer::Wait)));
        // One is done; the other is given back by whoever had it.
        save_shard(folder, &plan, one.shard(), Vec::new(), &Binding::of(Path::new("none"))).expect("it is stored");
        drop((one, other));
        let Ok(Offer::Shard(other)) = second.take() else {
            panic!("it was given back");
        };
        // A worker that died has left its lease, and touches it no more.
        let path = other.path.clone();
        drop(other);
        std::fs::write(&path, "").expect("it is written");
        assert!(matches!(first.take(), Ok(Offer::Wait)), "it is seen for the first time");
        thread::sleep(Duration::from_millis(2));
        let Ok(Offer::Shard(other)) = first.take() else {
            panic!("nobody touched it");
        };
        assert_eq!(other.shard(), Shard::new(2, 2).expect("a shard"));
        save_shard(
            folder,
            &plan,
            other.shard(),
            Vec::new(),
            &Binding::of(Path::new("none")),
        )
        .expect("it is stored");
        drop(other);
        assert!(matches!(first.take(), Ok(Offer::Done)));
        // Those of another plan are none of this one.
        let another = Plan {
            trace: "1".to_owned(),
            ..self::plan()
        };
        let another = another.id();
        assert!(matches!(
            Leases::new(folder, &another, of, Duration::from_secs(1), 0).take(),
            Ok(Offer::Shard(_))
        ));
    }
}
