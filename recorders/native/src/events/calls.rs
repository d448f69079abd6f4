//! Call stacks as numbers: a stack is a call site on top of another stack, and has a number of its
//! own from its first use on.
//!
//! Calls come often, and mostly from where the last one on the same stack came from, so the common
//! path is one comparison; only new stacks take memory.

use super::send;
use crate::hash::Table;
use recorder_ring::Row;
use std::vec::Vec;

/// A stack. `recent` is the one that was entered from it last.
#[derive(Clone, Copy)]
struct Stack {
    call_site: u64,
    parent: u32,
    recent: u32,
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
        if let Some(&Stack { recent, .. }) = self.stacks.get(stack as usize)
            && let Some(child) = self.stacks.get(recent as usize)
            && child.call_site == call_site
            && child.parent == stack
            && recent != 0
        {
            return recent;
        }
        self.enter_another(stack, call_site)
    }

    #[cold]
    #[inline(never)]
    fn enter_another(&mut self, stack: u32, call_site: u64) -> u32 {
        if self.stacks.is_empty() {
            self.stacks.push(Stack {
                call_site: 0,
                parent: 0,
                recent: 0,
            });
        }
        let next = self.stacks.len() as u32;
        let number = *self.known.entry((stack, call_site)).or_insert(next);
        if number == next {
            self.stacks.push(Stack {
                call_site,
                parent: stack,
                recent: 0,
            });
            send(Row::Stack {
                parent: stack,
                call_site,
            });
        }
        self.stacks[stack as usize].recent = number;
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
