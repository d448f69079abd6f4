//! RAPID's STD text: one event per line, `thread|operation(object)|location`.
//!
//! The dialects in use: `acq rel r w fork join begin end` as in RAPID's own parser, `rd` and `wr`, `req` (asked for a
//! lock: no event here), `wait notify notifyAll`, `branch`, `dummy` and `enter`/`exit` (which order nothing), `begin`
//! with and without an empty pair of parentheses, threads with and without their `T`, a location that is a number,
//! `path:line`, or absent, blank lines and lines that start with `#` or `//`.

use super::error::{ImportError, Malformed};
use super::record::{Each, Names, Record, RecordOp, lines, shown};

/// Reads a trace in STD.
pub(super) fn parse(file: &str, bytes: &[u8], names: &mut Names, each: &mut Each<'_>) -> Result<(), ImportError> {
    for (line, text) in lines(bytes) {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') || text.starts_with("//") {
            continue;
        }
        match event(text, names) {
            Ok(Some(record)) => each(line, Ok(record))?,
            Ok(None) => {}
            Err(Fault::Reason(reason)) => {
                let reason = format!("{reason} in '{}'", shown(text));
                each(line, Err(Malformed::Unreadable { reason }))?;
            }
            Err(Fault::TooManyNames) => {
                let file = file.to_owned();
                return Err(ImportError::TooManyNames { file, line });
            }
        }
    }
    Ok(())
}

/// Whether a line is an event of this format.
pub(super) fn is_event(text: &str) -> bool {
    event(text.trim(), &mut Names::default()).is_ok()
}

/// Why a line is no event.
#[derive(Debug)]
enum Fault {
    Reason(&'static str),
    TooManyNames,
}

fn event(text: &str, names: &mut Names) -> Result<Option<Record>, Fault> {
    let mut fields = text.splitn(3, '|').map(str::trim);
    let thread = fields.next().filter(|thread| !thread.is_empty());
    let thread = thread.ok_or(Fault::Reason("no thread"))?;
    let operation = fields.next().ok_or(Fault::Reason("no '|' after the thread"))?;
    let position = fields.next().filter(|position| !position.is_empty());
    let (name, object) = match operation.split_once('(') {
        None => (operation, None),
        Some((name, rest)) => {
            let object = rest
                .strip_suffix(')')
                .ok_or(Fault::Reason("no ')' at the end of the operation"))?;
            (name.trim(), Some(object.trim()).filter(|object| !object.is_empty()))
        }
    };
    if matches!(name, "req" | "dummy" | "enter" | "exit") {
        return Ok(None);
    }
    if !OPERATIONS.contains(&name) {
        return Err(Fault::Reason("unknown operation"));
    }
    if object.is_none() && !matches!(name, "begin" | "end" | "branch") {
        return Err(Fault::Reason("no object"));
    }
    // Nothing is numbered before the line is known to be an event; the thread comes first.
    let full = || Fault::TooManyNames;
    let thread = names.thread(thread).ok_or_else(full)?;
    let object = object.unwrap_or_default();
    let op = match name {
        "acq" => names.lock(object).map(RecordOp::Acquire),
        "rel" => names.lock(object).map(RecordOp::Release),
        "r" | "rd" => names.variable(object).map(RecordOp::Read),
        "w" | "wr" => names.variable(object).map(RecordOp::Write),
        "fork" => names.thread(object).map(RecordOp::Fork),
        "join" => names.thread(object).map(RecordOp::Join),
        "wait" => names.lock(object).map(RecordOp::Wait),
        "notify" => names.lock(object).map(RecordOp::Notify),
        "notifyAll" | "notifyall" => names.lock(object).map(RecordOp::NotifyAll),
        "begin" => Some(RecordOp::Begin),
        "end" => Some(RecordOp::End),
        _ => Some(RecordOp::Branch),
    };
    Ok(Some(Record {
        thread,
        op: op.ok_or_else(full)?,
        position: position
            .map(|place| names.position(place).ok_or_else(full))
            .transpose()?,
    }))
}

/// The operations that are events here.
const OPERATIONS: [&str; 15] = [
    "acq",
    "rel",
    "r",
    "rd",
    "w",
    "wr",
    "fork",
    "join",
    "wait",
    "notify",
    "notifyAll",
    "notifyall",
    "begin",
    "end",
    "branch",
];

#[cfg(test)]
mod tests {
    use super::{Names, RecordOp, event, is_event};

    #[test]
    fn a_thread_is_the_same_with_and_without_its_letter() {
        let mut names = Names::default();
        let forked = event("T0|fork(1)|3", &mut names).unwrap().unwrap();
        let record = event(" T1 | rd( x ) ", &mut names).unwrap().unwrap();
        assert_eq!(forked.op, RecordOp::Fork(record.thread));
        assert_eq!(record.position, None);
    }

    #[test]
    fn what_is_no_event_is_not_one() {
        for text in [
            "",
            "T0",
            "T0|",
            "|w(x)|1",
            "T0|w|1",
            "T0|w()|1",
            "T0|w(x|1",
            "T0|jump(x)|1",
        ] {
            assert!(!is_event(text), "{text}");
        }
        assert!(is_event("T0|req(l)|1"));
        assert!(is_event("T0|begin|1"));
    }
}
