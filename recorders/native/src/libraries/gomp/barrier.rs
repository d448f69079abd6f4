//! Barriers of a team, which are over when all have come and no task is left.
//!
//! While it waits, a thread executes tasks. Its arrival is an event only when the barrier is over for it: the tasks
//! that it executed come before that, and nothing keeps them from having been executed before the others came.

use super::tasks;
use super::team::Member;
use crate::events::pending;
use crate::libraries::entry::entries;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::thread::NEVER;
use crate::scheduling::{baton, plan};
use recorder_ring::plan::kind;
use recorder_ring::{Record, Waits};

/// Waits for all of the team.
pub fn pass(inside: &RuntimeGuard, member: &Member, pc: usize) {
    let team = &member.team;
    if team.size == 1 {
        return;
    }
    let round = member.rounds.get() + 1;
    member.rounds.set(round);
    let all = round * team.size;
    team.arrived.set(team.arrived.get() + 1);
    let is_over = || team.arrived.get() >= all && team.outstanding.get() == 0;
    if is_over() {
        baton::wake(team.idle_key(), usize::MAX);
    }
    loop {
        inside.await_turn();
        if plan::is_next(inside.thread(), kind::BARRIER_ENTER) {
            break;
        }
        if let Some(task) = tasks::pick(inside, team, &[&|_| true], pc) {
            tasks::run(inside, member, &task, pc);
            continue;
        }
        if is_over() {
            break;
        }
        pending::waits(inside.thread(), Waits::Barrier, team.barrier as usize, pc, NEVER);
        baton::block(inside.thread(), team.idle_key(), NEVER);
    }
    team.entered.set(team.entered.get() + 1);
    let last = team.entered.get() == all;
    pending::push(Record::BarrierEnter {
        pc: pc as u64,
        barrier: team.barrier,
        last,
    });
    if last {
        baton::wake(team.exit_key(), usize::MAX);
    }
    while team.entered.get() < all {
        baton::block(inside.thread(), team.exit_key(), NEVER);
    }
    pending::push(Record::BarrierExit {
        pc: pc as u64,
        barrier: team.barrier,
        // Its threads do the team's other tasks there.
        attempt: true,
    });
}

entries! {
    GOMP_barrier() -> (), reg "rdi": |inside, pc| { pass(&inside, &super::member(&inside), pc); }
    GOMP_barrier_cancel() -> bool, reg "rdi": |inside, pc| {
        pass(&inside, &super::member(&inside), pc);
        false
    }
    GOMP_cancel(_which: libc::c_int, _wanted: bool) -> bool, reg "rdx": |inside, pc| { false }
    GOMP_cancellation_point(_which: libc::c_int) -> bool, reg "rsi": |inside, pc| { false }
}
