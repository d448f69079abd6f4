//! What functions that are not recorded may carry from thread to thread, told from the library and the name.
//!
//! A library that has no way to synchronize still keeps what it is given: a list, a table, a cache. Who takes something
//! out of it comes behind whoever put it in. It is for the program to keep two calls apart, and mostly it does so by a
//! lock; the order in which threads take that is recorded, but not that one has found what the other left.

use super::file_name;
use super::uninstrumented::Passing;

/// What a call may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carries {
    /// Nothing to another thread.
    Nothing,
    /// All that its thread did before, to whoever calls under the same lock.
    UnderLock,
    /// This, to whoever calls.
    Always(Passing),
}

/// The C library's functions that keep what they are given, or give it back.
const OF_C: [&str; 16] = [
    "getenv",
    "hcreate",
    "hcreate_r",
    "hsearch",
    "hsearch_r",
    "insque",
    "lfind",
    "lsearch",
    "putenv",
    "remque",
    "setenv",
    "tdelete",
    "tfind",
    "tsearch",
    "twalk",
    "twalk_r",
];

/// GLib's, by the beginnings of their names.
const OF_GLIB: [&str; 15] = [
    "g_array_",
    "g_byte_array_",
    "g_cache_",
    "g_datalist_",
    "g_dataset_",
    "g_hash_table_",
    "g_list_",
    "g_node_",
    "g_object_",
    "g_ptr_array_",
    "g_queue_",
    "g_sequence_",
    "g_slist_",
    "g_tree_",
    "g_variant_",
];

/// What libstdc++ counts the users of, as classes' names are mangled: who is the last frees it.
const COUNTED: [&str; 4] = [
    "_ZNSt15__exception_ptr13exception_ptr",
    "_ZNSt13runtime_error",
    "_ZNSt11logic_error",
    "_ZNSt6locale",
];

/// Those by which copies of such things are made, and let go.
const COPIES: [&str; 4] = ["C1ERKS", "C2ERKS", "aSERKS", "9_M_addref"];
const ENDS: [&str; 4] = ["D0Ev", "D1Ev", "D2Ev", "10_M_release"];

/// What comes with the system and keeps nothing for the program, as the start of its file's name.
const KEEPS_NOTHING: [&str; 5] = ["ld-linux", "libgcc_s.", "libm.", "linux-vdso", "libgomp."];

/// What a function of a library carries; `is_taken`: whether the program takes a function of such a name from others.
pub(super) fn carries(path: &str, name: &str, is_taken: &dyn Fn(&str) -> bool) -> Carries {
    let library = file_name(path);
    let is = |start: &str| library.starts_with(start);
    let if_so = |so: bool| if so { Carries::UnderLock } else { Carries::Nothing };
    if is("libc.") {
        return if_so(OF_C.contains(&name));
    }
    if is("libglib-2.0.") || is("libgobject-2.0.") {
        return if_so(OF_GLIB.iter().any(|start| name.starts_with(start)));
    }
    if is("libstdc++.") || is("libc++") {
        let class = COUNTED.iter().find(|class| name.starts_with(**class));
        return class.map_or(Carries::Nothing, |class| {
            let does = |what: &[&str]| what.iter().any(|what| name[class.len()..].starts_with(what));
            // One that is never copied has one user.
            let copied = || COPIES.iter().any(|copy| is_taken(&format!("{class}{copy}")));
            match does(&COPIES) || does(&ENDS) && copied() {
                true => Carries::Always(Passing::BOTH),
                false => Carries::Nothing,
            }
        });
    }
    if_so(!KEEPS_NOTHING.iter().any(|known| is(known)))
}

#[cfg(test)]
mod tests {
    use super::{Carries, carries};
    use crate::symbols::uninstrumented::Passing;

    #[test]
    fn a_function_is_known_by_its_library_and_its_name() {
        let copied = "_ZNSt13runtime_errorC1ERKS_";
        let taken = |start: &str| copied.starts_with(start);
        let both = Carries::Always(Passing::BOTH);
        for (path, name, expected) in [
            ("/lib/libc.so.6", "tsearch", Carries::UnderLock),
            ("/lib/libc.so.6", "qsort", Carries::Nothing),
            ("/lib/libglib-2.0.so.0", "g_hash_table_insert", Carries::UnderLock),
            ("/lib/libglib-2.0.so.0", "g_print", Carries::Nothing),
            ("/lib/libm.so.6", "sin", Carries::Nothing),
            ("/app/libbox.so", "box_put", Carries::UnderLock),
            ("/lib/libstdc++.so.6", copied, both),
            ("/lib/libstdc++.so.6", "_ZNSt13runtime_errorD1Ev", both),
            ("/lib/libstdc++.so.6", "_ZNSt6localeD1Ev", Carries::Nothing),
            (
                "/lib/libstdc++.so.6",
                "_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv",
                both,
            ),
            ("/lib/libstdc++.so.6", "_ZNSt13runtime_errorC1EPKc", Carries::Nothing),
            ("/lib/libstdc++.so.6", "_ZNSolsEi", Carries::Nothing),
        ] {
            assert_eq!(carries(path, name, &taken), expected, "{name} of {path}");
        }
    }
}
