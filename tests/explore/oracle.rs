//! What is true of a program: every schedule of it, one after another.

use crate::interpreter::position;
use crate::machine::{Half, History, Way, World};
use crate::program::{Instruction, Program};
use std::collections::{BTreeSet, HashSet};
use witness::explore::{Goal, Side, Waiting};

/// All that a program can do.
#[derive(Default, Debug)]
pub struct Truth {
    /// Every outcome of every history of every thread.
    pub branches: BTreeSet<History>,
    pub goals: BTreeSet<Goal>,
    /// Where threads stand that wait for each other for ever, whatever others do.
    pub entangled: BTreeSet<Vec<u64>>,
    /// Histories at whose end the program fails.
    pub failures: BTreeSet<History>,
    /// States.
    pub states: usize,
    /// Whether some thread may read what was freed.
    pub reads_freed: bool,
}

/// Everything, or `None` if that is more than `limit` states.
pub fn truth(program: &Program, limit: usize) -> Option<Truth> {
    let mut truth = Truth::default();
    let start = World::start(program);
    let mut met: HashSet<World> = HashSet::from([start.clone()]);
    let mut todo = vec![start];
    while let Some(world) = todo.pop() {
        truth.states += 1;
        truth.look(program, &world);
        for thread in 0..world.threads.len() {
            for way in world.ways(program, thread) {
                let mut after = world.clone();
                if let Some(performed) = after.step(program, thread, way) {
                    let entry = (performed.pc, performed.half, performed.result);
                    truth.branches.insert(world.threads[thread].history.then(entry));
                    truth.reads_freed |= performed.saw_freed;
                }
                if met.len() >= limit {
                    return None;
                }
                if met.insert(after.clone()) {
                    todo.push(after);
                }
            }
        }
    }
    Some(truth)
}

impl Truth {
    fn look(&mut self, program: &Program, world: &World) {
        let accesses: Vec<_> = (0..world.threads.len())
            .filter_map(|thread| Some((thread, world.access(program, thread)?)))
            .collect();
        let at = |thread: usize| {
            let thread = &world.threads[thread];
            position(thread.pc, thread.half)
        };
        for (index, (a, (cells, access))) in accesses.iter().enumerate() {
            for (b, (others, other)) in &accesses[index + 1..] {
                let common = cells.iter().any(|cell| others.contains(cell));
                if common && (access.writes || other.writes) && !(access.atomic && other.atomic) {
                    let side = |thread: usize| Side { position: at(thread) };
                    self.goals.insert(Goal::race(side(*a), side(*b)));
                }
            }
        }
        let mut fails = false;
        let mut waiting = Vec::new();
        let mut stands_still = true;
        let mut stuck = Vec::new();
        for (thread, me) in world.threads.iter().enumerate() {
            if me.ended {
                continue;
            }
            if program.code[me.pc] == Instruction::Fail && me.half != Half::Begin {
                self.failures.insert(me.history);
                fails = true;
            } else if world.ways(program, thread).is_empty() {
                stuck.push(thread);
                waiting.push(Waiting::At(at(thread)));
            } else if comes_round(program, world, thread) {
                waiting.push(Waiting::Spins);
            } else {
                stands_still = false;
            }
        }
        if stands_still && !fails && !waiting.is_empty() {
            waiting.sort_unstable();
            let main_ended = world.threads[0].ended;
            self.goals.insert(Goal::Deadlock { waiting, main_ended });
        }
        let mut waiting: Vec<u64> = entangled(program, world, stuck).into_iter().map(at).collect();
        waiting.sort_unstable();
        if !waiting.is_empty() {
            self.entangled.insert(waiting);
        }
    }
}

/// Of threads that cannot go on, the largest set in which each waits for one of the set, and is waited for by one.
fn entangled(program: &Program, world: &World, stuck: Vec<usize>) -> Vec<usize> {
    let mut set = stuck;
    loop {
        let waits_for = |by: usize, other: usize| world.waits_for(program, by, other);
        let kept: Vec<usize> = (set.iter().copied())
            .filter(|&one| {
                let mut others = set.iter();
                others.any(|&other| waits_for(one, other)) && set.iter().any(|&other| waits_for(other, one))
            })
            .collect();
        if kept.len() == set.len() {
            return kept;
        }
        set = kept;
    }
}

/// Whether a thread, alone, comes back to this very state.
fn comes_round(program: &Program, world: &World, thread: usize) -> bool {
    let mut now = world.clone();
    let mut met = HashSet::new();
    while met.insert(now.clone()) {
        match now.ways(program, thread)[..] {
            [Way::Only] => drop(now.step(program, thread, Way::Only)),
            _ => return false,
        }
        if now == *world {
            return true;
        }
    }
    false
}
