//! Teams: who executes a parallel region, and the threads that are kept for the next one.
//!
//! The end of a region is a barrier. Between regions a thread of the pool waits for work; getting it comes after
//! whatever its master did before.

use super::share::Share;
use super::tasks::Task;
use super::{Outlined, barrier, of, settings};
use crate::libraries::entry::entries;
use crate::libraries::order;
use crate::pthread;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::baton;
use crate::scheduling::thread::NEVER;
use core::cell::{Cell, RefCell};
use core::ffi::{c_uint, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use libc::pthread_attr_t;
use std::boxed::Box;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use super::single::Single;

/// The threads of a region.
pub struct Team {
    pub size: usize,
    /// Regions around the code, and those of them with more than one thread.
    pub level: usize,
    pub active: usize,
    /// The object that its barriers are in the trace, and the variables of its loops and its single blocks.
    pub barrier: u64,
    pub loops: u64,
    pub blocks: u64,
    /// How many have come to a barrier so far, and how many of these have found that it is over, since the region
    /// began.
    pub arrived: Cell<usize>,
    pub entered: Cell<usize>,
    /// Tasks that wait for a thread.
    pub ready: RefCell<VecDeque<Rc<Task>>>,
    /// Tasks that are not completed.
    pub outstanding: Cell<usize>,
    /// Loops, sections and single blocks that not all have left, by number.
    pub shares: RefCell<BTreeMap<u64, Rc<Share>>>,
    pub singles: RefCell<BTreeMap<u64, Rc<Single>>>,
}

/// A thread's part in a team.
pub struct Member {
    pub team: Rc<Team>,
    pub number: usize,
    /// What it is outside of the region.
    pub around: Option<Rc<Member>>,
    /// Barriers, shared loops and single blocks that it came to.
    pub rounds: Cell<usize>,
    pub shares: Cell<u64>,
    pub singles: Cell<u64>,
    /// The loop that it is in, how many pieces of it it had, and which one it has: see [`share`](super::share).
    pub share: RefCell<Option<Rc<Share>>>,
    pub trips: Cell<u64>,
    pub piece: Cell<Option<u64>>,
    pub in_order: Cell<bool>,
    /// The single block whose values it is to hand to the others.
    pub hands_on: RefCell<Option<Rc<Single>>>,
    pub task: RefCell<Rc<Task>>,
    /// How many threads its regions want.
    pub threads: Cell<usize>,
}

impl Team {
    fn new(size: usize, around: Option<&Member>) -> Rc<Team> {
        let (level, active) = around.map_or((0, 0), |around| {
            (around.team.level + 1, around.team.active + usize::from(size > 1))
        });
        Rc::new(Team {
            size,
            level,
            active,
            barrier: order::variable(),
            loops: order::variable(),
            blocks: order::variable(),
            arrived: Cell::new(0),
            entered: Cell::new(0),
            ready: RefCell::default(),
            outstanding: Cell::new(0),
            shares: RefCell::default(),
            singles: RefCell::default(),
        })
    }

    /// What those wait on who have nothing to do before a barrier is over.
    pub fn idle_key(&self) -> usize {
        ptr::from_ref(&self.arrived) as usize
    }

    /// What those wait on who have found that a barrier is over, until all have.
    pub fn exit_key(&self) -> usize {
        ptr::from_ref(&self.entered) as usize
    }
}

impl Member {
    fn new(team: &Rc<Team>, number: usize, around: Option<&Rc<Member>>, threads: usize) -> Rc<Member> {
        let is_final = around.is_some_and(|around| around.task.borrow().is_final);
        Rc::new(Member {
            team: team.clone(),
            number,
            around: around.cloned(),
            rounds: Cell::new(0),
            shares: Cell::new(0),
            singles: Cell::new(0),
            share: RefCell::default(),
            trips: Cell::new(0),
            piece: Cell::new(None),
            in_order: Cell::new(false),
            hands_on: RefCell::default(),
            task: RefCell::new(Task::implicit(is_final)),
            threads: Cell::new(threads),
        })
    }

    /// Of a thread outside of all regions.
    pub fn alone() -> Rc<Member> {
        Self::new(&Team::new(1, None), 0, None, settings::initial_threads())
    }
}

/// A thread of a pool.
pub struct Worker {
    work: RefCell<Option<Work>>,
    /// Nobody will have work for it any more.
    dismissed: Cell<bool>,
}

struct Work {
    member: Rc<Member>,
    function: Outlined,
    argument: *mut c_void,
    /// Found set when it begins.
    given: u64,
    pc: usize,
}

impl Worker {
    fn key(&self) -> usize {
        ptr::from_ref(self) as usize
    }
}

/// The life of a thread of a pool.
unsafe extern "C-unwind" fn live(worker: *mut c_void) -> *mut c_void {
    // SAFETY: `hire` passes a worker, which lives for ever.
    let worker: &'static Worker = unsafe { &*worker.cast_const().cast() };
    let Some(inside) = RuntimeGuard::enter_and_stay() else {
        return ptr::null_mut();
    };
    loop {
        let Some(work) = worker.work.take() else {
            if worker.dismissed.get() {
                return ptr::null_mut();
            }
            baton::block(inside.thread(), worker.key(), NEVER);
            continue;
        };
        order::find_set(work.given, work.pc);
        // SAFETY: what the program passed for its region.
        unsafe { take_part(&inside, work.member, work.function, work.argument, work.pc) };
    }
}

/// Executes a region as a member of its team, up to its end.
unsafe fn take_part(inside: &RuntimeGuard, member: Rc<Member>, function: Outlined, argument: *mut c_void, pc: usize) {
    let of = of(inside);
    let before = of.member.replace(member.clone());
    // SAFETY: promised by the caller.
    inside.in_program(|| unsafe { function(argument) });
    barrier::pass(inside, &member, pc);
    of.member.replace(before);
}

/// Makes the pool larger; false if there can be no more threads.
fn hire(inside: &RuntimeGuard, pc: usize) -> bool {
    let worker: &'static Worker = Box::leak(Box::new(Worker {
        work: RefCell::new(None),
        dismissed: Cell::new(false),
    }));
    let mut handle = 0;
    let mut attributes = MaybeUninit::<pthread_attr_t>::uninit();
    // SAFETY: the attributes are initialized first; a worker lives for ever.
    let result = inside.in_program(|| unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        libc::pthread_attr_setdetachstate(attributes.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED);
        let argument = ptr::from_ref(worker).cast_mut().cast();
        pthread::thread::create(&raw mut handle, attributes.as_ptr(), live, argument, pc)
    });
    if result == 0 {
        of(inside).pool.borrow_mut().push(worker);
    }
    result == 0
}

