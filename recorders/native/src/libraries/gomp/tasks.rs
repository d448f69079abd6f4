//! Tasks: which are to be executed, by whom, and what waits for them.
//!
//! A task comes after its creation and after the tasks that it depends on; what waits for it comes after it. Which task
//! a thread executes next is an `input` of it: any that is ready would do.

use super::depend::{self, Table};
use super::team::{Member, Team};
use super::{Outlined, block, member};
use crate::events::{pending, variable};
use crate::libraries::entry::entries;
use crate::libraries::order;
use crate::platform::memory;
use crate::runtime::guard::RuntimeGuard;
use crate::scheduling::thread::NEVER;
use crate::scheduling::{baton, plan};
use core::cell::{Cell, OnceCell, RefCell};
use core::ffi::{c_long, c_uint, c_void};
use core::ptr;
use libc::c_int;
use recorder_ring::plan::kind;
use recorder_ring::{Record, Waits};
use std::rc::{Rc, Weak};
use std::vec::Vec;

/// How a task copies the variables that it has for itself.
pub type Copy = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

pub const FINAL: c_uint = 1 << 1;
pub const DEPEND: c_uint = 1 << 3;
pub const DETACH: c_uint = 1 << 13;

/// A task; also what a thread does that executes none.
pub struct Task {
    id: u64,
    function: Option<Outlined>,
    /// Where its variables are, and the block that they are in, with its size.
    argument: Cell<*mut c_void>,
    memory: Cell<(*mut u8, usize)>,
    parent: Option<Rc<Task>>,
    /// The group that it belongs to, and that its own tasks will.
    pub group: RefCell<Option<Rc<Group>>>,
    /// All that it creates is executed at once.
    pub is_final: bool,
    created: u64,
    /// Set when it is completed; 0 if its creator executed it at once.
    pub done: u64,
    pub is_over: Cell<bool>,
    /// The tasks that it created: what they set, and how many are not completed.
    children: RefCell<Vec<u64>>,
    unfinished: Cell<usize>,
    /// Tasks that come before it: what they set, and how many are not completed; and those that come after it.
    pub before: RefCell<Vec<u64>>,
    pub blockers: Cell<usize>,
    pub successors: RefCell<Vec<Rc<Task>>>,
    /// What its own tasks depend on.
    pub table: RefCell<Table>,
    /// If it is completed only when its event is fulfilled, too.
    detached: OnceCell<Detached>,
}

/// A task that is completed when it was executed and its event was fulfilled, whichever comes first.
struct Detached {
    /// Where it is awaited: whoever fulfills the event may be in another team, or in none.
    team: Weak<Team>,
    /// The variable that says how much of that is done, and how much is.
    variable: u64,
    parts: Cell<u64>,
}

/// What it is when both are done.
const BOTH: u64 = 2;

/// Tasks that are waited for together.
pub struct Group {
    /// Where the task waits that has begun it.
    awaited_at: usize,
    around: Option<Rc<Group>>,
    unfinished: Cell<usize>,
    done: RefCell<Vec<u64>>,
}

fn key_of<T>(of: &T) -> usize {
    ptr::from_ref(of) as usize
}

impl Task {
    fn new(function: Option<Outlined>, parent: Option<Rc<Task>>, is_final: bool) -> Task {
        let group = parent.as_ref().and_then(|parent| parent.group.borrow().clone());
        Task {
            id: 0,
            function,
            argument: Cell::new(ptr::null_mut()),
            memory: Cell::new((ptr::null_mut(), 0)),
            parent,
            group: RefCell::new(group),
            is_final,
            created: 0,
            done: 0,
            is_over: Cell::new(false),
            children: RefCell::default(),
            unfinished: Cell::new(0),
            before: RefCell::default(),
            blockers: Cell::new(0),
            successors: RefCell::default(),
            table: RefCell::default(),
            detached: OnceCell::new(),
        }
    }

    /// What a member of a team does from the start.
    pub fn implicit(is_final: bool) -> Rc<Task> {
        Rc::new(Self::new(None, None, is_final))
    }
}

/// What a task is made of, as the compiler says it.
#[derive(Clone, Copy)]
pub struct Body {
    pub function: Outlined,
    pub data: *mut c_void,
    pub copy: Option<Copy>,
    pub size: usize,
    pub alignment: usize,
    pub flags: c_uint,
    pub depend: *mut *mut c_void,
}

