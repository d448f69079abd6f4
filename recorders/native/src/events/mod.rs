//! From what the hooks say to the events of the trace, encoded while the program runs.
//!
//! There are two ways in. [`access`] is inlined into the hooks of plain accesses as far as the encoder's
//! prediction holds (`event-coding`): an event as predicted costs a few comparisons and one store into shared
//! memory. [`push`] takes everything, and gives what needs them their identities:
//! [`objects`] says which object an address means, [`heap`] which blocks exist, [`calls`] which call
//! stack a thread has. Rows of the trace's tables go to the parent before the first event that needs
//! them.
//!
//! All state here belongs to the holder of the baton.

pub mod agents;
mod calls;
mod heap;
pub mod heard;
pub mod images;
pub mod in_vain;
pub mod instruction;
pub mod lock;
pub mod modules;
pub mod moment;
mod objects;
pub mod once;
pub mod pending;
pub mod picture;
mod releases;
pub mod segments;
mod sync;
pub mod variable;

use crate::platform::memory::{NOBODYS, load};
use crate::scheduling::baton::SCHEDULER;
use crate::scheduling::plan;
use crate::scheduling::recording::RING;
use crate::scheduling::thread::{Thread, while_busy};
use calls::Calls;
use core::cell::UnsafeCell;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use event_coding::{
    BranchHistory, Encoder, Full, LINE, MAX_ITEM_BYTES, MAX_LITERAL_BYTES, Memory, Operands, PREDICTED, STRIDE, Shape,
    Sink, SiteIndex, Sites, Tried, TriedBy, edge_kind, kind,
};
use heap::Heap;
use lock::Lock;
use objects::{Objects, Taken};
use recorder_ring::{Note, Record, Row};
use releases::Releases;
use std::collections::BTreeMap;
use std::vec::Vec;

/// In a static of its own, since all of it is zeros at first: what else is not would fill it up in the file that
/// processes load.
static ENCODER: Encoding = Encoding(UnsafeCell::new(Encoder::new(Memory::new(), Sites::new())));

#[repr(align(64))]
struct Encoding(UnsafeCell<Encoder>);

// SAFETY: used only by the thread with the baton, and handing it on synchronizes.
unsafe impl Sync for Encoding {}

static EVENTS: Events = Events {
    tables: UnsafeCell::new(Tables {
        calls: Calls::new(),
        objects: Objects::new(),
        heap: Heap::new(),
        inherited: Heap::new(),
        waiting: BTreeMap::new(),
        entered: BTreeMap::new(),
        releases: Releases::new(),
        threads: 0,
    }),
    stack: AtomicU32::new(0),
    running: AtomicU32::new(0),
};

/// As many bytes as the smallest synchronization object has.
pub const OBJECT_BYTES: usize = 4;

struct Events {
    tables: UnsafeCell<Tables>,
    /// The call stack of the thread that runs. Stored with the baton; the handler of a signal may read it at any time.
    stack: AtomicU32,
    /// Its number; as `stack`.
    running: AtomicU32,
}

// SAFETY: the tables are used only by the thread with the baton, and handing it on synchronizes.
unsafe impl Sync for Events {}

/// What the events refer to.
struct Tables {
    calls: Calls,
    objects: Objects,
    heap: Heap,
    /// In a forked child, the blocks that its parent had: the trace does not know them as blocks.
    inherited: Heap,
    /// The depth at which a waiting thread had the lock that it gave up, and the condition that it waits for: that may
    /// be destroyed as soon as somebody wakes the thread.
    waiting: BTreeMap<u32, (u32, u32)>,
    /// The barrier that a thread entered and did not leave yet, and the round.
    entered: BTreeMap<u32, (u32, u32)>,
    releases: Releases,
    /// Threads that the parent knows of.
    threads: u32,
}

impl Tables {
    /// What was at these addresses is no more.
    fn forget(&mut self, addr: u64, size: u64) {
        self.objects.forget(addr, size);
        self.releases.forget(addr, size);
    }

