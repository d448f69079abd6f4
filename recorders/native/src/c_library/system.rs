//! Small structures that the system fills in: times, file states, sets of signals, results of waiting.

use crate::c_library::channels::descriptor::as_recorded;
use crate::c_library::channels::{self, attributes, names};
use crate::runtime::accesses::{arrives, comes, passes, reads, returns, returns_to_anyone, writes};
use crate::runtime::process_numbers;
use crate::scheduling::{clocks, plan};
use crate::signals::waited_for;

use super::library::{reads_text, writes_text};
use core::ffi::c_void;
use core::ptr;
use libc::{
    c_char, c_int, c_long, c_uint, clock_t, clockid_t, id_t, idtype_t, itimerspec, pid_t, rusage, siginfo_t, sigset_t,
    socklen_t, stat as FileState, sysinfo as SystemState, time_t, timespec, timeval, tms, utsname,
};
use recorder_ring::Record;

/// A process that came of this one was waited for: its recorder is not its parent, and wants to know how it ended.
fn reaped(process: pid_t, status: Option<&c_int>) {
    if let Some(&status) = status {
        let (process, status) = (process as u32, status as u32);
        crate::events::pending::push(Record::Reaped { process, status });
    }
}

/// Which process a call waits for, and how. Along a plan that is the one that it was in the recorded run, however long it
/// takes; or, if none had ended then, nobody.
fn whom(which: pid_t, flags: c_int, pc: usize) -> (pid_t, c_int) {
    /// The first process of all, which is nobody's child.
    const NO_CHILD: pid_t = 1;
    match plan::returned(pc).map(|told| told as i64 as pid_t) {
        Some(0) if flags & libc::WNOHANG != 0 => (NO_CHILD, flags),
        Some(told @ 1..) => (process_numbers::actual(told), flags & !libc::WNOHANG),
        _ => (process_numbers::actual(which), flags),
    }
}

/// Whether what `sysconf` says of this depends on the machine, and what else it does.
fn is_of_machine(name: c_int) -> bool {
    let numbers = [
        libc::_SC_PHYS_PAGES,
        libc::_SC_AVPHYS_PAGES,
        libc::_SC_NPROCESSORS_ONLN,
        libc::_SC_NPROCESSORS_CONF,
    ];
    numbers.contains(&name)
}

/// A process was waited for: which, as the program knows it.
///
/// # Safety
/// Null, or valid, and written if there was one.
unsafe fn waited(process: pid_t, status: *mut c_int, used: *mut rusage, pc: usize) -> pid_t {
    let seen = process_numbers::given(process, pc);
    if process > 0 {
        // SAFETY: promised by the caller.
        reaped(process, unsafe { status.as_ref() });
        channels::child_ended(pc);
    }
    if seen > 0 {
        arrives(status, size_of::<c_int>(), pc);
        arrives(used, size_of::<rusage>(), pc);
    }
    seen
}

/// The calling thread was told of a file, which it found by a descriptor, perhaps.
///
/// # Safety
/// The call wrote it there.
unsafe fn told(by: Option<c_int>, to: *const FileState, pc: usize) {
    // SAFETY: promised by the caller; the program's own may be unaligned.
    let about = unsafe { to.read_unaligned() };
    attributes::were_told(by, (about.st_dev, about.st_ino), about.st_mode, pc);
    arrives(to, size_of::<FileState>(), pc);
}

