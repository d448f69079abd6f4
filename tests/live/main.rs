//! Live replay: the programs themselves, forced along their witnesses, through the command line.

mod again;
#[path = "../end_to_end/command.rs"]
mod command;
#[path = "../end_to_end/expectation.rs"]
#[allow(dead_code, reason = "verdicts are compared by the other test")]
mod expectation;
mod identical;
mod numbers;
mod outcomes;
#[allow(dead_code, reason = "shared with the tests of deadlocks and of uses after free")]
mod program;
mod programs;
mod split_calls;
