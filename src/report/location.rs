//! The kind of memory that a race is about.

use super::words::Words;
use crate::symbols::printable;
use crate::trace::{Access, EventId, IncarnationId};

/// The memory that an access touches, in words, and the event that allocated it.
pub(super) fn location(words: &Words<'_>, access: Access) -> (String, Option<EventId>) {
    let trace = words.trace;
    let incarnation = trace.incarnation_of(access.event);
    if incarnation != IncarnationId::STATIC {
        let block = trace.incarnation(incarnation);
        let offset = access.addr.wrapping_sub(block.addr);
        let place = format!(
            "block of {} bytes at {:#x}, {offset} bytes into it",
            block.size, block.addr
        );
        return match block.alloc {
            // No code of the program asked for it: it came with the thread.
            Some(alloc) if trace.pc(alloc) == 0 => {
                let thread = words.thread(trace.thread(alloc));
                (
                    format!("stack of {thread}, which is {} bytes at {:#x}", block.size, block.addr),
                    None,
                )
            }
            Some(alloc) => {
                let thread = words.thread(trace.thread(alloc));
                let text = match words.descriptor(access) {
                    Some(name) => format!("{name}, opened by {thread}:"),
                    None => format!("{place}, allocated by {thread}:"),
                };
                (text, Some(alloc))
            }
            None => (place, None),
        };
    }
    match words.symbols.variable(access.addr) {
        Some(variable) => {
            let offset = access.addr - variable.addr;
            let into = if offset > 0 {
                format!(", {offset} bytes into it")
            } else {
                String::new()
            };
            let text = match variable.module {
                Some(module) => format!(
                    "global '{}' of size {} at {:#x}{into} ({})",
                    printable(&variable.name),
                    variable.size,
                    variable.addr,
                    printable(&module)
                ),
                // Its address and size are no more than numbers that the import gave it.
                None => format!("variable '{}'{into}", printable(&variable.name)),
            };
            (text, None)
        }
        None => match words.descriptor(access) {
            Some(name) => (format!("{name}, which was open when recording began"), None),
            None => {
                let text = format!("memory at {:#x} that no recorded allocation covers", access.addr);
                (text, None)
            }
        },
    }
}
