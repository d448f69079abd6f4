//! Futexes, by their system calls: what C++'s atomic waits and Rust's locks are made of.
//!
//! Waiting happens in the scheduler, like all waiting; the words that are waited on are ordinary
//! atomics of the program and recorded as such. What a call returns has to stay true in every
//! reordering, or a program that looks at the result would go another way:
//!
//! - A wait that returns 0 or fails with `EAGAIN` has compared the word: it is recorded as an
//!   atomic load of it, which sees the same value in every reordering. To return 0 without a wake is
//!   allowed at any time (futex(2): wake-ups may be spurious), to fail with `ETIMEDOUT` as well.
//! - A wake returns how many it woke, and whom it wakes depends on who waits, since when, with which mask.
//!   So that is recorded as a variable of its own, in addresses that no program has: a wait adds its
//!   [ticket], a wake takes off what it woke, a wait that ends by itself takes itself off, and what is
//!   moved to another word goes from one variable to the other. And who was woken loads a second one, which
//!   the wake has stored, so that it goes on after the wake only; whose time is over finds there that no wake was for it.
//! - A thread compares and begins to wait at once for all that wake: the system holds a lock meanwhile, and so does who
//!   wakes. That is a lock of the trace's, too, at the address of the word's variable. It orders no memory.
//! - `FUTEX_WAKE_OP` changes a word before it wakes: that is one atomic operation.
//!
//! Futexes that say that they may be shared with other processes are like any other if their word lies in memory that
//! is not; else they go to the kernel, after the comparison. So do those that inherit priorities.

use crate::events::lock::{ALONE, Lock};
use crate::events::pending;
use crate::libraries::glib;
use crate::platform::memory::{self, NOBODYS};
use crate::platform::{real, shared_memory, sys};
use crate::runtime::guard::{RuntimeGuard, restore_errno};
use crate::scheduling::thread::{FutexWait, NEVER, Thread, Woken};
use crate::scheduling::{baton, clocks, plan};
use core::cell::Cell;
use core::slice;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::SeqCst;
use libc::{c_int, c_long, timespec};
use recorder_ring::{ObjectClass, Record, Waits};
use std::vec::Vec;

/// What a thread waits for that waits for several words.
const SEVERAL: usize = 1;

/// So many words may one thread wait for: futex_waitv(2).
const MOST_WORDS: usize = 128;

/// One of several words that a thread waits for, as futex_waitv(2) has it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Waiter {
    expected: u64,
    word: u64,
    flags: u32,
    reserved: u32,
}

/// The words that a thread waits for that waits for several.
fn words(thread: &Thread) -> &'static [Waiter] {
    match thread.futex.words.get() {
        (_, 0) => &[],
        // SAFETY: the thread is in its call, to which the program has given them, readable and aligned.
        (first, count) => unsafe { slice::from_raw_parts(first as *const Waiter, count) },
    }
}

/// An operation on a futex.
#[derive(Clone, Copy)]
struct Call {
    /// What is to be done, with its flags.
    operation: c_int,
    word: usize,
    value: u32,
    /// A time, or how many are moved or woken at the second word.
    limit: usize,
    second: usize,
    third: u32,
    pc: usize,
}

/// `syscall` with the number of a futex's call; the return address is passed behind the last argument.
pub unsafe extern "C-unwind" fn system_call(
    number: c_long,
    word: usize,
    operation: usize,
    value: usize,
    limit: usize,
    second: usize,
    third: usize,
    pc: usize,
) -> c_long {
    // SAFETY: the program's own arguments.
    let real = || unsafe { real::syscall(number, word, operation, value, limit, second, third) };
    if number == libc::SYS_futex_waitv {
        return wait_for_several(word, operation, value, limit, second as c_int, pc, real);
    }
    let call = Call {
        operation: operation as c_int,
        word,
        value: value as u32,
        limit,
        second,
        third: third as u32,
        pc,
    };
    call.perform(real)
}

