//! Copies of what a thread has just read: without optimization, compilers store what `atomic_load` of C11 returns to the
//! stack, and load it from there (`docs/SEMANTICS.md`, section 3, *Null pointers*).

use super::{AccessKind, EventId, IncarnationId, Op, ThreadId, Trace};

impl Trace {
    /// The block of a thread's own stack, which is allocated right after its start.
    pub(super) fn own_stack(&self, thread: ThreadId) -> Option<IncarnationId> {
        let mut own = self.program_order(thread);
        let (begin, alloc) = (own.next()?, own.next()?);
        match (self.op(begin), self.op(alloc)) {
            (Op::Begin, Op::Alloc { incarnation }) => Some(incarnation),
            _ => None,
        }
    }

    /// The read by which a thread gets what it read here, once it has written it to its own stack with its next event
    /// and read it there with the one after that, as often as it does so; or else this read.
    #[must_use]
    pub fn last_copy(&self, read: EventId) -> EventId {
        let mut last = read;
        while let Some(again) = self.copied_by(last) {
            last = again;
        }
        last
    }

    fn copied_by(&self, read: EventId) -> Option<EventId> {
        let write = self.successor(read)?;
        let again = self.successor(write)?;
        let [from, to, back] = [self.access(read)?, self.access(write)?, self.access(again)?];
        let is_copy = (to.kind, back.kind) == (AccessKind::Write, AccessKind::Read)
            && (to.addr, self.incarnation_of(to.event)) == (back.addr, self.incarnation_of(back.event))
            && [from.size, to.size, back.size] == [from.size; 3]
            && [from.cells(), to.cells(), back.cells()] == [1; 3]
            && self.own_stack(self.thread(read)) == Some(self.incarnation_of(to.event));
        let value = self.numbers(from).next().filter(|_| is_copy && from.kind.reads())?.read;
        let (to, back) = (self.numbers(to).next()?, self.numbers(back).next()?);
        (to.written == value && back.read == value).then_some(again)
    }
}
