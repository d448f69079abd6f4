//! Instrumented functions that code which is not recorded called: a library that takes a function and calls it while
//! it holds a lock of its own, say. No event tells when that code is entered or left, but stacks tell by whom a
//! function was called.

use super::uninstrumented::Passing;
use trace_format::{CodePosition, StackId, Tables};

/// A module, and what its code may have done.
pub(super) type Suspected = (usize, Passing);

/// What both may have done: the module is that of the first.
pub(super) fn either(one: Option<Suspected>, other: Option<Suspected>) -> Option<Suspected> {
    match (one, other) {
        (Some((module, passing)), Some((_, more))) => Some((module, passing.or(more))),
        _ => one.or(other),
    }
}

/// The stacks of a trace, by who called what is on them.
#[derive(Debug)]
pub(super) struct CalledBack<'t> {
    tables: &'t Tables,
    /// By stack: what called its innermost function, if that is suspected.
    by: Vec<Option<Suspected>>,
    /// The same of any function on it.
    any: Vec<Option<Suspected>>,
    depth: Vec<u32>,
}

impl<'t> CalledBack<'t> {
    /// `suspected` tells of the code that a call site lies in. `None` if it called nothing.
    pub(super) fn of(
        tables: &'t Tables,
        suspected: &dyn Fn(CodePosition) -> Option<Suspected>,
    ) -> Option<CalledBack<'t>> {
        let by = tables.stacks.iter().map(|node| suspected(node.call_site));
        let by: Vec<Option<Suspected>> = std::iter::once(None).chain(by).collect();
        if by.iter().all(Option::is_none) {
            return None;
        }
        let (mut any, mut depth) = (vec![None; by.len()], vec![0; by.len()]);
        // Whoever is below has a smaller number.
        for (row, node) in (1..).zip(&tables.stacks) {
            any[row] = either(by[row], any[node.parent.index()]);
            depth[row] = depth[node.parent.index()] + 1;
        }
        Some(CalledBack { tables, by, any, depth })
    }

    /// What may have been done between two events of a thread that follow each other, given where they are: in what
    /// called the functions that were left and entered in between.
    pub(super) fn between(&self, before: (CodePosition, StackId), after: (CodePosition, StackId)) -> Option<Suspected> {
        let ((mut from, mut left), (mut to, mut entered)) = (before, after);
        let mut found = None;
        while left != entered {
            let (at, stack) = match self.depth[left.index()] >= self.depth[entered.index()] {
                true => (&mut from, &mut left),
                false => (&mut to, &mut entered),
            };
            found = either(found, self.by[stack.index()]);
            let Some(node) = self.tables.stack(*stack) else { break };
            (*at, *stack) = (node.call_site, node.parent);
        }
        // Who goes back in a function may also have left it, and come anew.
        match to <= from {
            true => either(found, self.any[left.index()]),
            false => found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::StackNode;

    #[test]
    fn what_called_the_functions_that_are_left_and_entered_may_have_done_something() {
        let node = |parent, call_site| StackNode {
            parent: StackId(parent),
            call_site,
        };
        // Code at 100 and above is a library's: it called what is on stack 2, on stack 1, and that called what is on 3.
        let tables = Tables {
            stacks: vec![node(0, 10), node(1, 105), node(2, 30), node(1, 12)],
            ..Tables::default()
        };
        let suspected = |at: CodePosition| (at >= 100).then_some((7, Passing::BOTH));
        let called_back = CalledBack::of(&tables, &suspected).expect("a library's call");
        let is_suspected = |before: (u64, u32), after: (u64, u32)| {
            let (before, after) = ((before.0, StackId(before.1)), (after.0, StackId(after.1)));
            called_back.between(before, after).is_some()
        };
        // Into the function, out of it, and through it.
        assert!(is_suspected((11, 1), (29, 2)) && is_suspected((29, 2), (11, 1)));
        assert!(is_suspected((11, 1), (40, 3)) && is_suspected((31, 2), (13, 4)));
        // On in it, and into what it calls; back in it, which may be another call.
        assert!(!is_suspected((28, 2), (29, 2)) && !is_suspected((29, 2), (40, 3)));
        assert!(is_suspected((29, 2), (28, 2)) && is_suspected((40, 3), (29, 2)));
        // Elsewhere, also back.
        assert!(!is_suspected((11, 1), (10, 1)) && !is_suspected((11, 1), (50, 4)));
        assert!(CalledBack::of(&tables, &|_| None).is_none());
    }
}
