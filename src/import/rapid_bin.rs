//! RAPID's binary traces: a header, then 64 bits an event, all big-endian.
//!
//! The header holds the numbers of threads (16 bits), locks (32), variables (32) and events (64).
//! Of an event, bits 0 to 9 are the thread, 10 to 13 the operation, 14 to 47 the object and 48 to
//! 62 the location. Operations are numbered as in RAPID: acquire, release, read, write, fork,
//! join, begin, end, and 8 for what is no event here (`dummy`, a request for a lock).

use super::error::{ImportError, Malformed};
use super::record::{Each, Names, Record, RecordOp};

const HEADER: usize = 18;
const EVENT: usize = 8;

/// The number of events that the header gives, if it is one.
fn count(bytes: &[u8]) -> Option<u64> {
    let (threads, rest) = bytes.split_first_chunk()?;
    let (locks, rest) = rest.split_first_chunk()?;
    let (variables, rest) = rest.split_first_chunk()?;
    let (events, _) = rest.split_first_chunk()?;
    let sensible = i16::from_be_bytes(*threads) >= 0 && i32::from_be_bytes(*locks) >= 0;
    let sensible = sensible && i32::from_be_bytes(*variables) >= 0;
    u64::try_from(i64::from_be_bytes(*events)).ok().filter(|_| sensible)
}

/// Whether a content is as long as its header says.
pub(super) fn fits(bytes: &[u8]) -> bool {
    let length = count(bytes).and_then(|events| events.checked_mul(EVENT as u64)?.checked_add(HEADER as u64));
    length == Some(bytes.len() as u64)
}

/// Reads a trace in RapidBin; the number of an event, from 1, stands for its line.
pub(super) fn parse(file: &str, bytes: &[u8], names: &mut Names, each: &mut Each<'_>) -> Result<(), ImportError> {
    let header = |reason: String| ImportError::Header {
        file: file.to_owned(),
        reason,
    };
    let Some(events) = count(bytes) else {
        return Err(header(format!("its {} bytes begin with no header", bytes.len())));
    };
    if !fits(bytes) {
        let there = (bytes.len() - HEADER) as f64 / EVENT as f64;
        return Err(header(format!(
            "its header counts {events} events, and {there} are there"
        )));
    }
    let (events, _) = bytes[HEADER..].as_chunks::<EVENT>();
    for (line, event) in (1..).zip(events) {
        let bits = u64::from_be_bytes(*event);
        if bits >> 63 != 0 {
            let reason = format!("the sign bit of {bits:#018x} is set");
            each(line, Err(Malformed::Unreadable { reason }))?;
            continue;
        }
        let field = |from: u32, length: u32| (bits >> from) & ((1 << length) - 1);
        let (thread, operation, object, location) = (field(0, 10), field(10, 4), field(14, 34), field(48, 15));
        let full = || ImportError::TooManyNames {
            file: file.to_owned(),
            line,
        };
        if operation > 8 {
            let reason = format!("operation {operation} of {bits:#018x} is unknown");
            each(line, Err(Malformed::Unreadable { reason }))?;
            continue;
        }
        if operation == 8 {
            continue;
        }
        let thread = names.thread(&thread.to_string()).ok_or_else(full)?;
        let lock = |names: &mut Names| names.lock(&format!("L{object}"));
        let variable = |names: &mut Names| names.variable(&format!("V{object}"));
        let child = |names: &mut Names| names.thread(&object.to_string());
        let op = match operation {
            0 => lock(names).map(RecordOp::Acquire),
            1 => lock(names).map(RecordOp::Release),
            2 => variable(names).map(RecordOp::Read),
            3 => variable(names).map(RecordOp::Write),
            4 => child(names).map(RecordOp::Fork),
            5 => child(names).map(RecordOp::Join),
            6 => Some(RecordOp::Begin),
            _ => Some(RecordOp::End),
        };
        let op = op.ok_or_else(full)?;
        let position = Some(names.position(&location.to_string()).ok_or_else(full)?);
        each(line, Ok(Record { thread, op, position }))?;
    }
    Ok(())
}
