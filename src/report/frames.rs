//! The call stacks of results: a tree of activations, each of which is written once.

use super::Findings;
use crate::results::FrameResult;
use crate::symbols::Frame;
use crate::trace::{CodePosition, EventId, StackId};
use hashbrown::HashMap;
use serde::{Serialize, Serializer};
use std::cell::RefCell;
use std::rc::Rc;
use trace_format::TraceId;

/// The activations that have been asked for, of one trace or several. It is written as a list of [`FrameResult`]: last,
/// when all that refers to it has asked. Clones share them.
#[derive(Clone, Default)]
pub struct Frames(Rc<RefCell<Known>>);

#[derive(Default)]
struct Known {
    frames: Vec<FrameResult>,
    /// Their numbers.
    numbers: HashMap<FrameResult, usize>,
    /// The innermost activations of the stacks that were asked for.
    stacks: HashMap<(TraceId, CodePosition, StackId), Option<usize>>,
}

/// The call stack of an event.
pub(super) struct Stack {
    /// The number of its innermost activation, if it has any.
    pub(super) innermost: Option<usize>,
    /// That activation; one of which nothing is known, if there is none.
    pub(super) top: Frame,
}

impl Frames {
    /// The call stack of an event.
    pub(super) fn stack(&self, findings: &Findings<'_>, event: EventId) -> Stack {
        let (trace, symbols) = (findings.trace, findings.symbols);
        let (pc, stack) = (trace.pc(event), trace.stack(event));
        let top = symbols.along(pc, stack).find_map(|frames| frames.first().cloned());
        let top = top.unwrap_or_default();
        let mut known = self.0.borrow_mut();
        let key = (trace.id(), pc, stack);
        if let Some(&innermost) = known.stacks.get(&key) {
            return Stack { innermost, top };
        }
        let mut innermost = None;
        for frame in symbols.stack(pc, stack).into_iter().rev() {
            innermost = Some(known.number(frame, innermost));
        }
        known.stacks.insert(key, innermost);
        Stack { innermost, top }
    }
}

impl Known {
    fn number(&mut self, frame: Frame, caller: Option<usize>) -> usize {
        let (module, offset) = frame.module.unzip();
        let frame = FrameResult {
            function: frame.function,
            file: frame.file,
            line: frame.line,
            module,
            offset: offset.map(|offset| format!("{offset:#x}")),
            caller,
        };
        if let Some(&number) = self.numbers.get(&frame) {
            return number;
        }
        let number = self.frames.len();
        self.frames.push(frame.clone());
        self.numbers.insert(frame, number);
        number
    }
}

impl Serialize for Frames {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.borrow().frames.serialize(serializer)
    }
}
