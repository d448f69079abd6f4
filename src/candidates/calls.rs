//! Which calls of functions a thread is in from event to event, as far as the recorded stacks tell them apart
//! (`docs/SEMANTICS.md`, section 4).

use crate::trace::{CodePosition, EventId, Trace};
use trace_format::StackId;

/// The calls that a thread is in, as far as stacks tell them apart.
pub(super) struct Calls {
    /// Per stack: what is below it, where it was called, and how deep it is.
    parents: Vec<(StackId, CodePosition, u32)>,
    frames: Vec<Frame>,
}

/// A call that a thread is in.
struct Frame {
    stack: StackId,
    /// The place in its thread of the first event since which its position has only moved forward.
    since: u32,
    position: CodePosition,
}

impl Calls {
    pub(super) fn of(trace: &Trace) -> Calls {
        let mut parents = vec![(StackId::EMPTY, 0, 0)];
        for node in &trace.tables().stacks {
            let depth = parents.get(node.parent.0 as usize).map_or(0, |&(.., depth)| depth);
            parents.push((node.parent, node.call_site, depth + 1));
        }
        Calls {
            parents,
            frames: Vec::new(),
        }
    }

    fn depth(&self, stack: StackId) -> u32 {
        self.parents[stack.0 as usize].2
    }

    /// The stack below at a depth.
    fn at_depth(&self, mut stack: StackId, depth: u32) -> StackId {
        while self.depth(stack) > depth {
            stack = self.parents[stack.0 as usize].0;
        }
        stack
    }

    /// The position in the call at a depth, of an event with this stack.
    pub(super) fn position(&self, stack: StackId, pc: CodePosition, depth: u32) -> CodePosition {
        match self.depth(stack) > depth {
            true => self.parents[self.at_depth(stack, depth + 1).0 as usize].1,
            false => pc,
        }
    }

    /// Goes on by an event.
    pub(super) fn step(&mut self, place: u32, stack: StackId, pc: CodePosition) {
        let deepest = self.depth(stack);
        let mut kept = (self.frames.len() as u32).min(deepest + 1);
        while kept > 0 && self.frames[kept as usize - 1].stack != self.at_depth(stack, kept - 1) {
            kept -= 1;
        }
        self.frames.truncate(kept as usize);
        if let Some(depth) = kept.checked_sub(1) {
            let position = self.position(stack, pc, depth);
            let frame = &mut self.frames[depth as usize];
            if position < frame.position {
                frame.since = place;
            }
            frame.position = position;
        }
        for depth in kept..=deepest {
            self.frames.push(Frame {
                stack: self.at_depth(stack, depth),
                since: place,
                position: self.position(stack, pc, depth),
            });
        }
    }

    /// How deep the innermost call is that the last event shares with an earlier one, if it is the same call and its
    /// position has moved forward since.
    pub(super) fn shared_with(&self, trace: &Trace, earlier: EventId, last: EventId) -> Option<u32> {
        let depth = self.deepest_shared(trace, earlier, last);
        let position = |event| self.position(trace.stack(event), trace.pc(event), depth);
        let same = self.frames[depth as usize].since <= trace.place(earlier) && position(earlier) != position(last);
        same.then_some(depth)
    }

    /// How deep the innermost call is that two events seem to share.
    fn deepest_shared(&self, trace: &Trace, earlier: EventId, last: EventId) -> u32 {
        let (mut one, mut other) = (trace.stack(earlier), trace.stack(last));
        let mut depth = self.depth(one).min(self.depth(other));
        (one, other) = (self.at_depth(one, depth), self.at_depth(other, depth));
        while one != other {
            depth -= 1;
            (one, other) = (self.parents[one.0 as usize].0, self.parents[other.0 as usize].0);
        }
        depth
    }

    /// Forgets where the last thread was.
    pub(super) fn begin(&mut self) {
        self.frames.clear();
    }

    /// Whether the call that the last event is in at a depth is the one that an earlier event was in, and its position
    /// has only moved forward since.
    pub(super) fn is_since(&self, trace: &Trace, earlier: EventId, depth: u32) -> bool {
        self.frames
            .get(depth as usize)
            .is_some_and(|frame| frame.since <= trace.place(earlier))
    }
}
