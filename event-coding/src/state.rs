//! What the events before say about the next one: the state that both sides keep in step.

use crate::literal::Known;
use crate::memory::{Memory, Spot};
use crate::progression;
use crate::shape::{Shape, Slots, TargetKind, mask};
use crate::sites::{BranchHistory, Edge, Site, SiteIndex, Sites, target_mode, unlikely, value_mode};
use core::borrow::BorrowMut;

/// The part of an operation that changes; operands that a kind does not have are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    /// What it acts on.
    pub target: u64,
    /// What it saw or stored.
    pub value: u64,
    /// What a read-modify-write stored.
    pub written: u64,
}

impl Operands {
    /// Those of a plain access.
    #[inline(always)]
    pub(crate) fn access(target: u64, value: u64) -> Operands {
        Operands {
            target,
            value,
            written: 0,
        }
    }
}

/// An event as it is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coded {
    /// The number of its thread.
    pub thread: u32,
    /// The number of its call stack.
    pub stack: u32,
    /// Its code position.
    pub pc: u64,
    /// What is fixed for its instruction.
    pub shape: Shape,
    /// What is not.
    pub operands: Operands,
}

/// What a thread did last in the block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    /// Its number + 1; 0 for none.
    pub(crate) tag: u64,
    /// The site of its last event.
    pub(crate) site: SiteIndex,
    /// The edge that it took last where there were two.
    pub(crate) branch: bool,
    pub(crate) stack: u32,
    /// The target of its last event that has an address, and of its last one with a number.
    pub(crate) targets: [u64; 2],
    /// The values that it read last, the latest first.
    pub(crate) recent: [u64; 2],
}

impl Thread {
    const NONE: Thread = Thread {
        tag: 0,
        site: SiteIndex::NONE,
        branch: false,
        stack: 0,
        targets: [0; 2],
        recent: [0; 2],
    };
}

/// Threads that are remembered while others run; a power of two.
const PARKED: usize = 64;

/// The state. `M` and `S` say where its two large parts live: in it, or behind a pointer.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct State<M = Memory, S = Sites> {
    /// First, so that a site is found without adding anything to where it lies.
    pub(crate) sites: S,
    pub(crate) memory: M,
    /// The thread that runs.
    pub(crate) thread: Thread,
    parked: [Thread; PARKED],
    /// The code position of the site that was added last.
    pub(crate) pc: u64,
}

impl<M: BorrowMut<Memory>, S: BorrowMut<Sites>> State<M, S> {
    /// The state at the beginning of a block. Both parts must be new.
    #[must_use]
    pub const fn new(memory: M, sites: S) -> Self {
        Self {
            memory,
            sites,
            thread: Thread::NONE,
            parked: [Thread::NONE; PARKED],
            pc: 0,
        }
    }

    /// Forgets everything, for the next block.
    pub fn forget(&mut self) {
        self.memory.borrow_mut().forget();
        self.sites.borrow_mut().forget();
        self.thread = Thread::NONE;
        self.parked = [Thread::NONE; PARKED];
        self.pc = 0;
    }

    #[inline(always)]
    pub(crate) fn sites(&self) -> &Sites {
        self.sites.borrow()
    }

    /// Another thread runs.
    pub(crate) fn resume(&mut self, number: u32) {
        let old = self.thread;
        self.parked[old.tag as usize % PARKED] = old;
        let tag = u64::from(number) + 1;
        let known = self.parked[tag as usize % PARKED];
        self.thread = if known.tag == tag {
            known
        } else {
            Thread { tag, ..Thread::NONE }
        };
    }

    /// The edge that is expected from the thread's site.
    #[inline(always)]
    pub(crate) fn expected(&self) -> &Edge {
        &self.edges()[self.branches().foreseen()]
    }

    /// Whether the call stack stays on the edge that is expected.
    #[inline(always)]
    pub(crate) fn keeps_stack(&self) -> bool {
        !self.expected().moves
    }

    /// The edges from the thread's site.
    #[inline(always)]
    pub(crate) fn edges(&self) -> &[Edge; 2] {
        &self.sites.borrow().at(self.thread.site).edges
    }

    /// The edge from the thread's site to the one at `index`, to predict from.
    pub(crate) fn edge_to(&self, index: SiteIndex) -> Edge {
        let edges = &self.sites.borrow().at(self.thread.site).edges;
        match edges.iter().find(|edge| edge.site == index) {
            Some(&edge) => edge,
            None => Edge {
                site: index,
                ..Edge::NONE
            },
        }
    }