/// Copies the variables of a task into a block of its own.
unsafe fn give_variables(inside: &RuntimeGuard, task: &Task, body: &Body, fill: impl FnOnce(*mut c_void), pc: usize) {
    let size = body.size + body.alignment;
    let memory = block::obtain(size, pc);
    let argument = (memory as usize).next_multiple_of(body.alignment.max(1)) as *mut c_void;
    match body.copy {
        // SAFETY: the compiler made it for these two.
        Some(copy) => inside.in_program(|| unsafe { copy(argument, body.data) }),
        None => {
            // They lie on the creator's own stack, with gaps between them that nobody wrote: to read them is no event.
            // SAFETY: the program's variables, and room for them.
            unsafe { ptr::copy_nonoverlapping(body.data.cast::<u8>(), argument.cast(), body.size) };
            pending::write_range_now(argument as usize, body.size, pc);
        }
    }
    fill(argument);
    task.memory.set((memory, size));
    task.argument.set(argument);
}

/// Creates a task, and executes it unless it can wait.
///
/// # Safety
/// The body is the program's.
pub unsafe fn create(
    inside: &RuntimeGuard,
    member: &Member,
    body: &Body,
    may_wait: bool,
    event: *mut *mut c_void,
    fill: impl FnOnce(*mut c_void),
    pc: usize,
) {
    let parent = member.task.borrow().clone();
    let is_final = parent.is_final || body.flags & FINAL != 0;
    let waits = may_wait && !is_final && member.team.size > 1;
    let mut task = Task::new(Some(body.function), Some(parent.clone()), is_final);
    if waits {
        // The same in every order of events: the thread's number, and how many it created.
        task.id = u64::from(inside.index.get()) << 40 | order_of_creation(inside);
        (task.created, task.done) = (order::variable(), order::variable());
    }
    let task = Rc::new(task);
    if body.flags & DETACH != 0 {
        task.detached.get_or_init(|| Detached {
            team: Rc::downgrade(&member.team),
            variable: order::variable(),
            parts: Cell::new(0),
        });
        // SAFETY: the program's own variables, which get the event; it keeps the task until it is fulfilled.
        unsafe {
            let handle = Rc::into_raw(task.clone()).cast_mut().cast::<c_void>();
            for variable in [event, body.data.cast::<*mut c_void>()] {
                if !variable.is_null() {
                    variable.write(handle);
                    pending::write_range_now(variable as usize, size_of::<usize>(), pc);
                }
            }
        }
    }
    // SAFETY: promised by the caller.
    unsafe { give_variables(inside, &task, body, fill, pc) };
    if body.flags & DEPEND != 0 {
        // SAFETY: as above.
        unsafe { depend::enter(&parent, &task, body.depend, true) };
    }
    if !waits {
        await_before(inside, member, &task, pc);
        execute(inside, member, &task);
        come_to_part(inside, &member.team, &task, pc);
        if let Some(detached) = task.detached.get() {
            let key = key_of(&*task);
            help(inside, member, key, || task.is_over.get(), &[], pc);
            variable::load(detached.variable, BOTH, pc);
        }
        return;
    }
    parent.children.borrow_mut().push(task.done);
    parent.unfinished.set(parent.unfinished.get() + 1);
    if let Some(group) = &*task.group.borrow() {
        group.done.borrow_mut().push(task.done);
        group.unfinished.set(group.unfinished.get() + 1);
    }
    let team = &member.team;
    team.outstanding.set(team.outstanding.get() + 1);
    order::set(task.created, pc);
    if task.blockers.get() == 0 {
        make_ready(team, &task);
    }
}

/// How many tasks the thread created that could wait.
fn order_of_creation(inside: &RuntimeGuard) -> u64 {
    let count = inside.tasks.get() + 1;
    inside.tasks.set(count);
    count
}

fn make_ready(team: &Team, task: &Rc<Task>) {
    team.ready.borrow_mut().push_back(task.clone());
    baton::wake(team.idle_key(), 1);
    if let Some(parent) = &task.parent {
        baton::wake(key_of(&**parent), 1);
    }
    if let Some(group) = &*task.group.borrow() {
        baton::wake(group.awaited_at, 1);
    }
}

/// Which tasks a thread executes.
pub type Wanted<'w> = &'w dyn Fn(&Task) -> bool;

