//! Objects of the kernel that threads share beside channels: System V semaphores and message queues, files with locks,
//! POSIX message queues, which are files, too; names of files.
//!
//! Of the contents of files, [`contents`](super::contents) knows more. Else all operations on one keep the order in
//! which they happened: each is an atomic operation on a variable of the object's own, in addresses that no program
//! has. (What they may do in another order only the kernel knows; so some reorderings are lost, and none is made up.)

use super::contents::Contents;
use super::descriptor::is_given;
use super::queue::Queue;
use super::{CHANNELS, is_needed, new_queue, with};
use crate::platform::correspondence::Correspondence;
use crate::platform::sys;
use crate::runtime::accesses::returns;
use crate::runtime::guard::{RuntimeGuard, restore_errno};
use crate::scheduling::thread::{Woken, slot};
use crate::scheduling::{baton, clocks, plan};
use core::mem::MaybeUninit;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use libc::{c_int, dev_t, ino_t, stat};

/// One object.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shared {
    /// A set of System V semaphores.
    Semaphores(c_int),
    /// A System V message queue.
    Messages(c_int),
    /// A file, or a POSIX message queue.
    File(dev_t, ino_t),
    /// What a name means in a directory: the directory, and the name as a number.
    Name(dev_t, ino_t, u64),
    /// What the system keeps of a file beside its contents.
    Attributes(dev_t, ino_t),
}

/// What is known of one.
pub struct Object {
    /// The queue whose variables stand for it.
    pub(super) queue: u32,
    /// Of a file, a name, or attributes.
    pub(super) contents: Contents,
}

/// Works on what is known of an object.
pub(super) fn with_object<R>(name: Shared, work: impl FnOnce(&mut Object) -> R) -> R {
    // SAFETY: the caller has the baton, and nothing that is called below comes back here.
    let objects = unsafe { &mut *CHANNELS.objects.get() };
    work(objects.entry(name).or_insert_with(|| Object {
        queue: new_queue(Queue::of_states()),
        contents: Contents::new(),
    }))
}

/// The queue whose variables stand for an object.
fn queue_of(name: Shared) -> u32 {
    with_object(name, |object| object.queue)
}

/// The calling thread is about to change something that the system keeps of that file beside its contents.
pub(super) fn changes_attributes((device, number): (dev_t, ino_t), pc: usize) {
    with_object(Shared::Attributes(device, number), |known| {
        known.contents.write(known.queue, pc);
    });
}

/// The system has made a file, or something else that has a name: what had its number before is no more.
pub(super) fn is_new(about: &stat) {
    let (device, number) = (about.st_dev, about.st_ino);
    // SAFETY: as in `with_object`.
    let objects = unsafe { &mut *CHANNELS.objects.get() };
    objects.remove(&Shared::File(device, number));
    objects.remove(&Shared::Attributes(device, number));
    if about.st_mode & libc::S_IFMT == libc::S_IFDIR {
        objects.retain(|known, _| !matches!(known, Shared::Name(folder, of, _) if (*folder, *of) == (device, number)));
    }
}

/// The same of what a descriptor is of.
pub fn is_new_file(file: c_int) {
    if is_needed() {
        is_new(&about(file));
    }
}

/// In a forked child: what came before is not known here.
pub fn start_over() {
    // SAFETY: there is no other thread, and nobody is at work on the objects.
    for object in unsafe { &mut *CHANNELS.objects.get() }.values_mut() {
        object.contents = Contents::new();
    }
}

/// The calling thread is about to write to a file, if that is a regular one.
pub fn writes(file: c_int, pc: usize) {
    if let Some(file) = regular(file) {
        with_object(file, |file| file.contents.write(file.queue, pc));
    }
}

/// The calling thread has read from a file, if that is a regular one; where the last read through a descriptor ended.
pub fn reads(file: c_int, goes_on: Option<c_int>, pc: usize) {
    if let Some(file) = regular(file) {
        with_object(file, |file| file.contents.read(file.queue, goes_on, pc));
    }
}

/// The file that a descriptor is of, if it is a regular one, and order matters. Of what the program was started with,
/// nothing is said: a live run has another standard output, and would do something else there.
fn regular(file: c_int) -> Option<Shared> {
    if is_needed() && !is_given(file) {
        regular_in(&about(file))
    } else {
        None
    }
}

/// Whether a descriptor is of a regular file.
pub fn is_regular(file: c_int) -> bool {
    regular_in(&about(file)).is_some()
}

