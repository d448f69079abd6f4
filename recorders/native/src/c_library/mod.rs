//! Functions of the C and C++ libraries: what they do to memory, and how they order threads.

pub mod at_exit;
pub mod channels;
#[macro_use]
mod library;
mod conversions;
mod copies;
mod cpp;
mod epoll;
pub mod files;
mod filesystems;
mod format;
pub mod forward;
mod freed_blocks;
mod heap;
mod hosts;
mod kernel_objects;
pub mod loader;
mod mappings;
mod math;
mod numbers;
mod paths;
mod ports;
mod process_paths;
pub mod processes;
mod random;
mod regex;
mod segments;

mod sort;
mod static_guards;
mod stdio;
mod stream_locks;
mod strings;
mod system;
mod temporary;
mod terminals;
mod users;
mod wide;