/// A task that is ready, for the calling thread to execute: one of those that are wanted first, or else next.
pub fn pick(inside: &RuntimeGuard, team: &Team, wanted: &[Wanted<'_>], pc: usize) -> Option<Rc<Task>> {
    let recorded = plan::input_after_load(inside.thread(), pc);
    if recorded.is_none() && plan::is_followed() {
        return None;
    }
    let mut ready = team.ready.borrow_mut();
    let at = match recorded {
        Some(id) => ready.iter().position(|task| task.id == id),
        None => wanted
            .iter()
            .find_map(|wanted| ready.iter().position(|task| wanted(task))),
    }?;
    let task = ready.remove(at)?;
    drop(ready);
    order::find_set(task.created, pc);
    pending::push(Record::Input {
        pc: pc as u64,
        source: memory::NOBODYS | 1 << 62 | 1 << 61 | u64::from(inside.index.get()) << 3,
        value: task.id,
    });
    Some(task)
}

/// Executes a task that was picked.
pub fn run(inside: &RuntimeGuard, member: &Member, task: &Rc<Task>, pc: usize) {
    for done in task.before.take() {
        order::find_set(done, pc);
    }
    execute(inside, member, task);
    come_to_part(inside, &member.team, task, pc);
}

/// A task was executed, or its event was fulfilled: it is completed unless the other is still to come.
fn come_to_part(inside: &RuntimeGuard, team: &Team, task: &Task, pc: usize) {
    let Some(detached) = task.detached.get() else {
        complete(inside, team, task, pc);
        return;
    };
    inside.await_turn();
    let before = detached.parts.get();
    detached.parts.set(before + 1);
    variable::step(detached.variable, before, pc);
    if before + 1 == BOTH {
        complete(inside, team, task, pc);
        baton::wake(key_of(task), usize::MAX);
    }
}

fn execute(inside: &RuntimeGuard, member: &Member, task: &Rc<Task>) {
    let before = member.task.replace(task.clone());
    if let Some(function) = task.function {
        let argument = task.argument.get();
        // SAFETY: what the program passed, or a copy that it made.
        inside.in_program(|| unsafe { function(argument) });
    }
    member.task.replace(before);
}

fn complete(inside: &RuntimeGuard, team: &Team, task: &Task, pc: usize) {
    let _ = inside;
    let (memory, size) = task.memory.replace((ptr::null_mut(), 0));
    if !memory.is_null() {
        // SAFETY: obtained for this task, which is over.
        unsafe { block::give_back(memory, size, pc) };
    }
    task.is_over.set(true);
    if task.done != 0 {
        order::set(task.done, pc);
    }
    for next in task.successors.take() {
        next.blockers.set(next.blockers.get() - 1);
        if next.blockers.get() == 0 && next.done != 0 {
            make_ready(team, &next);
        }
    }
    if let Some(parent) = &task.parent {
        if task.done != 0 {
            parent.unfinished.set(parent.unfinished.get() - 1);
        }
        baton::wake(key_of(&**parent), usize::MAX);
    }
    if task.done == 0 {
        return;
    }
    if let Some(group) = &*task.group.borrow() {
        group.unfinished.set(group.unfinished.get() - 1);
        baton::wake(group.awaited_at, usize::MAX);
    }
    team.outstanding.set(team.outstanding.get() - 1);
    if team.outstanding.get() == 0 {
        baton::wake(team.idle_key(), usize::MAX);
    }
}

/// Executes tasks until what the thread waits for has come.
fn help(
    inside: &RuntimeGuard,
    member: &Member,
    key: usize,
    is_over: impl Fn() -> bool,
    wanted: &[Wanted<'_>],
    pc: usize,
) {
    while !is_over() {
        inside.await_turn();
        let me = inside.thread();
        if plan::is_next(me, kind::ATOMIC_LOAD) && plan::input_after_load(me, pc).is_none() {
            if is_over() {
                return;
            }
            // The plan has the wait end before what it waits for, by a load that finds another value there. Nobody can do
            // that: who went on here would come after tasks that are not over.
            plan::leave();
            continue;
        }
        match pick(inside, &member.team, wanted, pc) {
            Some(task) => run(inside, member, &task, pc),
            None if is_over() => {}
            None => {
                pending::waits(inside.thread(), Waits::Tasks, key, pc, NEVER);
                baton::block(inside.thread(), key, NEVER);
            }
        }
    }
}

/// Waits for the tasks that come before one that the thread is to execute itself.
fn await_before(inside: &RuntimeGuard, member: &Member, task: &Task, pc: usize) {
    let parent = member.task.borrow().clone();
    let is_child = |other: &Task| other.parent.as_ref().is_some_and(|of| Rc::ptr_eq(of, &parent));
    help(
        inside,
        member,
        key_of(&*parent),
        || task.blockers.get() == 0,
        &[&is_child],
        pc,
    );
    for done in task.before.take() {
        order::find_set(done, pc);
    }
}

fn await_children(inside: &RuntimeGuard, member: &Member, pc: usize) {
    let parent = member.task.borrow().clone();
    let is_child = |other: &Task| other.parent.as_ref().is_some_and(|of| Rc::ptr_eq(of, &parent));
    help(
        inside,
        member,
        key_of(&*parent),
        || parent.unfinished.get() == 0,
        &[&is_child],
        pc,
    );
    for done in parent.children.take() {
        order::find_set(done, pc);
    }
    parent.table.borrow_mut().clear();
}

pub fn begin_group(member: &Member) {
    let task = member.task.borrow().clone();
    let around = task.group.take();
    task.group.replace(Some(Rc::new(Group {
        awaited_at: key_of(&*task),
        around,
        unfinished: Cell::new(0),
        done: RefCell::default(),
    })));
}

pub fn end_group(inside: &RuntimeGuard, member: &Member, pc: usize) {
    let task = member.task.borrow().clone();
    let Some(group) = task.group.take() else { return };
    let is_in = |other: &Task| other.group.borrow().as_ref().is_some_and(|of| Rc::ptr_eq(of, &group));
    // A task of the group may come after one that the same task has created before.
    let is_child = |other: &Task| other.parent.as_ref().is_some_and(|of| Rc::ptr_eq(of, &task));
    help(
        inside,
        member,
        group.awaited_at,
        || group.unfinished.get() == 0,
        &[&is_in, &is_child],
        pc,
    );
    for done in group.done.take() {
        order::find_set(done, pc);
    }
    task.group.replace(group.around.clone());
}

entries! {
    GOMP_task(function: Outlined, data: *mut c_void, copy: Option<Copy>, size: c_long, alignment: c_long, may_wait: bool,
        flags: c_uint, depend: *mut *mut c_void, _priority: c_int, event: *mut *mut c_void) -> (), stack 4: |inside, pc| {
        let body = Body {
            function,
            data,
            copy,
            size: size as usize,
            alignment: alignment as usize,
            flags,
            depend,
        };
        let event = if flags & DETACH != 0 { event } else { ptr::null_mut() };
        create(&inside, &member(&inside), &body, may_wait, event, |_| {}, pc);
    }
    GOMP_taskwait() -> (), reg "rdi": |inside, pc| { await_children(&inside, &member(&inside), pc); }
    GOMP_taskwait_depend(depend: *mut *mut c_void) -> (), reg "rsi": |inside, pc| {
        let member = member(&inside);
        let parent = member.task.borrow().clone();
        let nothing = Rc::new(Task::new(None, Some(parent.clone()), false));
        depend::enter(&parent, &nothing, depend, false);
        await_before(&inside, &member, &nothing, pc);
    }
    GOMP_taskyield() -> (), reg "rdi": |inside, pc| { baton::yield_now(inside.thread()); }
    GOMP_taskgroup_start() -> (), reg "rdi": |inside, pc| { begin_group(&member(&inside)); }
    GOMP_taskgroup_end() -> (), reg "rdi": |inside, pc| { end_group(&inside, &member(&inside), pc); }
    omp_fulfill_event(event: *mut c_void) -> (), reg "rsi": |inside, pc| {
        let task = Rc::from_raw(event.cast_const().cast::<Task>());
        if let Some(team) = task.detached.get().and_then(|detached| detached.team.upgrade()) {
            come_to_part(&inside, &team, &task, pc);
        }
    }
    GOMP_taskgroup_reduction_register(_data: *mut usize) -> (), reg "rsi": |inside, pc| {
        super::refuse("a reduction of tasks (GOMP_taskgroup_reduction_register)")
    }
    GOMP_workshare_task_reduction_unregister(_cancelled: bool) -> (), reg "rsi": |inside, pc| {
        super::refuse("a reduction of tasks (GOMP_workshare_task_reduction_unregister)")
    }
}