    /// Makes sure that the parent knows a thread.
    fn thread(&mut self, number: u32) -> u32 {
        if number >= self.threads {
            self.threads = number + 1;
            send(Row::Threads { count: number + 1 });
        }
        number
    }
}

/// Encodes an access of `SIZE` bytes, 1 to 8, of the running thread, while no plan is followed and nothing is
/// [due](recorder_ring::Producer::is_due). Its value is what memory has there. Every way out of here is the end of a
/// function or a jump, so that a hook needs no stack of its own.
#[inline(always)]
pub fn access<const KIND: u8, const SIZE: usize>(addr: usize, pc: usize) {
    let shape = const { Shape::access(KIND, SIZE as u8, 0) };
    let (stack, value) = (stack(), || load(addr, SIZE));
    // SAFETY: the baton is the caller's, and nothing below calls back into this module: `value` finds the memory there
    // (its hook has touched it, or `settle_inside` has), or runs a handler of the program's whose hooks do nothing
    // (`faults`).
    let encoder = unsafe { &mut *ENCODER.0.get() };
    let tried = encoder.access(pc as u64, stack, shape, addr as u64, value, &mut Stream);
    go_on::<KIND, SIZE, { edge_kind::PLAIN }>(tried, addr, pc);
}

/// What is left to do of an access.
#[inline(always)]
fn go_on<const KIND: u8, const SIZE: usize, const EDGE: u8>(tried: Tried, addr: usize, pc: usize) {
    match tried {
        Tried::Hit => {}
        Tried::Branching => branching::<KIND, SIZE>(addr, pc),
        Tried::Moving => moving::<KIND, SIZE>(addr, pc),
        Tried::By(site) => by_modes::<KIND, SIZE, EDGE>(addr, pc, site),
        Tried::Other => miss::<KIND, SIZE>(addr, pc),
    }
}

/// The access comes by any edge.
#[inline(never)]
extern "C" fn branching<const KIND: u8, const SIZE: usize>(addr: usize, pc: usize) {
    // SAFETY: as in `access`.
    let (branches, last) = unsafe { (*ENCODER.0.get()).last() };
    // Two ways that share nothing: each knows its edge.
    if branches.expects_second() {
        along::<KIND, SIZE, { edge_kind::SECOND }>(addr, pc, branches, last);
    } else {
        along::<KIND, SIZE, { edge_kind::FIRST }>(addr, pc, branches, last);
    }
}

/// The call stack changes before the access.
#[inline(never)]
extern "C" fn moving<const KIND: u8, const SIZE: usize>(addr: usize, pc: usize) {
    // SAFETY: as in `access`.
    let (branches, last) = unsafe { (*ENCODER.0.get()).last() };
    along::<KIND, SIZE, { edge_kind::ANY }>(addr, pc, branches, last);
}

/// The access comes by this kind of edge from the site `last`, which has this history.
#[inline(always)]
fn along<const KIND: u8, const SIZE: usize, const EDGE: u8>(
    addr: usize,
    pc: usize,
    branches: BranchHistory,
    last: SiteIndex,
) {
    let shape = const { Shape::access(KIND, SIZE as u8, 0) };
    let (stack, value) = (stack(), || load(addr, SIZE));
    // SAFETY: as in `access`.
    let encoder = unsafe { &mut *ENCODER.0.get() };
    let tried = encoder.access_from::<EDGE>(branches, last, pc as u64, stack, shape, addr as u64, value, &mut Stream);
    go_on::<KIND, SIZE, { edge_kind::ANY }>(tried, addr, pc);
}