    /// Where the edge of the thread's site leads that is not expected.
    pub(crate) fn other(&self) -> SiteIndex {
        let site = self.sites.borrow().at(self.thread.site);
        site.edges[1 - site.branches.expected()].site
    }

    /// The call stack that is expected of an event at a site, and the one to try after that.
    #[inline(always)]
    pub(crate) fn stacks(&self, edge: &Edge, site: &Site) -> (u32, u32) {
        if edge.moves {
            (site.stack, self.thread.stack)
        } else {
            (self.thread.stack, site.stack)
        }
    }

    /// The target of the thread's last event of that sort.
    #[inline(always)]
    pub(crate) fn last_target(&self, slots: Slots) -> u64 {
        self.thread.targets[usize::from(matches!(slots.target, TargetKind::Number))]
    }

    #[inline(always)]
    pub(crate) fn target_by(&self, mode: u8, edge: &Edge, site: &Site, slots: Slots) -> u64 {
        match mode {
            target_mode::STRIDE => {
                let stride = edge.strides[usize::from(self.thread.branch)];
                site.target.wrapping_add(stride as u64)
            }
            target_mode::RELATIVE => self.last_target(slots).wrapping_add(site.target_steps[0]),
            target_mode::POINTER => self.thread.recent[0].wrapping_add(site.target_steps[1]),
            _ => site.target,
        }
    }

    /// `held` is what memory holds at the target, for an access.
    #[inline(always)]
    pub(crate) fn value_by(&self, mode: u8, site: &Site, held: Option<u64>, width: u8) -> u64 {
        let value = match mode {
            value_mode::STRIDE => return progression::next(site.value, site.value_steps[0], width),
            value_mode::RECENT => self.thread.recent[0].wrapping_add(site.value_steps[1]),
            value_mode::EARLIER => self.thread.recent[1].wrapping_add(site.value_steps[2]),
            _ => return held.unwrap_or(site.value),
        };
        value & mask(width)
    }

    #[inline(always)]
    pub(crate) fn written_after(site: &Site, value: u64, width: u8) -> u64 {
        value.wrapping_add(site.written_step) & mask(width)
    }

    /// Where memory has an access, and what it holds there.
    #[inline(always)]
    pub(crate) fn held(&self, slots: Slots, target: u64, width: u8) -> (Option<Spot>, Option<u64>) {
        let spot = matches!(slots.target, TargetKind::Access).then(|| Spot::of(target));
        (spot, spot.map(|spot| self.memory.borrow().get(spot, width)))
    }

    /// The branch history of the thread's site.
    #[inline(always)]
    pub(crate) fn branches(&self) -> BranchHistory {
        self.sites.borrow().at(self.thread.site).branches
    }

    /// The thread's next event comes from the site that was expected, by the branch history of the one before.
    #[inline(always)]
    pub(crate) fn confirm(&mut self, branches: BranchHistory) {
        if branches.is_steady() {
            if branches.forks() {
                self.thread.branch = false;
            }
        } else {
            unlikely();
            let branches = &mut self.sites.borrow_mut().at_mut(self.thread.site).branches;
            let edge = branches.confirm();
            self.thread.branch = branches.taken(self.thread.branch, edge);
        }
    }

    /// The same, by a history that is [plain](BranchHistory::is_plain).
    #[inline(always)]
    pub(crate) fn confirm_plain(&mut self, branches: BranchHistory) {
        if branches.forks() {
            self.thread.branch = false;
        }
    }

    /// The same by any history, that of the thread's site `last`, of which it is known that the edge number `at` is
    /// expected.
    #[inline(always)]
    pub(crate) fn confirm_edge(&mut self, branches: BranchHistory, last: SiteIndex, at: usize) {
        self.sites.borrow_mut().at_mut(last).branches = branches.confirmed(at);
        // Where the second one is expected, there are two.
        if at != 0 || branches.forks() {
            self.thread.branch = at != 0;
        }
    }

    /// Notes a predicted event at `index`, all but what memory holds. Neither the call stack, if that
    /// `stays`, nor a value that is not predicted `by_site`: most events need less.
    #[inline(always)]
    pub(crate) fn pass(&mut self, index: SiteIndex, slots: Slots, seen: Seen, operands: Operands) {
        let site = self.sites.borrow_mut().at_mut(index);
        site.count = site.count.wrapping_add(1);
        if !seen.stays {
            site.stack = seen.stack;
            self.thread.stack = seen.stack;
        }
        if slots.value && seen.by_site {
            site.value = operands.value;
        }
        self.note(index, slots, operands);
    }

