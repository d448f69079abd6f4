//! Interns the call stacks of a recording, so that an event carries one small number.
//!
//! A stack is a call site on top of another stack. Calls and returns only move a thread along
//! this tree; nothing goes to the file but each stack once, however often it comes up.

use crate::event::{CodePosition, StackId};
use crate::tables::StackNode;
use std::collections::HashMap;

/// All stacks seen so far.
#[derive(Default)]
pub(crate) struct Stacks {
    /// By id − 1.
    nodes: Vec<StackNode>,
    /// The stack that was last entered from each stack, by id: a loop mostly calls what it called
    /// before, and the map need not be asked.
    recent: Vec<StackId>,
    children: HashMap<(StackId, CodePosition), StackId>,
}

impl Stacks {
    /// The stack with one more frame, and whether it is new.
    pub(crate) fn push(&mut self, parent: StackId, call_site: CodePosition) -> (StackId, bool) {
        let node = StackNode { parent, call_site };
        let recent = self.recent.get(parent.index()).copied().unwrap_or(StackId::EMPTY);
        if self.node(recent) == Some(&node) {
            return (recent, false);
        }
        let known = self.nodes.len();
        let child = *self.children.entry((parent, call_site)).or_insert_with(|| {
            // The nodes alone would fill 64 GiB of memory before this.
            StackId(u32::try_from(known + 1).expect("a trace has fewer than 2^32 different call stacks"))
        });
        let new = child.index() > known;
        if new {
            self.nodes.push(node);
        }
        if self.recent.len() <= parent.index() {
            self.recent.resize(parent.index() + 1, StackId::EMPTY);
        }
        self.recent[parent.index()] = child;
        (child, new)
    }

    /// The stack without its innermost frame; the empty stack stays empty.
    pub(crate) fn pop(&self, stack: StackId) -> StackId {
        self.node(stack).map_or(StackId::EMPTY, |node| node.parent)
    }

    fn node(&self, id: StackId) -> Option<&StackNode> {
        self.nodes.get(id.index().checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_path_is_the_same_stack() {
        let mut stacks = Stacks::default();
        let (main, new) = stacks.push(StackId::EMPTY, 10);
        assert!(new);
        let (f, _) = stacks.push(main, 20);
        let (g, _) = stacks.push(main, 30);
        assert_ne!(f, g);
        assert_eq!(stacks.push(main, 20), (f, false));
        assert_eq!(stacks.push(main, 30), (g, false));
        assert_eq!(stacks.push(f, 20).0, StackId(4), "recursion is a deeper stack");
        assert_eq!(stacks.pop(f), main);
        assert_eq!(stacks.pop(main), StackId::EMPTY);
        assert_eq!(stacks.pop(StackId::EMPTY), StackId::EMPTY);
    }
}