/// The site has other modes than most, or it is not the access's.
#[inline(never)]
extern "C" fn by_modes<const KIND: u8, const SIZE: usize, const EDGE: u8>(addr: usize, pc: usize, site: SiteIndex) {
    let shape = const { Shape::access(KIND, SIZE as u8, 0) };
    // SAFETY: as in `access`.
    let Some((target_mode, value_mode)) = (unsafe { (*ENCODER.0.get()).modes(site, shape) }) else {
        return miss::<KIND, SIZE>(addr, pc);
    };
    // One jump: which modes come next is hard to foresee for the processor, so it shall not have to do it twice.
    let functions = const { &Modes::<KIND, SIZE, EDGE>::FUNCTIONS };
    functions[usize::from(value_mode) % 8][usize::from(target_mode) % 8](addr, pc, site);
}

/// A function for an access by modes that it knows.
type ByModes = extern "C" fn(usize, usize, SiteIndex);

/// A function for each mode of the value, and each of the target, in which they are known to the compiler, and which
/// needs few registers.
struct Modes<const KIND: u8, const SIZE: usize, const EDGE: u8>;

impl<const KIND: u8, const SIZE: usize, const EDGE: u8> Modes<KIND, SIZE, EDGE> {
    const FUNCTIONS: [[ByModes; 8]; 8] = [
        Self::with_value::<0>(),
        Self::with_value::<STRIDE>(),
        Self::with_value::<PREDICTED>(),
        Self::with_value::<PREDICTED>(),
        Self::with_value::<4>(),
        Self::with_value::<5>(),
        Self::with_value::<6>(),
        [by_none::<KIND, SIZE>; 8],
    ];

    const fn with_value<const VALUE: u8>() -> [ByModes; 8] {
        [
            by::<KIND, SIZE, EDGE, 0, VALUE>,
            by::<KIND, SIZE, EDGE, PREDICTED, VALUE>,
            by::<KIND, SIZE, EDGE, PREDICTED, VALUE>,
            by::<KIND, SIZE, EDGE, PREDICTED, VALUE>,
            by::<KIND, SIZE, EDGE, 4, VALUE>,
            by::<KIND, SIZE, EDGE, 5, VALUE>,
            by_none::<KIND, SIZE>,
            by_none::<KIND, SIZE>,
        ]
    }
}

/// There are no such modes.
#[cold]
extern "C" fn by_none<const KIND: u8, const SIZE: usize>(addr: usize, pc: usize, _site: SiteIndex) {
    miss::<KIND, SIZE>(addr, pc);
}

/// It has these modes.
#[inline(never)]
extern "C" fn by<const KIND: u8, const SIZE: usize, const EDGE: u8, const TARGET: u8, const VALUE: u8>(
    addr: usize,
    pc: usize,
    site: SiteIndex,
) {
    let shape = const { Shape::access(KIND, SIZE as u8, 0) };
    // SAFETY: as in `access`.
    let encoder = unsafe { &mut *ENCODER.0.get() };
    let (target, value) = (addr as u64, load(addr, SIZE));
    match encoder.access_by::<EDGE, TARGET, VALUE>(site, stack(), shape, target, value, &mut Stream) {
        TriedBy::Hit => {}
        TriedBy::Other => miss::<KIND, SIZE>(addr, pc),
        // In a function of its own, since it calls others.
        TriedBy::Beyond => by::<KIND, SIZE, EDGE, TARGET, PREDICTED>(addr, pc, site),
    }
}

/// The access is not as predicted.
#[inline(never)]
extern "C" fn miss<const KIND: u8, const SIZE: usize>(addr: usize, pc: usize) {
    let operands = Operands {
        target: addr as u64,
        value: load(addr, SIZE),
        written: 0,
    };
    // The ring may be full.
    while_busy(|| missed::<KIND>(pc as u64, SIZE as u8, operands));
}

