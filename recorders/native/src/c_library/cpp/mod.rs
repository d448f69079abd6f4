//! What libstdc++, which is not instrumented, does to the program's memory: programs call it for the nodes of lists and
//! trees, for strings, and for threads, where they have the rest of these as templates in their own code.
//!
//! Unless that is recorded, each such node and string is memory that unrecorded code changes, and whoever looks at one
//! keeps its place among the events of all other threads.

mod hash_tables;
mod lists;
mod random_device;
mod strings;
mod thread_objects;
mod trees;
