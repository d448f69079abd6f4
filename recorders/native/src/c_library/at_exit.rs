//! Functions that the program registers to be run at its end, or when a library is unloaded: they come after the call
//! that registered them, whichever thread ends the program.
//!
//! `atexit` is no function of the shared C library: each module has its own, which tells its library that it is the
//! one. A program that was linked against ThreadSanitizer's runtime has that runtime's.

use crate::events::modules;
use crate::events::moment::Moment;
use crate::events::variable::Turns;
use crate::platform::export::export;
use crate::platform::memory::NOBODYS;
use crate::runtime::guard::RuntimeGuard;
use core::ffi::c_void;
use core::ptr;
use libc::c_int;
use std::boxed::Box;

mod library {
    use libc::{c_int, c_void};

    crate::platform::real::real! {
    fn __cxa_atexit(function: unsafe extern "C-unwind" fn(*mut c_void), argument: *mut c_void, library: *mut c_void) -> c_int;
    fn on_exit(function: unsafe extern "C-unwind" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }
}

/// How often a function was registered: the last one is called first.
static REGISTERED: Turns = Turns::at(NOBODYS | 1 << 53);

/// In a forked child, whose trace begins here.
pub fn start_over() {
    REGISTERED.start_over();
}

/// A function that will be called.
struct Registered {
    function: Function,
    argument: *mut c_void,
    since: Moment,
}

#[derive(Clone, Copy)]
enum Function {
    Plain(unsafe extern "C-unwind" fn()),
    WithArgument(unsafe extern "C-unwind" fn(*mut c_void)),
    WithStatus(unsafe extern "C-unwind" fn(c_int, *mut c_void)),
}

impl Function {
    fn pc(self) -> usize {
        match self {
            Function::Plain(function) => function as usize,
            Function::WithArgument(function) => function as usize,
            Function::WithStatus(function) => function as usize,
        }
    }
}

fn registered(inside: &RuntimeGuard, function: Function, argument: *mut c_void, pc: usize) -> *mut c_void {
    let _ = inside;
    REGISTERED.take(pc);
    let since = Moment::now(pc);
    Box::into_raw(Box::new(Registered {
        function,
        argument,
        since,
    }))
    .cast()
}

unsafe extern "C-unwind" fn run(it: *mut c_void) {
    // SAFETY: what was registered.
    unsafe { run_with_status(0, it) };
}

unsafe extern "C-unwind" fn run_with_status(status: c_int, it: *mut c_void) {
    // SAFETY: the C library calls each function once, with what was registered.
    let it = unsafe { Box::from_raw(it.cast::<Registered>()) };
    if let Some(_inside) = RuntimeGuard::enter() {
        it.since.is_past(it.function.pc());
    }
    let Registered { function, argument, .. } = *it;
    // SAFETY: the program's own function and argument.
    unsafe {
        match function {
            Function::Plain(function) => function(),
            Function::WithArgument(function) => function(argument),
            Function::WithStatus(function) => function(status, argument),
        }
    }
}

unsafe extern "C-unwind" fn register(
    function: unsafe extern "C-unwind" fn(*mut c_void),
    argument: *mut c_void,
    handle: *mut c_void,
    pc: usize,
) -> c_int {
    let inside = if modules::is_instrumented(pc) {
        RuntimeGuard::enter()
    } else {
        None
    };
    // SAFETY: the program's own arguments.
    unsafe {
        match inside {
            Some(inside) => {
                let it = registered(&inside, Function::WithArgument(function), argument, pc);
                library::__cxa_atexit(run, it, handle)
            }
            None => library::__cxa_atexit(function, argument, handle),
        }
    }
}

unsafe extern "C-unwind" fn register_plain(function: unsafe extern "C-unwind" fn(), pc: usize) -> c_int {
    let handle = modules::handle_of(pc) as *mut c_void;
    // SAFETY: the program's own function.
    unsafe {
        match RuntimeGuard::enter() {
            Some(inside) => {
                let it = registered(&inside, Function::Plain(function), ptr::null_mut(), pc);
                library::__cxa_atexit(run, it, handle)
            }
            None => {
                // A function of no argument does not mind one.
                let function = core::mem::transmute::<
                    unsafe extern "C-unwind" fn(),
                    unsafe extern "C-unwind" fn(*mut c_void),
                >(function);
                library::__cxa_atexit(function, ptr::null_mut(), handle)
            }
        }
    }
}

unsafe extern "C-unwind" fn register_with_status(
    function: unsafe extern "C-unwind" fn(c_int, *mut c_void),
    argument: *mut c_void,
    pc: usize,
) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe {
        match RuntimeGuard::enter() {
            Some(inside) => {
                let it = registered(&inside, Function::WithStatus(function), argument, pc);
                library::on_exit(run_with_status, it)
            }
            None => library::on_exit(function, argument),
        }
    }
}

export! {
    atexit = register_plain, "rsi";
    on_exit = register_with_status, "rdx";
    __cxa_atexit = register, "rcx";
}