/// Records what the thread that has the baton does.
#[inline(always)]
pub fn push(record: Record) {
    match record {
        Record::Read { pc, addr, size, value } => plain(kind::READ, pc, addr, size, value),
        Record::Write { pc, addr, size, value } => plain(kind::WRITE, pc, addr, size, value),
        Record::Destroying { pc, addr, size, value } => plain(kind::DESTROY, pc, addr, size, value),
        Record::Call { call_site } => call(call_site),
        Record::Return => ret(),
        Record::AtomicLoad {
            pc,
            addr: target,
            size,
            order,
            value,
        } => {
            let written = 0;
            atomic::<{ kind::ATOMIC_LOAD }>(pc, size, order, Operands { target, value, written });
        }
        Record::AtomicStore {
            pc,
            addr: target,
            size,
            order,
            value,
        } => {
            let written = 0;
            atomic::<{ kind::ATOMIC_STORE }>(pc, size, order, Operands { target, value, written });
        }
        Record::AtomicRmw {
            pc,
            addr: target,
            size,
            order,
            read: value,
            written,
        } => atomic::<{ kind::ATOMIC_RMW }>(pc, size, order, Operands { target, value, written }),
        Record::Use { pc, object: target } => {
            let shape = const { Shape::access(kind::USE, OBJECT_BYTES as u8, 0) };
            let operands = Operands {
                target,
                ..Operands::default()
            };
            frequent::<{ kind::USE }>(pc, shape.parameter, operands);
        }
        Record::Acquire {
            pc,
            class,
            lock,
            shared,
            attempt,
        } => sync::acquire(pc, class, lock, shared, attempt),
        Record::Release { pc, class, lock } => sync::release(pc, class, lock),
        other => rare(other),
    }
}

/// A plain access of any kind and size.
fn plain(kind: u8, pc: u64, target: u64, size: u8, value: u64) {
    let operands = Operands {
        target,
        value,
        written: 0,
    };
    event_of(pc, Shape::access(kind, size, 0), operands);
}

/// An atomic operation.
#[inline(never)]
fn atomic<const KIND: u8>(pc: u64, size: u8, order: u8, operands: Operands) {
    let shape = Shape::access(KIND, size, order_of(order));
    if plan::is_followed() {
        observe(pc, KIND);
    }
    // SAFETY: as in `access`.
    let encoder = unsafe { &mut *ENCODER.0.get() };
    if !encoder.try_event(pc, stack(), shape, operands, &mut Stream) {
        encode_rest(pc, shape, operands);
    }
}

/// Encodes an access that is not as predicted.
#[inline(never)]
fn missed<const KIND: u8>(pc: u64, size: u8, operands: Operands) {
    let shape = Shape::access(KIND, size, 0);
    // SAFETY: as in `access`.
    let encoder = unsafe { &mut *ENCODER.0.get() };
    match encoder.missed(pc, stack(), shape, operands, &mut Stream) {
        Ok(()) => after_item(),
        Err(Full) => in_next_block(pc, shape, operands),
    }
}

/// Encodes an event of the running thread of a kind that is frequent in programs with locks and blocks of memory.
#[inline(never)]
fn frequent<const KIND: u8>(pc: u64, parameter: u8, operands: Operands) {
    let shape = Shape { kind: KIND, parameter };
    if plan::is_followed() {
        observe(pc, KIND);
    }
    // SAFETY: as in `access`.
    let encoder = unsafe { &mut *ENCODER.0.get() };
    if !encoder.try_event(pc, stack(), shape, operands, &mut Stream) {
        encode_rest(pc, shape, operands);
    }
}

/// Encodes an event that [`Encoder::try_event`] did not.
#[inline(never)]
fn encode_rest(pc: u64, shape: Shape, operands: Operands) {
    // SAFETY: as in `access`.
    let encoder = unsafe { &mut *ENCODER.0.get() };
    if !encoder.finds_at_once(pc, shape) {
        return encode(pc, shape, operands);
    }
    match encoder.missed(pc, stack(), shape, operands, &mut Stream) {
        Ok(()) => after_item(),
        Err(Full) => in_next_block(pc, shape, operands),
    }
}

/// Encodes an event of the running thread.
#[inline(never)]
fn event_of(pc: u64, shape: Shape, operands: Operands) {
    if plan::is_followed() {
        observe(pc, shape.kind);
    }
    encode(pc, shape, operands);
}

