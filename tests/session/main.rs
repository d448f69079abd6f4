//! Sessions: runs along a prefix and then under a policy, in this process.

#[path = "../end_to_end/command.rs"]
#[allow(dead_code, reason = "only compilers are run here")]
mod command;
mod explore;
mod forced;
mod pictures;
#[path = "../live/program.rs"]
#[allow(dead_code, reason = "runs are those of sessions")]
mod program;