pub(super) fn regular_in(about: &stat) -> Option<Shared> {
    (about.st_mode & libc::S_IFMT == libc::S_IFREG).then_some(Shared::File(about.st_dev, about.st_ino))
}

/// What threads are blocked on that wait for an object.
fn key(object: Shared) -> usize {
    // No address of the program.
    1 << 61 | queue_of(object) as usize
}

/// The calling thread, which is inside, operates on an object: after all that threads did to it before.
pub fn operates(object: Shared, pc: usize) {
    let thread = slot();
    if !thread.is_null() {
        // SAFETY: a slot holds a thread, which lives for ever. A schedule may switch threads before each of a call's
        // operations.
        RuntimeGuard::of(unsafe { &*thread }).await_turn();
    }
    with(Some(queue_of(object)), |number, queue| queue.count(number, pc));
    baton::wake(key(object), usize::MAX);
}

/// Whether a thread ever locked an open file: whoever closes one may give back a lock.
static ANY_LOCKED: AtomicBool = AtomicBool::new(false);

/// The calling thread, which is inside, operates on the locks of an open file.
pub fn locks(file: c_int, pc: usize) {
    ANY_LOCKED.store(true, Relaxed);
    operates(self::file(file), pc);
}

/// It is about to close a descriptor, which gives back the locks of the open file if no other one leads there.
pub fn gives_back_locks(file: c_int, pc: usize) {
    if ANY_LOCKED.load(Relaxed) && is_regular(file) {
        operates(self::file(file), pc);
    }
}

/// Makes a call that may wait for what others do to an object: with the baton as soon as `attempt`, which does not
/// wait, says what came of it, so that the order of the calls is that of their events. If nobody here lets it go on,
/// another process may: then `call` waits.
pub fn patiently<R: From<i8>>(
    inside: &RuntimeGuard,
    object: Shared,
    attempt: impl Fn() -> Option<R>,
    call: impl FnOnce() -> R,
) -> R {
    /// How often nothing has to happen for how long.
    const ROUNDS: u32 = 3;
    const NANOS: i64 = 20_000_000;
    let mut in_vain = 0;
    while in_vain < ROUNDS {
        if let Some(result) = attempt() {
            return result;
        }
        inside.in_library.set(true);
        inside.interruptible.set(true);
        let deadline = clocks::now(libc::CLOCK_MONOTONIC) + NANOS;
        let woken = baton::block(inside.thread(), key(object), deadline);
        inside.interruptible.set(false);
        inside.in_library.set(false);
        match woken {
            // Only calls on descriptors are restarted.
            Woken::Signal | Woken::Restart if woken == Woken::Signal || !matches!(object, Shared::File(..)) => {
                restore_errno(libc::EINTR);
                return R::from(-1);
            }
            Woken::Deadline => in_vain += 1,
            _ => {}
        }
    }
    inside.outside(call)
}

/// The file that a descriptor is of.
pub fn file(file: c_int) -> Shared {
    let about = about(file);
    Shared::File(about.st_dev, about.st_ino)
}

/// What the system knows of a descriptor's file; all zeros if it is of none.
pub(super) fn about(file: c_int) -> stat {
    let mut about = MaybeUninit::<stat>::zeroed();
    // SAFETY: the kernel writes a `stat` there, if it writes; zeros are one, too.
    unsafe {
        sys::call(libc::SYS_fstat, file as usize, about.as_mut_ptr() as usize, 0, 0);
        about.assume_init()
    }
}

/// Numbers by which a kind of objects is known: along a plan, those of the recorded run for the program.
pub struct Numbers(Correspondence);

/// System V segments of shared memory.
pub static SEGMENTS: Numbers = Numbers(Correspondence::new());
/// Sets of System V semaphores.
pub static SETS: Numbers = Numbers(Correspondence::new());
/// System V message queues.
pub static QUEUES: Numbers = Numbers(Correspondence::new());

impl Numbers {
    /// The kernel gave out a number, or failed; what the program gets to see.
    pub fn given(&self, actual: c_int, pc: usize) -> c_int {
        let seen = returns(actual.into(), pc) as c_int;
        if plan::is_there() && seen >= 0 && actual >= 0 {
            self.0.learn(seen as u32, actual as u32);
        }
        seen
    }

    /// The kernel's number for the program's.
    pub fn actual(&self, seen: c_int) -> c_int {
        self.0.actual(seen as u32).map_or(seen, |actual| actual as c_int)
    }
}