library! {
    clock_gettime(clock: clockid_t, to: *mut timespec) -> c_int, "rdx": system {} (result, pc) {
        if result == 0 { clocks::correct(clock, to); comes(to, size_of::<timespec>(), pc); }
    }
    clock_getres(clock: clockid_t, to: *mut timespec) -> c_int, "rdx": system {} (result, pc) {
        if result == 0 { comes(to, size_of::<timespec>(), pc); }
    }
    timespec_get(to: *mut timespec, base: c_int) -> c_int, "rdx": system {} (result, pc) {
        if result != 0 { clocks::correct(libc::CLOCK_REALTIME, to); comes(to, size_of::<timespec>(), pc); }
    }
    gettimeofday(to: *mut timeval, zone: *mut c_void) -> c_int, "rdx": system {} (result, pc) {
        if result == 0 && !to.is_null() { clocks::correct_day(to); comes(to, size_of::<timeval>(), pc); }
    }
    time(to: *mut time_t) -> time_t, "rsi": system {} (now, pc) {
        now = clocks::corrected_second(now);
        if !to.is_null() { to.write(now); }
        comes(to, size_of::<time_t>(), pc);
        now = returns_to_anyone(now, pc);
        // Where only the result is fed.
        if !to.is_null() { to.write(now); }
    }
    clock() -> clock_t, "rdi": system {} (now, pc) { now = returns_to_anyone(now, pc); }
    rand() -> c_int, "rdi": quick {} (value, pc) { value = returns(value.into(), pc) as c_int; }
    random() -> c_long, "rdi": quick {} (value, pc) { value = returns(value, pc); }
    lrand48() -> c_long, "rdi": quick {} (value, pc) { value = returns(value, pc); }
    mrand48() -> c_long, "rdi": quick {} (value, pc) { value = returns(value, pc); }
    rand_r(seed: *mut c_uint) -> c_int, "rsi": quick { reads(seed, size_of::<c_uint>(), pc); } (value, pc) {
        writes(seed, size_of::<c_uint>(), pc);
    }
    drand48() -> f64, "rdi": quick {} (value, pc) { value = f64::from_bits(returns(value.to_bits() as i64, pc) as u64); }
    arc4random() -> c_uint, "rdi": system {} (value, pc) { value = returns_to_anyone(value.into(), pc) as c_uint; }
    arc4random_uniform(end: c_uint) -> c_uint, "rsi": system {} (value, pc) { value = returns_to_anyone(value.into(), pc) as c_uint; }
    arc4random_buf(to: *mut c_void, len: usize) -> (), "rdx": quick {} (nothing, pc) { comes(to, len, pc); }
    times(to: *mut tms) -> clock_t, "rsi": system {} (now, pc) { if now != -1 { comes(to, size_of::<tms>(), pc); } now = returns_to_anyone(now, pc); }
    sysinfo(to: *mut SystemState) -> c_int, "rsi": system {} (result, pc) {
        if result == 0 { comes(to, size_of::<SystemState>(), pc); }
    }
    sysconf(name: c_int) -> c_long, "rsi": system {} (value, pc) {
        if is_of_machine(name) { value = returns_to_anyone(value, pc); }
    }
    get_phys_pages() -> c_long, "rdi": system {} (value, pc) { value = returns_to_anyone(value, pc); }
    get_avphys_pages() -> c_long, "rdi": system {} (value, pc) { value = returns_to_anyone(value, pc); }
    get_nprocs() -> c_int, "rdi": system {} (value, pc) { value = returns_to_anyone(value.into(), pc) as c_int; }
    get_nprocs_conf() -> c_int, "rdi": system {} (value, pc) { value = returns_to_anyone(value.into(), pc) as c_int; }
    sched_getcpu() -> c_int, "rdi": system {} (value, pc) { value = returns_to_anyone(value.into(), pc) as c_int; }
    timerfd_create(clock: c_int, flags: c_int) -> c_int, "rdx": system {} (file, pc) {
        file = as_recorded(file, pc);
        if file >= 0 { channels::is_counter(file, pc); }
    }
    timerfd_gettime(file: c_int, to: *mut itimerspec) -> c_int, "rdx": (slow file) {} (result, pc) {
        if result == 0 { arrives(to, size_of::<itimerspec>(), pc); }
    }
    timerfd_settime(file: c_int, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int, "r8": (slow file) {
        passes(new, size_of::<itimerspec>(), pc);
        channels::sends(file, 0, pc);
    } (result, pc) { if result == 0 { arrives(old, size_of::<itimerspec>(), pc); } }
    stat(path: *const c_char, to: *mut FileState) -> c_int, "rdx": (means system path) {} (result, pc) {
        names::looks(libc::AT_FDCWD, path, pc);
        if result == 0 { told(None, to, pc); }
    }
    lstat(path: *const c_char, to: *mut FileState) -> c_int, "rdx": (means system path) {} (result, pc) {
        names::looks(libc::AT_FDCWD, path, pc);
        if result == 0 { told(None, to, pc); }
    }
    fstat(file: c_int, to: *mut FileState) -> c_int, "rdx": (slow file) {} (result, pc) {
        if result == 0 { told(Some(file), to, pc); }
    }
    fstatat(folder: c_int, path: *const c_char, to: *mut FileState, flags: c_int) -> c_int, "r8": (means system path) {} (result, pc) {
        names::looks(folder, path, pc);
        if result == 0 { told(None, to, pc); }
    }
    stat64(path: *const c_char, to: *mut FileState) -> c_int, "rdx": (means system path) {} (result, pc) {
        names::looks(libc::AT_FDCWD, path, pc);
        if result == 0 { told(None, to, pc); }
    }
    lstat64(path: *const c_char, to: *mut FileState) -> c_int, "rdx": (means system path) {} (result, pc) {
        names::looks(libc::AT_FDCWD, path, pc);
        if result == 0 { told(None, to, pc); }
    }
    fstat64(file: c_int, to: *mut FileState) -> c_int, "rdx": (slow file) {} (result, pc) {
        if result == 0 { told(Some(file), to, pc); }
    }
    fstatat64(folder: c_int, path: *const c_char, to: *mut FileState, flags: c_int) -> c_int, "r8": (means system path) {} (result, pc) {
        names::looks(folder, path, pc);
        if result == 0 { told(None, to, pc); }
    }
    uname(to: *mut utsname) -> c_int, "rsi": quick {} (result, pc) {
        if result == 0 { writes(to, size_of::<utsname>(), pc); }
    }
    gethostname(to: *mut c_char, room: usize) -> c_int, "rdx": quick {} (result, pc) {
        if result == 0 { writes_text(to, pc); }
    }
    __gethostname_chk(to: *mut c_char, len: usize, room: usize) -> c_int, "rcx": quick {} (result, pc) {
        if result == 0 { writes_text(to, pc); }
    }
    getrusage(who: c_int, to: *mut rusage) -> c_int, "rdx": system {} (result, pc) {
        if result == 0 { comes(to, size_of::<rusage>(), pc); }
    }
    confstr(name: c_int, to: *mut c_char, room: usize) -> usize, "rcx": quick {} (len, pc) {
        if len > 0 && room > 0 { writes_text(to, pc); }
    }
    __confstr_chk(name: c_int, to: *mut c_char, len: usize, room: usize) -> usize, "r8": quick {} (size, pc) {
        if size > 0 && len > 0 { writes_text(to, pc); }
    }
    inet_ntop(family: c_int, from: *const c_void, to: *mut c_char, room: socklen_t) -> *const c_char, "r8": quick {
        reads(from, if family == libc::AF_INET6 { 16 } else { 4 }, pc);
    } (text, pc) { writes_text(text, pc); }
    inet_pton(family: c_int, text: *const c_char, to: *mut c_void) -> c_int, "rcx": quick { reads_text(text, pc); } (result, pc) {
        if result == 1 { writes(to, if family == libc::AF_INET6 { 16 } else { 4 }, pc); }
    }
    sigemptyset(set: *mut sigset_t) -> c_int, "rsi": quick {} (result, pc) { writes(set, size_of::<sigset_t>(), pc); }
    sigfillset(set: *mut sigset_t) -> c_int, "rsi": quick {} (result, pc) { writes(set, size_of::<sigset_t>(), pc); }
    sigaddset(set: *mut sigset_t, signal: c_int) -> c_int, "rdx": quick { reads(set, 8, pc); } (result, pc) { writes(set, 8, pc); }
    sigdelset(set: *mut sigset_t, signal: c_int) -> c_int, "rdx": quick { reads(set, 8, pc); } (result, pc) { writes(set, 8, pc); }
    sigismember(set: *const sigset_t, signal: c_int) -> c_int, "rdx": quick { reads(set, 8, pc); } (result, pc) {}
    sigwait(set: *const sigset_t, to: *mut c_int) -> c_int, "rdx": away { passes(set, 8, pc); } (result, pc) {
        if result == 0 { waited_for(*to, pc); writes(to, size_of::<c_int>(), pc); }
    }
    sigwaitinfo(set: *const sigset_t, to: *mut siginfo_t) -> c_int, "rdx": away { passes(set, 8, pc); } (signal, pc) {
        if signal > 0 { waited_for(signal, pc); writes(to, size_of::<siginfo_t>(), pc); }
    }
    sigtimedwait(set: *const sigset_t, to: *mut siginfo_t, limit: *const timespec) -> c_int, "rcx": away { passes(set, 8, pc); } (signal, pc) {
        if signal > 0 { waited_for(signal, pc); writes(to, size_of::<siginfo_t>(), pc); }
    }
    signalfd(file: c_int, set: *const sigset_t, flags: c_int) -> c_int, "rcx": system { passes(set, 8, pc); } (result, pc) {
        if file < 0 {
            result = as_recorded(result, pc);
            if result >= 0 { channels::has_signals(result, pc); }
        }
    }
    inotify_init() -> c_int, "rdi": system {} (file, pc) {
        file = as_recorded(file, pc);
        if file >= 0 { channels::watches(file, pc); }
    }
    inotify_init1(flags: c_int) -> c_int, "rsi": system {} (file, pc) {
        file = as_recorded(file, pc);
        if file >= 0 { channels::watches(file, pc); }
    }
    sigsuspend(set: *const sigset_t) -> c_int, "rsi": away { passes(set, 8, pc); } (result, pc) {}
    wait(status: *mut c_int) -> pid_t, "rsi": away {} (process, pc) { process = waited(process, status, ptr::null_mut(), pc); }
    wait3(status: *mut c_int, flags: c_int, used: *mut rusage) -> pid_t, "rcx": away {} (process, pc) {
        process = waited(process, status, used, pc);
    }
    waitpid(which: pid_t, status: *mut c_int, flags: c_int) -> pid_t, "rcx": away {
        let (which, flags) = whom(which, flags, pc);
    } (process, pc) { process = waited(process, status, ptr::null_mut(), pc); }
    wait4(which: pid_t, status: *mut c_int, flags: c_int, used: *mut rusage) -> pid_t, "r8": away {
        let (which, flags) = whom(which, flags, pc);
    } (process, pc) { process = waited(process, status, used, pc); }
    waitid(kind: idtype_t, which: id_t, to: *mut siginfo_t, flags: c_int) -> c_int, "r8": away {
        let which = process_numbers::actual_of(kind, which);
    } (result, pc) {
        if result == 0 {
            if let Some(info) = to.as_ref() {
                // As `wait` would have told it.
                let status = match info.si_code {
                    libc::CLD_EXITED => info.si_status() << 8,
                    _ => info.si_status(),
                };
                reaped(info.si_pid(), Some(&status));
                channels::child_ended(pc);
            }
            if let Some(info) = to.as_mut() { process_numbers::translate(info); }
            arrives(to, size_of::<siginfo_t>(), pc);
        }
    }
    system(command: *const c_char) -> c_int, "rsi": away {
        reads_text(command, pc);
        channels::starts_child(pc);
    } (status, pc) { channels::child_ended(pc); }
}