/// Encodes an event that was observed.
#[inline(never)]
fn encode(pc: u64, shape: Shape, operands: Operands) {
    // SAFETY: as in `access`.
    let encoder = unsafe { &mut *ENCODER.0.get() };
    match encoder.event(pc, stack(), shape, operands, &mut Stream) {
        Ok(_) => after_item(),
        Err(Full) => in_next_block(pc, shape, operands),
    }
}

/// Closes the block if it is large enough.
#[inline(always)]
fn after_item() {
    // SAFETY: the baton is the caller's.
    if unsafe { RING.is_block_due() } {
        close_block();
    }
}

/// Encodes an event for which the current block has no room.
#[cold]
#[inline(never)]
fn in_next_block(pc: u64, shape: Shape, operands: Operands) {
    close_block();
    encode(pc, shape, operands);
}

/// Tells the policy that follows a plan what the running thread does.
#[cold]
#[inline(never)]
fn observe(pc: u64, kind: u8) {
    SCHEDULER.observe(running(), pc, kind);
}

/// Ends the current block, unless it has no event yet.
#[cold]
fn close_block() {
    // SAFETY: as in `access`.
    unsafe {
        if RING.close_block() {
            (*ENCODER.0.get()).start_block();
        }
    }
}

/// The ring, as the encoder sees it.
struct Stream;

impl Sink for Stream {
    #[inline(always)]
    fn hit(&mut self, len: usize) -> bool {
        // SAFETY: the ring is attached before there is a baton, which orders the callers.
        unsafe { RING.hit(len) }
    }

    #[inline(always)]
    fn one_more(&mut self, len: usize) {
        // SAFETY: as above; who comes here has seen that nothing is due.
        unsafe { RING.one_more(len) };
    }

    #[inline(always)]
    fn hits(&self) -> u32 {
        // SAFETY: as above.
        unsafe { RING.hits() }
    }

    #[inline(always)]
    fn literals(&mut self) -> &mut [u8; MAX_LITERAL_BYTES] {
        // SAFETY: as in `room`.
        unsafe { &mut *RING.literals() }
    }

    #[inline(always)]
    fn literals_now(&mut self) -> Option<&mut [u8; MAX_LITERAL_BYTES]> {
        // SAFETY: as in `room`.
        unsafe { RING.literals_now().map(|to| &mut *to) }
    }

    #[inline(always)]
    fn room(&mut self) -> &mut [u8; MAX_ITEM_BYTES] {
        // SAFETY: as above; the consumer reads no byte that is not published, and the encoder holds on to this until
        // it puts, at most.
        unsafe { &mut *RING.room() }
    }

    #[inline(always)]
    fn put(&mut self, token: u16, len: usize, events: u32) {
        // SAFETY: as above.
        unsafe { RING.put(token, len, events) };
    }

    fn line(&self, addr: u64) -> Option<[u8; LINE]> {
        if addr >= NOBODYS {
            return None;
        }
        let mut line = [0; LINE];
        for (at, word) in line.chunks_exact_mut(8).enumerate() {
            // SAFETY: the program accesses memory in this line, which lies in one page. Whoever is not recorded may
            // change it meanwhile.
            let now = unsafe { (addr as *const u64).add(at).read_volatile() };
            word.copy_from_slice(&now.to_le_bytes());
        }
        Some(line)
    }
}

fn send(row: Row) {
    // SAFETY: as in `Stream::hit`.
    unsafe { RING.push(row) };
}

/// From here on `to` runs, and no longer `from`.
pub fn switch(from: Option<&Thread>, to: &Thread) {
    if let Some(from) = from {
        from.call_stack.store(stack(), Relaxed);
    }
    EVENTS.stack.store(to.call_stack.load(Relaxed), Relaxed);
    EVENTS
        .running
        .store(with_tables(|tables| tables.thread(to.index.get())), Relaxed);
    // SAFETY: as in `access`.
    unsafe { (*ENCODER.0.get()).switch(to.index.get(), &mut Stream) };
    // The events of many short turns fill a block without any other item.
    after_item();
}

