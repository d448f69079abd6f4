//! The runtime's look at machine code: its tests, which the runtime itself, a shared object, cannot run.

#[path = "../src/events/instruction.rs"]
#[allow(dead_code, reason = "what is for the runtime alone")]
mod instruction;