/// The calling thread is about to end: its pool ends, too.
pub fn dismiss_workers(inside: &RuntimeGuard) {
    if inside.openmp.get().is_null() {
        return;
    }
    for worker in of(inside).pool.take() {
        worker.dismissed.set(true);
        baton::wake(worker.key(), 1);
    }
}

/// How many threads a region gets that asks for `wanted`; 0 if it does not ask.
fn size(inside: &RuntimeGuard, around: &Member, wanted: usize, pc: usize) -> usize {
    let wanted = if wanted == 0 { around.threads.get() } else { wanted };
    if wanted <= 1 || around.team.active >= settings::max_active_levels() {
        return 1;
    }
    let of = of(inside);
    let idle = || of.pool.borrow().len() - of.busy.get();
    while idle() + 1 < wanted && hire(inside, pc) {}
    wanted.min(idle() + 1)
}

/// Executes a region. All come to its end with it; `share` is the loop that it consists of.
///
/// # Safety
/// The function takes the argument.
pub unsafe fn parallel(
    inside: &RuntimeGuard,
    function: Outlined,
    argument: *mut c_void,
    wanted: c_uint,
    share: impl FnOnce() -> Option<Share>,
    pc: usize,
) {
    let around = super::member(inside);
    let team = Team::new(size(inside, &around, wanted as usize, pc), Some(&around));
    let share = share().map(|mut share| {
        share.counter = team.loops;
        Rc::new(share)
    });
    if let Some(share) = &share {
        team.shares.borrow_mut().insert(0, share.clone());
    }
    let member = |number| {
        let member = Member::new(&team, number, Some(&around), around.threads.get());
        if let Some(share) = &share {
            member.shares.set(1);
            member.share.replace(Some(share.clone()));
        }
        member
    };
    let of = of(inside);
    let busy = of.busy.replace(of.busy.get() + team.size - 1);
    for number in 1..team.size {
        let worker = of.pool.borrow()[busy + number - 1];
        let given = order::variable();
        order::set(given, pc);
        worker.work.replace(Some(Work {
            member: member(number),
            function,
            argument,
            given,
            pc,
        }));
        baton::wake(worker.key(), 1);
    }
    // SAFETY: promised by the caller.
    unsafe { take_part(inside, member(0), function, argument, pc) };
    of.busy.set(busy);
}

entries! {
    GOMP_parallel(function: Outlined, argument: *mut c_void, threads: c_uint, _flags: c_uint) -> (), reg "r8": |inside, pc| {
        parallel(&inside, function, argument, threads, || None, pc);
    }
    GOMP_parallel_reductions(_function: Outlined, _argument: *mut c_void, _threads: c_uint, _flags: c_uint) -> c_uint, reg "r8":
        |inside, pc| { super::refuse("a reduction of tasks (GOMP_parallel_reductions)") }
}
