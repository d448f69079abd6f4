//! The forms that take a list of arguments in place of an array.

use super::by_name;
use super::program::{List, Named, environ};
use core::ptr;
use libc::{c_char, c_int};
use std::vec::Vec;

/// Five arguments come in registers, the others lie behind the return address.
macro_rules! listed {
    ($($name:ident = $body:path;)*) => { $(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "mov rsi, rsp",
                "call {body}",
                "add rsp, 40",
                "ret",
                body = sym $body,
            )
        }
    )* };
}

listed! {
    execl = by_path;
    execlp = in_search_path;
    execle = with_environment;
}

/// The arguments up to the null, and the one behind it.
///
/// # Safety
/// `words` are the arguments as `listed` has put them.
unsafe fn listed_arguments(words: List) -> (Vec<*const c_char>, impl Fn() -> *const c_char) {
    const REGISTERS: usize = 5;
    // SAFETY: the list ends with a null; the return address is no part of it.
    let word = move |at: usize| unsafe { *words.add(at + usize::from(at >= REGISTERS)) };
    let mut arguments: Vec<_> = (0..).map(word).take_while(|word| !word.is_null()).collect();
    arguments.push(ptr::null());
    let count = arguments.len();
    (arguments, move || word(count))
}

unsafe extern "C" fn by_path(path: *const c_char, words: List) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { by_name(Named::ByPath(path), listed_arguments(words).0.as_ptr(), environ) }
}

unsafe extern "C" fn in_search_path(file: *const c_char, words: List) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe { by_name(Named::InSearchPath(file), listed_arguments(words).0.as_ptr(), environ) }
}

unsafe extern "C" fn with_environment(path: *const c_char, words: List) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe {
        let (arguments, behind) = listed_arguments(words);
        by_name(Named::ByPath(path), arguments.as_ptr(), behind().cast())
    }
}
