//! The operations of all events, five bytes each: most are one of a few with one number at most.

use super::{AccessId, IncarnationId, Op};
use trace_format::{ObjectId, ThreadId};

/// A column of operations.
#[derive(Clone, Debug, Default)]
pub(super) struct Ops {
    tags: Vec<Tag>,
    numbers: Vec<u32>,
    /// Those that are not packed.
    rare: Vec<Op>,
}

/// The operations that are packed: those with one number, and those with none.
macro_rules! packed {
    (numbered: $($name:ident { $field:ident: $number:ident })*, plain: $($plain:ident)*) => {
        #[derive(Clone, Copy, Debug)]
        #[repr(u8)]
        enum Tag {
            $($name,)*
            $($plain,)*
            Access,
            Rare,
        }

        fn pack(op: Op) -> Option<(Tag, u32)> {
            Some(match op {
                $(Op::$name { $field } => (Tag::$name, $field.0),)*
                $(Op::$plain => (Tag::$plain, 0),)*
                Op::Access(access) => (Tag::Access, access.0),
                _ => return None,
            })
        }

        fn unpack(tag: Tag, number: u32, rare: &[Op]) -> Op {
            match tag {
                $(Tag::$name => Op::$name { $field: $number(number) },)*
                $(Tag::$plain => Op::$plain,)*
                Tag::Access => Op::Access(AccessId(number)),
                Tag::Rare => rare[number as usize],
            }
        }
    };
}

packed! {
    numbered:
        Fork { child: ThreadId }
        Join { child: ThreadId }
        Acquire { lock: ObjectId }
        AcquireShared { lock: ObjectId }
        Release { lock: ObjectId }
        Notify { condition: ObjectId }
        NotifyAll { condition: ObjectId }
        SemPost { semaphore: ObjectId }
        SemWait { semaphore: ObjectId }
        SemWaitFailed { semaphore: ObjectId }
        OnceBegin { once: ObjectId }
        OnceEnd { once: ObjectId }
        OnceWait { once: ObjectId }
        Alloc { incarnation: IncarnationId }
        Output { source: ObjectId },
    plain: Begin End Branch
}

impl Ops {
    pub(super) fn with_capacity(events: usize) -> Ops {
        Ops {
            tags: Vec::with_capacity(events),
            numbers: Vec::with_capacity(events),
            rare: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.tags.len()
    }

    pub(super) fn push(&mut self, op: Op) {
        let (tag, number) = pack(op).unwrap_or_else(|| {
            self.rare.push(op);
            (Tag::Rare, self.rare.len() as u32 - 1)
        });
        self.tags.push(tag);
        self.numbers.push(number);
    }

    pub(super) fn get(&self, event: usize) -> Op {
        unpack(self.tags[event], self.numbers[event], &self.rare)
    }
}