impl Call {
    /// What is to be done, without its flags.
    fn command(&self) -> c_int {
        self.operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME)
    }

    fn waits(&self) -> bool {
        matches!(self.command(), libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET)
    }

    /// Whether it uses a second word.
    fn has_second(&self) -> bool {
        let commands = [libc::FUTEX_REQUEUE, libc::FUTEX_CMP_REQUEUE, libc::FUTEX_WAKE_OP];
        commands.contains(&self.command())
    }

    /// Which wakes a wait is for, and which waits a wake.
    fn mask(&self) -> u32 {
        match self.command() {
            libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAKE_BITSET => self.third,
            _ => FutexWait::ALL,
        }
    }

    /// Whether the kernel would refuse it.
    fn is_refused(&self) -> bool {
        let no_number = |value: u32| (value as c_int) < 0;
        let is_word = |word: usize| word.is_multiple_of(4) && is_there::<u32>(word);
        if self.waits() {
            self.mask() == 0 || !is_word(self.word) || self.limit != 0 && !is_there::<timespec>(self.limit)
        } else if self.has_second() {
            let compares = self.command() != libc::FUTEX_WAKE_OP;
            !is_word(self.word)
                || !is_word(self.second)
                || compares && (no_number(self.value) || no_number(self.limit as u32))
                || !compares && !Change(self.third).is_known()
        } else {
            self.mask() == 0 || !self.word.is_multiple_of(4)
        }
    }

    fn perform(self, real: impl Fn() -> c_long) -> c_long {
        let wakes = matches!(self.command(), libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET);
        if self.waits() && self.is_refused() {
            return real();
        }
        let modelled = self.waits() || wakes || self.has_second();
        let private = self.operation & libc::FUTEX_PRIVATE_FLAG != 0
            || modelled
                && shared_memory::is_private(self.word)
                && (!self.has_second() || shared_memory::is_private(self.second));
        if !private && !self.waits() || self.is_refused() {
            // No event: a wake belongs to what its thread did last. To stop before it would leave somebody
            // asleep whose turn it is.
            return match RuntimeGuard::enter_and_stay() {
                // Never blocks. Without the baton, what others do meanwhile would depend on how long it takes.
                Some(_inside) if wakes => real(),
                Some(inside) => inside.outside(real),
                None => real(),
            };
        }
        if private && (self.waits() || wakes) && glib::waits::is_own(self.pc) {
            let done = if self.waits() {
                glib::waits::wait(self.word, self.value, self.deadline())
            } else {
                glib::waits::wake(self.word, self.value as c_int)
            };
            return done.unwrap_or_else(real);
        }
        let Some(inside) = RuntimeGuard::enter() else {
            return real();
        };
        if !private {
            if compare(self.word, self.pc) != self.value {
                return fail(libc::EAGAIN);
            }
            // Along a plan, a wake-up without a cause, which is always allowed: the thread looks at the word
            // again when it is its turn, whether or not the wake comes before that.
            return if plan::is_followed() { 0 } else { inside.outside(real) };
        }
        match self.command() {
            libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => self.wait(&inside),
            libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => self.wake(self.word, self.value),
            libc::FUTEX_REQUEUE => self.requeue(None),
            libc::FUTEX_CMP_REQUEUE => self.requeue(Some(self.third)),
            libc::FUTEX_WAKE_OP => self.change_and_wake(),
            _ => inside.outside(real),
        }
    }

    /// When a wait ends, on the monotonic clock. The time is there, if one is given.
    fn deadline(&self) -> i64 {
        let absolute = self.command() == libc::FUTEX_WAIT_BITSET;
        let clock = match self.operation & libc::FUTEX_CLOCK_REALTIME {
            0 => libc::CLOCK_MONOTONIC,
            _ => libc::CLOCK_REALTIME,
        };
        match memory::at(self.limit as *const timespec) {
            None => NEVER,
            Some(time) if absolute => clocks::deadline(clock, sys::nanos(&time)),
            Some(time) => clocks::deadline_in(sys::nanos(&time)),
        }
    }

    fn wait(&self, inside: &RuntimeGuard) -> c_long {
        let (thread, mask, pc) = (inside.thread(), self.mask(), self.pc);
        let deadline = self.deadline();
        loop {
            let ticket = ticket(thread, waiting(self.word), mask);
            if !begins_to_wait(self.word, self.value, ticket, pc) {
                return fail(libc::EAGAIN);
            }
            pending::waits(thread, Waits::Futex, self.word, pc, deadline);
            thread.futex.mask.set(mask);
            thread.futex.ticket.set(ticket);
            thread.futex.is_timed.set(deadline != NEVER);
            let woken = block(thread, self.word, deadline);
            thread.futex.mask.set(FutexWait::ALL);
            look_for_call(thread, woken, deadline, pc);
            if woken == Woken::Thread {
                return 0;
            }
            // Somebody may have moved it to another word.
            take_off(thread.key.get(), ticket, pc);
            if let Some(failed) = gave_up(woken, deadline) {
                return failed;
            }
        }
    }

    /// Wakes up to `most` of those that wait for a word.
    fn wake(&self, word: usize, most: u32) -> c_long {
        let mut several = Vec::new();
        let woken = locked([word; 2], self.pc, || self.wake_locked(word, most, &mut several));
        self.take_off_others(&several);
        woken
    }

    /// The same, with the lock held. Who waited for others of `several` words still does.
    fn wake_locked(&self, word: usize, most: u32, several: &mut Vec<(usize, &'static Thread)>) -> c_long {
        // The kernel wakes one where none is asked for.
        let most = (most as c_int).max(1);
        let (mask, pc) = (self.mask(), self.pc);
        let mut woken = 0;
        while woken < most {
            let before = waiting(word);
            // As the kernel does. A live run cannot be told of another one.
            let found = baton::wake_longest(word, |thread| thread.futex.mask.get() & mask != 0)
                .or_else(|| baton::wake_longest(SEVERAL, |thread| place_of(word, thread).is_some()));
            let Some(thread) = found else {
                modify(waiters(word), before, before, pc);
                break;
            };
            let ticket = thread.futex.ticket.get();
            modify(waiters(word), before, before.wrapping_sub(ticket), pc);
            let calls = calls(thread).replace(calls(thread).get() + 1);
            modify(call_for(thread), calls, calls + 1, pc);
            if let Some(at) = place_of(word, thread) {
                thread.futex.woken_at.set(at);
                several.push((word, thread));
            }
            woken += 1;
        }
        woken.into()
    }

    /// Takes those off that were woken at one of several words, and wait for the others no more. The system lets them do
    /// that themselves, later.
    fn take_off_others(&self, several: &[(usize, &'static Thread)]) {
        for &(word, thread) in several {
            let others = distinct(words(thread)).filter(|&other| other != word);
            others.for_each(|other| take_off(other, thread.futex.ticket.get(), self.pc));
        }
    }

    /// Wakes some of those that wait for the word, and lets others of them wait for the second one, if the word is as
    /// expected.
    fn requeue(&self, expected: Option<u32>) -> c_long {
        let mut several = Vec::new();
        let woken = locked([self.word, self.second], self.pc, || {
            if expected.is_some_and(|expected| compare(self.word, self.pc) != expected) {
                return None;
            }
            let woken = match self.value {
                0 => 0,
                most => self.wake_locked(self.word, most, &mut several),
            };
            Some(woken + self.move_locked())
        });
        self.take_off_others(&several);
        woken.unwrap_or_else(|| fail(libc::EAGAIN))
    }

    /// Lets those that wait for the word wait for the second one, as many as are asked for; how many.
    fn move_locked(&self) -> c_long {
        let (before, before_there) = (waiting(self.word), waiting(self.second));
        let (mut tickets, mut moved) = (0_u32, 0);
        baton::requeue(self.word, self.second, self.limit as u32 as usize, |thread| {
            tickets = tickets.wrapping_add(thread.futex.ticket.get());
            moved += 1;
        });
        let left = before.wrapping_sub(tickets);
        modify(waiters(self.word), before, left, self.pc);
        let there = if self.second == self.word { left } else { before_there };
        modify(waiters(self.second), there, there.wrapping_add(tickets), self.pc);
        moved
    }

    /// Changes the second word, wakes those that wait for the first, and if the second was as it should be, those that
    /// wait for it.
    fn change_and_wake(&self) -> c_long {
        let change = Change(self.third);
        let mut several = Vec::new();
        let woken = locked([self.word, self.second], self.pc, || {
            // SAFETY: the program's own word, aligned and there.
            let word = unsafe { AtomicU32::from_ptr(self.second as *mut u32) };
            let found = word
                .fetch_update(SeqCst, SeqCst, |found| Some(change.of(found)))
                .unwrap_or_default();
            modify_ordered(self.second as u64, found, change.of(found), SEQ_CST, self.pc);
            let woken = self.wake_locked(self.word, self.value, &mut several);
            match change.holds(found) {
                true => woken + self.wake_locked(self.second, self.limit as u32, &mut several),
                false => woken,
            }
        });
        self.take_off_others(&several);
        woken
    }
}

/// What `FUTEX_WAKE_OP` does with a word: four bits for the operation, four for the comparison, twelve for the operand
/// of each.
#[derive(Clone, Copy)]
struct Change(u32);

impl Change {
    fn is_known(self) -> bool {
        let (operation, comparison) = (self.0 >> 28 & 7, self.0 >> 24 & 15);
        operation <= 4 && comparison <= 5
    }

    fn signed(bits: u32) -> i32 {
        (bits << 20) as i32 >> 20
    }

    /// What becomes of the word.
    fn of(self, found: u32) -> u32 {
        const SHIFT: u32 = 8;
        let operand = Change::signed(self.0 >> 12) as u32;
        let operation = self.0 >> 28;
        let operand = if operation & SHIFT == 0 {
            operand
        } else {
            1 << (operand & 31)
        };
        match operation & 7 {
            0 => operand,
            1 => found.wrapping_add(operand),
            2 => found | operand,
            3 => found & !operand,
            _ => found ^ operand,
        }
    }

    /// Whether the word was as it should be.
    fn holds(self, found: u32) -> bool {
        let (found, operand) = (found as i32, Change::signed(self.0));
        match self.0 >> 24 & 15 {
            0 => found == operand,
            1 => found != operand,
            2 => found < operand,
            3 => found <= operand,
            4 => found > operand,
            _ => found >= operand,
        }
    }
}

/// `futex_waitv`: waits for one of several words.
fn wait_for_several(
    first: usize,
    count: usize,
    flags: usize,
    limit: usize,
    clock: c_int,
    pc: usize,
    real: impl Fn() -> c_long,
) -> c_long {
    const OF_32_BITS: u32 = 2;
    let private = libc::FUTEX_PRIVATE_FLAG as u32;
    let is_ours = |waiter: &Waiter| {
        let word = waiter.word as usize;
        let is_private = || waiter.flags & private != 0 || shared_memory::is_private(word);
        waiter.flags & !private == OF_32_BITS
            && waiter.reserved == 0
            && word.is_multiple_of(4)
            && is_there::<u32>(word)
            && is_private()
    };
    let len = count.saturating_mul(size_of::<Waiter>());
    let readable = (1..=MOST_WORDS).contains(&count) && first.is_multiple_of(8) && memory::readable(first, len) == len;
    let known_clock = [libc::CLOCK_MONOTONIC, libc::CLOCK_REALTIME].contains(&clock);
    let in_time = limit == 0 || known_clock && is_there::<timespec>(limit);
    let all: &[Waiter] = match readable {
        // SAFETY: readable and aligned, as long as the program does not give it back.
        true => unsafe { slice::from_raw_parts(first as *const Waiter, count) },
        false => &[],
    };
    if all.is_empty() || flags != 0 || !in_time || !all.iter().all(is_ours) {
        return match RuntimeGuard::enter_and_stay() {
            Some(inside) => inside.outside(real),
            None => real(),
        };
    }
    let Some(inside) = RuntimeGuard::enter() else {
        return real();
    };
    let thread = inside.thread();
    let deadline =
        memory::at(limit as *const timespec).map_or(NEVER, |time| clocks::deadline(clock, sys::nanos(&time)));
    loop {
        // Among those that wait for several words, it does not say who came first.
        let ticket = ticket(thread, 0, FutexWait::ALL);
        let begins = |at: usize| {
            let (word, expected) = (all[at].word as usize, all[at].expected as u32);
            match is_first(all, at) {
                true => begins_to_wait(word, expected, ticket, pc),
                false => compare(word, pc) == expected,
            }
        };
        if let Some(failed) = (0..count).find(|&at| !begins(at)) {
            distinct(&all[..failed]).for_each(|word| take_off(word, ticket, pc));
            return fail(libc::EAGAIN);
        }
        pending::waits(thread, Waits::Futex, all[0].word as usize, pc, deadline);
        thread.futex.ticket.set(ticket);
        thread.futex.is_timed.set(deadline != NEVER);
        thread.futex.words.set((first, count));
        let woken = block(thread, SEVERAL, deadline);
        thread.futex.words.set((0, 0));
        look_for_call(thread, woken, deadline, pc);
        if woken == Woken::Thread {
            return thread.futex.woken_at.get() as c_long;
        }
        distinct(all).for_each(|word| take_off(word, ticket, pc));
        if let Some(failed) = gave_up(woken, deadline) {
            return failed;
        }
    }
}

/// Waits until somebody wakes the thread.
fn block(thread: &'static Thread, key: usize, deadline: i64) -> Woken {
    thread.interruptible.set(true);
    let woken = baton::block(thread, key, deadline);
    thread.interruptible.set(false);
    woken
}

/// What a wait returns that nobody woke; `None` if it begins again, which only signal handlers interrupted.
fn gave_up(woken: Woken, deadline: i64) -> Option<c_long> {
    match woken {
        Woken::Restart if deadline == NEVER => None,
        Woken::Deadline => {
            clocks::waited_until(deadline);
            Some(fail(libc::ETIMEDOUT))
        }
        _ => Some(fail(libc::EINTR)),
    }
}

/// Whether a `T` is where the program says that one is.
fn is_there<T>(addr: usize) -> bool {
    addr != 0 && memory::readable(addr, size_of::<T>()) == size_of::<T>()
}

fn fail(errno: c_int) -> c_long {
    restore_errno(errno);
    -1
}

/// The variable that holds who waits for a word: the sum of their tickets.
fn waiters(word: usize) -> u64 {
    word as u64 | NOBODYS
}

/// What a thread adds to the variable of a word that it is about to wait for: all but certainly, the sums are the same
/// only where the same threads wait with the same masks, and came in the same order.
fn ticket(thread: &Thread, before: u32, mask: u32) -> u32 {
    // The constants of MurmurHash3 (Appleby).
    [thread.index.get(), mask].iter().fold(before, |hash, &part| {
        let mixed = (hash ^ part).wrapping_add(1).wrapping_mul(0x85eb_ca6b);
        let mixed = (mixed ^ mixed >> 13).wrapping_mul(0xc2b2_ae35);
        mixed ^ mixed >> 16
    })
}

/// The tickets of all that wait for a word.
fn waiting(word: usize) -> u32 {
    let mut sum = 0_u32;
    let mut add = |thread: &Thread| sum = sum.wrapping_add(thread.futex.ticket.get());
    baton::each_blocked(word, &mut add);
    baton::each_blocked(SEVERAL, |thread| {
        if place_of(word, thread).is_some() {
            add(thread);
        }
    });
    sum
}

/// Which of the words it is that a thread waits for, if for several.
fn place_of(word: usize, thread: &Thread) -> Option<usize> {
    words(thread).iter().position(|other| other.word == word as u64)
}

/// Whether none of several waits before that one is for the same word.
fn is_first(all: &[Waiter], at: usize) -> bool {
    all[..at].iter().all(|before| before.word != all[at].word)
}

/// The words among several, each once.
fn distinct(all: &[Waiter]) -> impl Iterator<Item = usize> {
    let firsts = (0..all.len()).filter(|&at| is_first(all, at));
    firsts.map(|at| all[at].word as usize)
}

/// The variable that a wake stores to for a thread that it woke. Of a wait that has no limit, another one than of those
/// that end by themselves: what the thread finds there it finds only after a wake (`src/explore`).
fn call_for(thread: &Thread) -> u64 {
    // Behind all user space: never who waits for a word.
    NOBODYS | 1 << 62 | u64::from(thread.futex.is_timed.get()) << 39 | u64::from(thread.index.get()) << 3
}

/// What is in that variable.
fn calls(thread: &Thread) -> &Cell<u32> {
    match thread.futex.is_timed.get() {
        true => &thread.futex.calls_in_time,
        false => &thread.futex.calls,
    }
}

/// What a thread finds of wakes that were for it, as it goes on: of two ways to go on, this tells them apart. Who waits
/// without a limit goes on in one way only, but for signals.
fn look_for_call(thread: &Thread, woken: Woken, deadline: i64, pc: usize) {
    if woken == Woken::Thread || deadline != NEVER {
        load(call_for(thread), calls(thread).get(), pc);
    }
}

/// A thread does not wait for a word any more.
fn take_off(word: usize, ticket: u32, pc: usize) {
    let now = waiting(word);
    locked([word; 2], pc, || {
        modify(waiters(word), now.wrapping_add(ticket), now, pc)
    });
}

/// A thread compares a word with what it expects, and begins to wait if it is that. Whether it does.
fn begins_to_wait(word: usize, expected: u32, ticket: u32, pc: usize) -> bool {
    locked([word; 2], pc, || {
        let begins = compare(word, pc) == expected;
        if begins {
            let before = waiting(word);
            modify(waiters(word), before, before.wrapping_add(ticket), pc);
        }
        begins
    })
}

/// The lock that the system holds while a thread begins to wait for a word, and while one wakes those that do.
fn lock(word: usize) -> Lock {
    Lock::new(ObjectClass::SpinLock, waiters(word) as usize)
}

/// Does something with the locks of a word or two held, as the system takes them: by address, so that nobody waits for
/// another who waits for them.
fn locked<T>(words: [usize; 2], pc: usize, does: impl FnOnce() -> T) -> T {
    let [first, second] = [words[0].min(words[1]), words[0].max(words[1])];
    let both = [Some(first), Some(second).filter(|&second| second != first)];
    both.iter().flatten().for_each(|&word| lock(word).taken(ALONE, pc));
    let done = does();
    both.iter().rev().flatten().for_each(|&word| lock(word).given_back(pc));
    done
}

/// Orders of atomic operations, as the runtime of sanitizers numbers them.
const RELAXED: u8 = 0;
const SEQ_CST: u8 = 5;

fn modify(addr: u64, read: u32, written: u32, pc: usize) {
    modify_ordered(addr, read, written, RELAXED, pc);
}

fn modify_ordered(addr: u64, read: u32, written: u32, order: u8, pc: usize) {
    pending::push(Record::AtomicRmw {
        pc: pc as u64,
        addr,
        size: 4,
        order,
        read: read.into(),
        written: written.into(),
    });
}

fn load(addr: u64, value: u32, pc: usize) {
    pending::push(Record::AtomicLoad {
        pc: pc as u64,
        addr,
        size: 4,
        order: RELAXED,
        value: value.into(),
    });
}

/// What is in a word, as its thread compares it: a load, for other threads.
fn compare(word: usize, pc: usize) -> u32 {
    // SAFETY: the program's own word, aligned.
    let found = unsafe { AtomicU32::from_ptr(word as *mut u32) }.load(SeqCst);
    load(word as u64, found, pc);
    found
}
