//! Which steps of a schedule are shown one by one, and which are only counted.
//!
//! Synchronization, accesses to the racing cells and the last events before the race are always shown; long
//! stretches of other events of one thread are condensed to a count.

use crate::replay::Replay;
use crate::trace::{EventId, Op, Trace};
use hashbrown::HashSet;

/// Events of each racing thread that are shown just before the race, whatever they are.
const LAST: usize = 3;

/// A line of a schedule as people read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Another thread runs from here on.
    Switch { slice: usize, first: EventId },
    /// One step.
    Event { index: usize },
    /// So many steps of one thread, from this one.
    Condensed { index: usize, events: usize, of: EventId },
}

impl Line {
    /// The first event that the line is about.
    pub(super) fn event(&self, replay: &Replay) -> EventId {
        match *self {
            Line::Switch { first, .. } => first,
            Line::Event { index } => replay.executed[index].event,
            Line::Condensed { of, .. } => of,
        }
    }
}

/// The lines of a schedule; `full` leaves nothing out.
pub(super) fn lines(trace: &Trace, replay: &Replay, full: bool) -> Vec<Line> {
    let shown = shown(trace, replay, full);
    let mut lines = Vec::new();
    let mut slice = 0;
    let mut index = 0;
    while index < replay.executed.len() {
        let step = &replay.executed[index];
        if step.slice != slice {
            slice = step.slice;
            lines.push(Line::Switch {
                slice,
                first: step.event,
            });
        }
        if shown[index] {
            lines.push(Line::Event { index });
            index += 1;
            continue;
        }
        let rest = &replay.executed[index..];
        let hidden = rest
            .iter()
            .zip(&shown[index..])
            .take_while(|(step, shown)| step.slice == slice && !**shown);
        let events = hidden.count();
        // A line that says "1 more event" is no shorter than the event.
        lines.push(match events {
            1 => Line::Event { index },
            events => Line::Condensed {
                index,
                events,
                of: step.event,
            },
        });
        index += events;
    }
    lines
}

/// Which of the executed events are shown one by one.
fn shown(trace: &Trace, replay: &Replay, full: bool) -> Vec<bool> {
    // A block that is freed may have a million.
    let cells: HashSet<_> = replay
        .accesses
        .iter()
        .flat_map(|pending| trace.cell_uses(pending.event))
        .map(|used| used.cell)
        .collect();
    let mut shown: Vec<bool> = Vec::with_capacity(replay.executed.len());
    for step in &replay.executed {
        shown.push(match trace.op(step.event) {
            _ if full => true,
            Op::Access => trace.cell_uses(step.event).any(|used| cells.contains(&used.cell)),
            Op::Alloc { .. } | Op::Branch | Op::Fence { .. } | Op::Input { .. } | Op::Output { .. } => false,
            _ => true,
        });
    }
    for pending in &replay.accesses {
        let steps = replay.executed.iter().enumerate().rev();
        let own = steps.filter(|(_, step)| trace.thread(step.event) == pending.thread);
        for (index, _) in own.take(LAST) {
            shown[index] = true;
        }
    }
    shown
}
