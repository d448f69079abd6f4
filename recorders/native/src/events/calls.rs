//! Call stacks as numbers: a stack is a call site on top of another stack, and has a number of its
//! own from its first use on.
//!
//! Calls come often, and mostly one that came shortly before, so the common path is one comparison; only new stacks
//! take memory.

use super::send;
use crate::platform::hash::Table;
use recorder_ring::Row;
use std::vec::Vec;

/// A stack.
#[derive(Clone, Copy)]
struct Stack {
    call_site: u64,
    parent: u32,
}

/// A stack with a frame more, and the number of what that is.
#[derive(Clone, Copy)]
struct Entered {
    call_site: u64,
    stack: u32,
    number: u32,
}

/// Calls that are remembered; a power of two.
const RECENT: usize = 256;

/// All stacks so far; number 0 is the empty one.
pub struct Calls {
    stacks: Vec<Stack>,
    /// Numbers by parent and call site.
    known: Table<(u32, u64), u32>,
    /// The latest of them, each in a place of its own by parent and call site.
    recent: [Entered; RECENT],
}

impl Calls {
    pub const fn new() -> Self {
        Self {
            stacks: Vec::new(),
            known: Table::with_hasher(crate::platform::hash::Build),
            // No call has site 0.
            recent: [Entered {
                call_site: 0,
                stack: 0,
                number: 0,
            }; RECENT],
        }
    }

    /// The stack with one more frame.
    #[inline(always)]
    pub fn enter(&mut self, stack: u32, call_site: u64) -> u32 {
        let recent = self.recent[place(stack, call_site)];
        if recent.call_site == call_site && recent.stack == stack {
            return recent.number;
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
            });
        }
        let next = self.stacks.len() as u32;
        let number = *self.known.entry((stack, call_site)).or_insert(next);
        if number == next {
            self.stacks.push(Stack {
                call_site,
                parent: stack,
            });
            send(Row::Stack {
                parent: stack,
                call_site,
            });
        }
        self.recent[place(stack, call_site)] = Entered {
            call_site,
            stack,
            number,
        };
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

/// Where a call is remembered.
#[inline(always)]
fn place(stack: u32, call_site: u64) -> usize {
    (stack ^ (call_site as u32 >> 2)) as usize % RECENT
}
