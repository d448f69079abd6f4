//! Call stacks as numbers: a stack is a call site on top of another stack, and has a number of its
//! own from its first use on.
//!
//! Calls come often, and mostly from where the last one on the same stack came from, so the common
//! path is one comparison; only new stacks take memory.

use super::send;
use crate::hash::Table;
use recorder_ring::Row;
use std::vec::Vec;

/// A stack. `recent` are the two that were entered from it last, the latest first.
#[derive(Clone, Copy)]
struct Stack {
    call_site: u64,
    parent: u32,
    recent: [u32; 2],
}

/// All stacks so far; number 0 is the empty one.
pub struct Calls {
    stacks: Vec<Stack>,
    /// Numbers by parent and call site.
    known: Table<(u32, u64), u32>,
}

impl Calls {
    pub const fn new() -> Self {
        Self {
            stacks: Vec::new(),
            known: Table::with_hasher(crate::hash::Build),
        }
    }

    /// The stack with one more frame.
    #[inline(always)]
    pub fn enter(&mut self, stack: u32, call_site: u64) -> u32 {
        match self.stacks.get(stack as usize) {
            Some(&Stack { recent, .. }) if self.is_entered(recent[0], stack, call_site) => recent[0],
            _ => self.enter_another(stack, call_site),
        }
    }

    /// Whether stack `number` is `stack` with this frame more.
    #[inline(always)]
    fn is_entered(&self, number: u32, stack: u32, call_site: u64) -> bool {
        let child = self.stacks.get(number as usize);
        number != 0 && child.is_some_and(|child| child.call_site == call_site && child.parent == stack)
    }

    #[cold]
    #[inline(never)]
    fn enter_another(&mut self, stack: u32, call_site: u64) -> u32 {
        if self.stacks.is_empty() {
            self.stacks.push(Stack {
                call_site: 0,
                parent: 0,
                recent: [0; 2],
            });
        }
        let [latest, before] = self.stacks[stack as usize].recent;
        if self.is_entered(before, stack, call_site) {
            // Two that take turns, as in most recursions.
            self.stacks[stack as usize].recent = [before, latest];
            return before;
        }
        let next = self.stacks.len() as u32;
        let number = *self.known.entry((stack, call_site)).or_insert(next);
        if number == next {
            self.stacks.push(Stack {
                call_site,
                parent: stack,
                recent: [0; 2],
            });
            send(Row::Stack {
                parent: stack,
                call_site,
            });
        }
        self.stacks[stack as usize].recent = [number, latest];
        number
    }

    /// Numbers all stacks anew, for another trace; the new number of one.
    pub fn start_over(&mut self, stack: u32) -> u32 {
        let old = std::mem::replace(self, Self::new());
        let frame = |number: &u32| old.stacks.get(*number as usize).map(|stack| stack.parent);
        let numbers = std::iter::successors(Some(stack), frame).take_while(|&number| number != 0);
        let sites: Vec<u64> = numbers.map(|number| old.stacks[number as usize].call_site).collect();
        sites.iter().rev().fold(0, |stack, &site| self.enter(stack, site))
    }

    /// The stack without its innermost frame; the empty stack stays empty.
    #[inline(always)]
    pub fn leave(&self, stack: u32) -> u32 {
        self.stacks.get(stack as usize).map_or(0, |stack| stack.parent)
    }
}