/// Whether a thread is between the two events of a wait, which nothing comes between.
pub fn is_waiting(thread: &Thread) -> bool {
    with_tables(|tables| tables.waiting.contains_key(&thread.index.get()))
}

/// In a forked child, with a ring of its own: starts a new trace on the calling thread's stack. What takes the locks
/// that the thread holds.
pub fn start_over(thread: &Thread) -> Vec<Record> {
    // SAFETY: as in `access`; there is no other thread.
    let (encoder, tables) = unsafe { (&mut *ENCODER.0.get(), &mut *EVENTS.tables.get()) };
    encoder.start_block();
    let held = tables.objects.held_by(running());
    let stack = tables.calls.start_over(stack());
    thread.call_stack.store(stack, Relaxed);
    tables.objects = Objects::new();
    tables.inherited = tables.heap.take_with(&mut tables.inherited);
    tables.waiting.clear();
    tables.entered.clear();
    tables.releases = Releases::new();
    tables.threads = 0;
    EVENTS.running.store(0, Relaxed);
    held
}

/// The call stack of a thread, for its own signal handler, which may have interrupted anything.
pub fn stack_of(thread: &Thread) -> u32 {
    if running() == thread.index.get() {
        stack()
    } else {
        thread.call_stack.load(Relaxed)
    }
}

/// The call stack of the thread that runs.
#[inline(always)]
fn stack() -> u32 {
    EVENTS.stack.load(Relaxed)
}

/// The number of the thread that runs.
fn running() -> u32 {
    EVENTS.running.load(Relaxed)
}

/// In a forked child, the blocks of memory that its parent had.
pub fn inherited() -> Vec<(u64, u64)> {
    with_tables(|tables| tables.inherited.blocks())
}

/// Looks at, or changes, the order that the program has announced.
pub fn with_releases<R>(work: impl FnOnce(&mut Releases) -> R) -> R {
    with_tables(|tables| work(&mut tables.releases))
}

/// How many levels of a lock are held in a way that leaves no room for the running thread.
pub fn in_the_way(lock: Lock, shared: bool) -> u32 {
    with_tables(|tables| {
        tables
            .objects
            .at(lock.class, lock.addr, 0)
            .in_the_way(running(), shared)
    })
}

/// Whether nobody holds a lock that was taken while it was recorded.
pub fn is_free(lock: Lock) -> bool {
    with_tables(|tables| tables.objects.at(lock.class, lock.addr, 0).taken_from(running()) == Taken::Nobodys)
}

fn with_tables<R>(work: impl FnOnce(&mut Tables) -> R) -> R {
    // SAFETY: the baton is the caller's, and `work` does not come back here.
    work(unsafe { &mut *EVENTS.tables.get() })
}

/// The running thread enters a function.
#[inline(always)]
fn call(call_site: u64) {
    let stack = with_tables(|tables| tables.calls.enter(stack(), call_site));
    EVENTS.stack.store(stack, Relaxed);
}

/// It leaves the function.
#[inline(always)]
fn ret() {
    let stack = with_tables(|tables| tables.calls.leave(stack()));
    EVENTS.stack.store(stack, Relaxed);
}

/// An event without a value.
fn at(pc: u64, kind: u8, target: u64) {
    let operands = Operands {
        target,
        ..Operands::default()
    };
    event_of(pc, Shape::plain(kind), operands);
}