    /// Notes an event at `index` that an item gave.
    fn advance(&mut self, index: SiteIndex, slots: Slots, stack: u32, operands: Operands) {
        let seen = Seen {
            stack,
            stays: false,
            by_site: true,
        };
        self.pass(index, slots, seen, operands);
    }

    #[inline(always)]
    fn note(&mut self, index: SiteIndex, slots: Slots, operands: Operands) {
        let site = self.sites.borrow_mut().at_mut(index);
        if !matches!(slots.target, TargetKind::Absent) {
            site.target = operands.target;
            self.thread.targets[usize::from(matches!(slots.target, TargetKind::Number))] = operands.target;
        }
        if slots.reads {
            self.thread.recent = [operands.value, self.thread.recent[0]];
        }
        self.thread.site = index;
    }

    /// The target of an event was a literal, a distance from the site's last target. Takes predicting up again, by a
    /// stride, if that is the same again and again.
    #[inline(always)]
    pub(crate) fn note_literal_target(&mut self, index: SiteIndex, distance: u64) {
        let sites = self.sites.borrow_mut();
        let site = sites.at_mut(index);
        let same = site.target_steps[0] == distance;
        site.target_steps[0] = distance;
        if site.target_record.unpredicted(same) {
            site.target_mode = target_mode::STRIDE;
            let last = sites.at_mut(self.thread.site);
            let expected = last.branches.expected();
            last.edges[expected].strides = [distance as i32; 2];
        }
    }

    /// The value of an event was a literal of this mode, where memory holds `held`. Takes predicting it up again, by
    /// memory or by the value that was read last, if that would have been right again and again.
    #[inline(always)]
    pub(crate) fn note_literal_value(&mut self, index: SiteIndex, mode: u8, held: Option<u64>, value: u64) {
        let chooses = mode == value_mode::LITERAL_CHOICE;
        let foretold = if chooses { Some(self.thread.recent[0]) } else { held };
        let site = self.sites.borrow_mut().at_mut(index);
        if site.value_record.unpredicted(foretold == Some(value)) {
            unlikely();
            site.value_mode = if chooses {
                site.value_steps[1] = 0;
                value_mode::RECENT
            } else {
                value_mode::MEMORY
            };
        }
    }

    /// The value of an event was predicted by this mode: a step has the units of the last value.
    #[inline(always)]
    pub(crate) fn note_predicted_value(&mut self, index: SiteIndex, mode: u8, value: u64, width: u8) {
        if mode == value_mode::STRIDE {
            let site = self.sites.borrow_mut().at_mut(index);
            site.value_steps[0] = progression::rescaled(site.value_steps[0], site.value, value, width);
        }
    }

    /// What is known of the value of an access, or of another event, before it is.
    #[inline(always)]
    pub(crate) fn known(&self, held: Option<u64>, width: u8) -> Known {
        Known {
            held,
            recent: self.thread.recent[0],
            earlier: self.thread.recent[1],
            width,
        }
    }

    /// Notes what memory holds after an event.
    #[inline(always)]
    pub(crate) fn keep(&mut self, spot: Option<Spot>, slots: Slots, width: u8, operands: Operands) {
        if let Some(spot) = spot {
            let value = if slots.written {
                operands.written
            } else {
                operands.value
            };
            self.memory.borrow_mut().set(spot, width, value);
        }
    }

    /// An event at `index` was given by an item: learns from what was not predicted.
    #[inline(always)]
    pub(crate) fn learn(&mut self, index: SiteIndex, slots: Slots, stack: u32, missed: Missed) {
        let Missed {
            operands,
            edge,
            value,
            known,
        } = missed;
        if let Some(missed) = value {
            let first = matches!(edge, Some(MissedEdge { first: true, .. }));
            self.learn_value(index, operands.value, missed, known, first);
        } else if slots.value {
            let mode = self.sites().at(index).value_mode;
            self.note_predicted_value(index, mode, operands.value, known.width);
        }
        if slots.written {
            let site = self.sites.borrow_mut().at_mut(index);
            site.written_step = operands.written.wrapping_sub(operands.value);
        }
        match edge {
            None => self.confirm(self.branches()),
            Some(edge) => self.learn_edge(index, slots, stack, operands.target, edge),
        }
        self.advance(index, slots, stack, operands);
    }

