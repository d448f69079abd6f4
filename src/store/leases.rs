//! Who works on which shard of a plan, where any number of workers share a folder.
//!
//! Each shard has a [lease](crate::lease) beside it, `M-of-N.lease`. A worker takes over a shard whose worker died with
//! the decisions in its journal. Two that work on one shard decide the same, and the file of a shard appears as a whole.

use super::decisions::{Found, find_shard};
use super::{Binding, Plan, PlanId, StoreError, at, shard_path};
use crate::analyze::Shard;
use crate::lease;
use safe_files::make_folder;
use std::collections::HashSet;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The leases of a plan's shards, as one worker sees them.
#[derive(Debug)]
pub struct Leases<'a> {
    folder: &'a Path,
    plan: &'a Plan,
    id: PlanId,
    binding: Binding,
    /// Whether shards that somebody else has written count.
    believes: bool,
    leases: lease::Leases,
    /// Shards that are not known to be done. The first one is tried first: another one for each worker.
    left: Vec<Shard>,
    /// Whether all of them were looked at.
    has_looked: bool,
    /// Shards that somebody else has written, and that do not count.
    of_others: Vec<PathBuf>,
    /// Their numbers, also of those that are told.
    disbelieved: HashSet<u32>,
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
    pub fn new(
        folder: &'a Path,
        plan: &'a Plan,
        binding: Binding,
        of: NonZeroU32,
        lasts: Duration,
        worker: u32,
    ) -> Leases<'a> {
        let mut left: Vec<Shard> = (1..=of.get())
            .filter_map(|number| Shard::new(number, of.get()))
            .collect();
        left.rotate_left((worker % of.get()) as usize);
        Leases {
            folder,
            plan,
            id: plan.id(),
            binding,
            believes: false,
            leases: lease::Leases::new(lasts),
            left,
            has_looked: false,
            of_others: Vec::new(),
            disbelieved: HashSet::new(),
        }
    }

    /// Takes shards that somebody else has written for done.
    #[must_use]
    pub fn believing_others(self, believes: bool) -> Leases<'a> {
        Leases { believes, ..self }
    }

    /// The shards that somebody else has written, as far as they are not told yet: each is decided anew.
    pub fn of_others(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.of_others)
    }

    /// Takes a shard that nobody works on.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn take(&mut self) -> Result<Offer, StoreError> {
        let shards = self.folder.join("shards");
        at(self.folder, make_folder(self.folder))?;
        at(&shards, make_folder(&shards))?;
        // At first all of them, so that those of others are named before anything is decided.
        if !std::mem::replace(&mut self.has_looked, true) {
            let all = std::mem::take(&mut self.left);
            self.left = all.into_iter().filter(|&shard| self.is_left(shard)).collect();
        }
        // From then on up to the first that nobody works on: there are many, and this is asked for each.
        let mut next = 0;
        while let Some(&shard) = self.left.get(next) {
            if !self.is_left(shard) {
                self.left.remove(next);
                continue;
            }
            let path = shard_path(self.folder, shard).with_extension("lease");
            if let Some(lease) = at(&path, self.leases.take(&path))? {
                return Ok(Offer::Shard(Lease { shard, lease }));
            }
            next += 1;
        }
        Ok(if self.left.is_empty() { Offer::Done } else { Offer::Wait })
    }

    /// Whether a shard is still to be decided. One that somebody else has written is noted.
    fn is_left(&mut self, shard: Shard) -> bool {
        let path = shard_path(self.folder, shard);
        match find_shard(&path, self.plan, &self.id, shard, &self.binding, self.believes) {
            Found::Nothing => true,
            Found::Decided => false,
            Found::OfOthers => {
                if self.disbelieved.insert(shard.number()) {
                    self.of_others.push(path);
                }
                true
            }
        }
    }
}

/// A shard that this worker has taken. It is given back when dropped.
#[derive(Debug)]
pub struct Lease {
    shard: Shard,
    #[cfg_attr(not(test), expect(dead_code, reason = "holds the shard until it is dropped"))]
    lease: lease::Lease,
}

impl Lease {
    /// The shard.
    #[must_use]
    pub fn shard(&self) -> Shard {
        self.shard
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
        let (folder, plan) = (folder.path(), plan());
        let binding = Binding::of(Path::new("/no/such/trace"));
        let of = NonZeroU32::new(2).expect("two");
        let mut first = Leases::new(folder, &plan, binding, of, Duration::from_millis(1), 0).believing_others(true);
        let mut second = Leases::new(folder, &plan, binding, of, Duration::from_secs(3600), 1).believing_others(true);
        let Ok(Offer::Shard(one)) = first.take() else {
            panic!("no shard is taken yet");
        };
        let Ok(Offer::Shard(other)) = second.take() else {
            panic!("one shard is left");
        };
        assert_eq!((one.shard().number(), other.shard().number()), (1, 2));
        assert!(matches!(second.take(), Ok(Offer::Wait)));
        // One is done; the other is given back by whoever had it.
        save_shard(
            folder,
            &plan.id(),
            one.shard(),
            Vec::new(),
            &Binding::of(Path::new("none")),
        )
        .expect("it is stored");
        drop((one, other));
        let Ok(Offer::Shard(other)) = second.take() else {
            panic!("it was given back");
        };
        // A worker that died has left its lease, and touches it no more.
        let path = other.lease.path().to_owned();
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
            &plan.id(),
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
        let of_another = Leases::new(folder, &another, binding, of, Duration::from_secs(1), 0);
        assert!(matches!(of_another.believing_others(true).take(), Ok(Offer::Shard(_))));
        // Nobody has sealed them.
        let mut careful = Leases::new(folder, &plan, binding, of, Duration::from_secs(1), 0);
        let Ok(Offer::Shard(again)) = careful.take() else {
            panic!("what others have written does not count");
        };
        assert_eq!(
            careful.of_others(),
            [1, 2].map(|number| folder.join(format!("shards/{number}-of-2.decisions")))
        );
        drop(again);
        assert!(matches!(careful.take(), Ok(Offer::Shard(_))));
        assert!(careful.of_others().is_empty(), "each is told once");
    }
}
