//! The operations of all events: most are one of a few with one number at most.

use super::{AccessKind, IncarnationId, Op};
use columns::{Column, Cursor};
use trace_format::{MemoryOrder, ObjectId, ThreadId};

/// A column of operations.
#[derive(Clone, Debug, Default)]
pub(super) struct Ops {
    /// What is the same for many: a [`Tag`], or, from [`ACCESSES`] on, the form of an access.
    tags: Vec<u8>,
    /// Of an access, the number of its range; of a free, which one it is.
    numbers: Column,
    /// The range of the first free; those of the others follow.
    frees: u32,
    /// Those that are not packed.
    rare: Vec<Op>,
    /// The forms of accesses that there are, a bit for each.
    forms: u128,
    /// The tags of operations that there are, a bit for each.
    there: u32,
}

/// The operations that are packed: those with one number, and those with none.
macro_rules! packed {
    (numbered: $($name:ident { $field:ident: $number:ident })*, plain: $($plain:ident)*) => {
        #[derive(Clone, Copy, Debug)]
        #[repr(u8)]
        enum Tag {
            $($name,)*
            $($plain,)*
            Rare,
        }

        fn pack(op: Op) -> Option<(Tag, u32)> {
            Some(match op {
                $(Op::$name { $field } => (Tag::$name, $field.0),)*
                $(Op::$plain => (Tag::$plain, 0),)*
                _ => return None,
            })
        }

        fn unpack(tag: u8, number: u32, rare: &[Op]) -> Op {
            $(if tag == Tag::$name as u8 {
                return Op::$name { $field: $number(number) };
            })*
            $(if tag == Tag::$plain as u8 {
                return Op::$plain;
            })*
            rare[number as usize]
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

/// The tag of the first form of an access.
const ACCESSES: u8 = Tag::Rare as u8 + 1;

/// What many accesses have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub kind: AccessKind,
    pub order: MemoryOrder,
    /// Whether its value is not kept with it, but in a list of such.
    pub apart: bool,
}

const KINDS: [AccessKind; 8] = [
    AccessKind::Read,
    AccessKind::Write,
    AccessKind::AtomicLoad,
    AccessKind::AtomicStore,
    AccessKind::AtomicRmw,
    AccessKind::Use,
    AccessKind::Destroy,
    AccessKind::Free,
];

/// As many as fit into three bits, with some to spare.
const ORDERS: [MemoryOrder; 8] = [
    MemoryOrder::Relaxed,
    MemoryOrder::Consume,
    MemoryOrder::Acquire,
    MemoryOrder::Release,
    MemoryOrder::AcqRel,
    MemoryOrder::SeqCst,
    MemoryOrder::SeqCst,
    MemoryOrder::SeqCst,
];

const FORMS: u8 = 128;

const _: () = assert!(ACCESSES <= u8::MAX - FORMS + 1);
const _: () = assert!((ACCESSES as u32) <= u32::BITS);

/// Kinds of operations: tags, a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds(u32);

impl Kinds {
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl Form {
    fn tag(self) -> u8 {
        // Kinds and orders are numbered in the order of the lists above.
        ACCESSES + (u8::from(self.apart) << 6 | (self.order as u8) << 3 | self.kind as u8)
    }

    #[inline]
    fn of(tag: u8) -> Option<Form> {
        let bits = tag.checked_sub(ACCESSES)?;
        Some(Form {
            kind: KINDS[usize::from(bits & 7)],
            order: ORDERS[usize::from(bits >> 3 & 7)],
            apart: bits >> 6 & 1 != 0,
        })
    }
}

impl Ops {
    pub(super) fn with_capacity(events: usize) -> Ops {
        Ops {
            tags: Vec::with_capacity(events),
            ..Ops::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.tags.len()
    }

    /// Adds one that is no access.
    pub(super) fn push(&mut self, op: Op) {
        let (tag, number) = pack(op).unwrap_or_else(|| {
            self.rare.push(op);
            (Tag::Rare, self.rare.len() as u32 - 1)
        });
        self.there |= 1 << tag as u8;
        self.tags.push(tag as u8);
        self.numbers.push(number);
    }

    /// The kinds of operations that there are of which some are such. Of those that are packed, this does not depend on
    /// their numbers.
    pub(super) fn kinds(&self, is_such: impl Fn(Op) -> bool) -> Kinds {
        let there = (0..Tag::Rare as u8).filter(|&tag| self.there >> tag & 1 != 0);
        let such = there.filter(|&tag| is_such(unpack(tag, 0, &[])));
        let mut kinds = such.fold(0, |kinds, tag| kinds | 1 << tag);
        if self.rare.iter().any(|&op| is_such(op)) {
            kinds |= 1 << Tag::Rare as u8;
        }
        Kinds(kinds)
    }

    /// Whether an operation is of one of these kinds.
    #[inline]
    pub(super) fn is_of(&self, operation: usize, kinds: Kinds) -> bool {
        kinds.0 >> self.tags[operation] & 1 != 0
    }

    pub(super) fn push_access(&mut self, form: Form, range: u32) {
        self.forms |= 1 << (form.tag() - ACCESSES);
        self.tags.push(form.tag());
        self.numbers.push(range);
    }

    /// The forms of accesses that there are.
    pub(super) fn forms(&self) -> impl Iterator<Item = Form> + '_ {
        let there = (0..FORMS).filter(|form| self.forms >> form & 1 != 0);
        there.filter_map(|form| Form::of(ACCESSES + form))
    }

    /// No operation follows. The frees are of the ranges from this one on, each of its own.
    pub(super) fn end(&mut self, frees: u32) {
        self.frees = frees;
        self.numbers.end();
    }

    #[inline]
    pub(super) fn get(&self, event: usize) -> Op {
        match self.tags[event] {
            ACCESSES.. => Op::Access,
            tag => unpack(tag, self.numbers.at(event), &self.rare),
        }
    }

    #[inline]
    pub(super) fn is_access(&self, event: usize) -> bool {
        self.tags[event] >= ACCESSES
    }

    /// As [`get`](Self::get), of what is no access, on a walk over most events.
    #[inline]
    pub(super) fn get_by(&self, numbers: &mut Cursor<'_>, event: usize) -> Op {
        unpack(self.tags[event], numbers.at(event), &self.rare)
    }

    /// The numbers, for walks over most events.
    pub(super) fn numbers(&self) -> Cursor<'_> {
        self.numbers.cursor()
    }

    /// As [`access`](Self::access), on such a walk.
    #[inline]
    pub(super) fn access_by(&self, numbers: &mut Cursor<'_>, event: usize) -> Option<(Form, u32)> {
        let form = Form::of(self.tags[event])?;
        let first = if form.kind == AccessKind::Free { self.frees } else { 0 };
        Some((form, first + numbers.at(event)))
    }

    /// The form and the range of an access.
    #[inline]
    pub(super) fn access(&self, event: usize) -> Option<(Form, u32)> {
        let form = Form::of(self.tags[event])?;
        let first = if form.kind == AccessKind::Free { self.frees } else { 0 };
        Some((form, first + self.numbers.at(event)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::WaitOutcome;

    #[test]
    fn of_kinds_that_are_not_there_nothing_is_looked_for() {
        let wait_end = |outcome| Op::WaitEnd {
            condition: ObjectId(1),
            lock: ObjectId(2),
            outcome,
        };
        let all = [
            Op::Fork { child: ThreadId(3) },
            wait_end(WaitOutcome::TimedOut),
            Op::Acquire { lock: ObjectId(4) },
            wait_end(WaitOutcome::Notified),
            Op::End,
            Op::Acquire { lock: ObjectId(5) },
        ];
        let mut ops = Ops::default();
        all.iter().for_each(|&op| ops.push(op));
        ops.end(0);
        let found = |is_such: &dyn Fn(Op) -> bool| {
            let kinds = ops.kinds(is_such);
            let found = (0..all.len())
                .filter(|&event| ops.is_of(event, kinds))
                .collect::<Vec<_>>();
            assert_eq!(found.is_empty(), kinds.is_empty());
            found
        };
        assert_eq!(found(&|op| matches!(op, Op::Acquire { .. })), [2, 5]);
        assert_eq!(found(&|op| matches!(op, Op::End | Op::Fork { .. })), [0, 4]);
        assert!(found(&|op| matches!(op, Op::Release { .. } | Op::Begin)).is_empty());
        // What is not packed is one kind: which it is, only a look at each of them tells.
        let is_notified = |op: Op| op == wait_end(WaitOutcome::Notified);
        assert_eq!(found(&is_notified), [1, 3]);
        assert!(found(&|op| matches!(op, Op::Input { .. })).is_empty());
    }

    #[test]
    fn what_is_packed_comes_back() {
        let mut ops = Ops::default();
        assert_eq!(ops.forms().count(), 0);
        let plain = [
            Op::Begin,
            Op::Fork { child: ThreadId(3) },
            Op::Output { source: ObjectId(7) },
            Op::Fence {
                order: MemoryOrder::AcqRel,
            },
            Op::End,
        ];
        plain.iter().for_each(|&op| ops.push(op));
        let mut forms = Vec::new();
        for kind in KINDS {
            for order in &ORDERS[..6] {
                forms.extend([false, true].map(|apart| Form {
                    kind,
                    order: *order,
                    apart,
                }));
            }
        }
        for (range, &form) in (0..).zip(&forms) {
            ops.push_access(form, range);
        }
        assert!(ops.forms().count() == forms.len() && ops.forms().all(|form| forms.contains(&form)));
        let mut numbers = ops.numbers();
        for (event, &op) in plain.iter().enumerate() {
            assert_eq!(ops.get(event), op);
            assert_eq!(ops.get_by(&mut numbers, event), op);
            assert!(!ops.is_access(event) && ops.access(event).is_none());
        }
        for (range, &form) in (0..).zip(&forms) {
            let event = plain.len() + range as usize;
            assert_eq!(ops.get(event), Op::Access);
            assert!(ops.is_access(event));
            assert_eq!(ops.access(event), Some((form, range)));
        }
        ops.end(1000);
        for (range, &form) in (0..).zip(&forms) {
            let first = if form.kind == AccessKind::Free { 1000 } else { 0 };
            let event = plain.len() + range as usize;
            assert_eq!(ops.access(event), Some((form, first + range)));
        }
    }
}