/// All that is not frequent in any program.
#[inline(never)]
fn rare(record: Record) {
    match record {
        Record::Fence { pc, order } => {
            let parameter = order_of(order) << 3;
            let kind = kind::FENCE;
            event_of(pc, Shape { kind, parameter }, Operands::default());
        }
        Record::Begin { os_id } => {
            send(Row::Begun {
                thread: running(),
                os_id,
            });
            at(0, kind::BEGIN, 0);
        }
        Record::End { pc } => {
            // SAFETY: as in `Stream::hit`.
            let before = unsafe { RING.events() };
            let thread = running();
            send(Row::Ended { thread, before });
            at(pc, kind::END, 0);
        }
        Record::Fork { pc, child } => {
            with_tables(|tables| tables.thread(child));
            send(Row::Parent {
                thread: child,
                parent: running(),
            });
            at(pc, kind::FORK, child.into());
        }
        Record::Join { pc, child, attempt } => {
            let operands = Operands {
                target: with_tables(|tables| tables.thread(child)).into(),
                ..Operands::default()
            };
            event_of(pc, Shape::flagged(kind::JOIN, attempt), operands);
        }
        Record::Alloc { pc, addr, size } => {
            if size > 0 {
                with_tables(|tables| {
                    tables.forget(addr, size);
                    tables.heap.begin(addr, size);
                });
                let operands = Operands {
                    target: addr,
                    value: size,
                    written: 0,
                };
                frequent::<{ kind::ALLOC }>(pc, 0, operands);
            }
        }
        Record::Free { pc, addr } => {
            let known = with_tables(|tables| {
                let size = tables.heap.end(addr);
                size.inspect(|&size| tables.forget(addr, size))
            });
            if known.is_some() {
                let operands = Operands {
                    target: addr,
                    ..Operands::default()
                };
                frequent::<{ kind::FREE }>(pc, 0, operands);
            }
        }
        Record::Mark { class, addr, size } => {
            let thread = running();
            // SAFETY: as in `Stream::hit`.
            let before = unsafe { RING.events() };
            send(Row::Mark {
                class,
                thread,
                before,
                addr,
                size,
            });
        }
        Record::Bytes { len, words } => send(Row::Bytes { len, words }),
        Record::Picture => {
            let thread = running();
            // SAFETY: as in `Stream::hit`.
            let before = unsafe { RING.events() };
            send(Row::Picture { thread, before });
        }
        Record::ThreadName { thread } => send(Row::ThreadName { thread }),
        Record::Module {
            build_id,
            base,
            start,
            end,
        } => send(Row::Module {
            build_id,
            base,
            start,
            end,
        }),
        Record::Image { addr, size, constant } => {
            // SAFETY: as in `Stream::hit`.
            let before = unsafe { RING.events() };
            send(Row::Image {
                addr,
                size,
                constant,
                before,
            });
        }
        Record::Parked { pc, addr, size } => {
            let thread = running();
            send(Row::Parked {
                stack: stack(),
                thread,
                pc,
                addr,
                size,
            });
        }
        Record::Waits { what, pc, addr } => {
            let thread = running();
            // SAFETY: as in `Stream::hit`.
            let before = unsafe { RING.events() };
            let stack = stack();
            send(Row::Waits {
                what,
                thread,
                stack,
                pc,
                addr,
                before,
            });
        }
        Record::Reaped { process, status } => {
            send(Row::Reaped { process, status });
            // Somebody may wait for it.
            // SAFETY: as in `Stream::hit`.
            unsafe { RING.call() };
        }
        Record::Note { note } => {
            send(Row::Note(note));
            if matches!(note, Note::Finished | Note::Replaced) {
                // Else the parent would have to count the events of the last block.
                close_block();
            }
        }
        Record::Read { .. }
        | Record::Write { .. }
        | Record::Call { .. }
        | Record::Return
        | Record::AtomicLoad { .. }
        | Record::AtomicStore { .. }
        | Record::AtomicRmw { .. }
        | Record::Use { .. }
        | Record::Acquire { .. }
        | Record::Release { .. } => unreachable!("`push` takes these itself"),
        other => with_tables(|tables| sync::record(other, running(), tables)),
    }
}

/// The C number of a memory order; anything else is the strongest.
fn order_of(order: u8) -> u8 {
    order.min(5)
}