    /// The value of an event at `index` was not as predicted.
    #[inline(always)]
    fn learn_value(&mut self, index: SiteIndex, value: u64, missed: MissedValue, known: Known, first: bool) {
        let recent = [known.recent, known.earlier];
        let site = self.sites.borrow_mut().at_mut(index);
        site.value_steps[0] = if site.value == site.value_anchor && !first {
            progression::between(site.value, value, known.width)
        } else {
            progression::rescaled(site.value_steps[0], site.value, value, known.width)
        };
        site.value_steps[1] = value.wrapping_sub(recent[0]);
        site.value_steps[2] = value.wrapping_sub(recent[1]);
        site.value_anchor = value;
        if let MissedValue::Predict(mode) = missed
            && site.value_mode != value_mode::LITERAL
        {
            let gives_up = site.value_record.miss(site.count);
            site.value_mode = match site.value_mode {
                // What such a literal cannot say comes now and then, and is given then.
                now @ (value_mode::LITERAL_LOW | value_mode::LITERAL_CHOICE) if !gives_up => now,
                value_mode::LITERAL_LOW | value_mode::LITERAL_CHOICE => value_mode::LITERAL,
                _ if gives_up => known.mode_for(value),
                _ => mode,
            };
        }
    }

    /// An event is at `index`, and its site, its call stack or its target was not as predicted.
    #[inline(always)]
    fn learn_edge(&mut self, index: SiteIndex, slots: Slots, stack: u32, target: u64, missed: MissedEdge) {
        let last_target = self.last_target(slots);
        let thread = self.thread;
        let sites = self.sites.borrow_mut();
        let site = sites.at_mut(index);
        let distance = target.wrapping_sub(site.target) as i64;
        let stride = match missed.first {
            true => 0,
            false => i32::try_from(distance).unwrap_or(0),
        };
        if let Some(mode) = missed.target_mode {
            site.target_steps[0] = target.wrapping_sub(last_target);
            site.target_steps[1] = target.wrapping_sub(thread.recent[0]);
            let literal = match i8::try_from(distance) {
                Ok(_) => target_mode::LITERAL_SHORT,
                Err(_) => target_mode::LITERAL_LONG,
            };
            let gives_up = site.target_record.miss(site.count);
            site.target_mode = match site.target_mode {
                // A short one may be too short once.
                now @ (target_mode::LITERAL_SHORT | target_mode::LITERAL_LONG) if !gives_up => now,
                _ if gives_up => literal,
                _ => mode,
            };
        }
        let moves = stack != thread.stack;
        let last = sites.at_mut(thread.site);
        let at = match last.edges.iter().position(|edge| edge.site == index) {
            Some(at) => {
                last.edges[at].moves = moves;
                if missed.target_mode.is_some() {
                    last.edges[at].learn(thread.branch, stride);
                }
                at
            }
            None => {
                let at = usize::from(last.edges[0].site != SiteIndex::NONE);
                if at == 1 {
                    last.branches.fork();
                }
                last.edges[at] = Edge {
                    strides: [stride; 2],
                    site: index,
                    moves,
                    doubts: 0,
                };
                at
            }
        };
        last.branches.set_moves(last.edges[0].moves);
        let edge = if at == last.branches.expected() {
            last.branches.confirm()
        } else {
            last.branches.refute()
        };
        self.thread.branch = last.branches.taken(thread.branch, edge);
    }
}

/// What was asked of the state to predict an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// The event's call stack.
    pub(crate) stack: u32,
    /// It is that of the event before, as always on that edge.
    pub(crate) stays: bool,
    /// The value was predicted from others that the site or the thread saw.
    pub(crate) by_site: bool,
}

/// Whether values of an operation with these operands, predicted by this mode, are to be kept with the site.
#[inline(always)]
pub(crate) fn is_by_site(slots: Slots, value_mode: u8) -> bool {
    !matches!(slots.target, TargetKind::Access)
        || matches!(
            value_mode,
            value_mode::STRIDE | value_mode::RECENT | value_mode::EARLIER
        )
}

/// An event that was not as predicted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Missed {
    pub(crate) operands: Operands,
    /// `None` if site, call stack and target were as predicted.
    pub(crate) edge: Option<MissedEdge>,
    /// `None` if the value was.
    pub(crate) value: Option<MissedValue>,
    /// What was known of it.
    pub(crate) known: Known,
}

/// How the value is to be predicted from now on that was not as predicted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MissedValue {
    /// By this mode, unless it was wrong too often.
    Predict(u8),
    /// As before: memory holds all of the line now.
    Filled,
}

/// What was wrong but the value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MissedEdge {
    /// It is the site's first event.
    pub(crate) first: bool,
    /// The mode to predict the target by from now on, unless it was right.
    pub(crate) target_mode: Option<u8>,
}
