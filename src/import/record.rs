//! The output of the parsers of formats without values: events with interned names.

use super::error::{ImportError, Malformed};
use hashbrown::HashMap;

/// One event, as a line says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Number in [`Names::threads`].
    pub(super) thread: u32,
    pub(super) op: RecordOp,
    /// Number in [`Names::positions`]; `None`: the line does not say where.
    pub(super) position: Option<u32>,
}

/// What it does; the numbers are those of [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordOp {
    Acquire(u32),
    AcquireShared(u32),
    Release(u32),
    Read(u32),
    Write(u32),
    VolatileRead(u32),
    VolatileWrite(u32),
    Fork(u32),
    Join(u32),
    Begin,
    End,
    /// On a condition, whose lock is told by what comes before and after it.
    Wait(u32),
    /// Within the monitor that it is on, whatever was released before.
    MonitorWait(u32),
    Notify(u32),
    NotifyAll(u32),
    Branch,
}

/// What a parser hands on for each event: its line, from 1, and the event or why it is none.
pub(super) type Each<'a> = dyn FnMut(u64, Result<Record, Malformed>) -> Result<(), ImportError> + 'a;

/// Reads a whole file of one format. Reading it twice gives the same records and names.
pub(super) type Parse = fn(&str, &[u8], &mut Names, &mut Each<'_>) -> Result<(), ImportError>;

/// Names with numbers in the order in which they came up.
#[derive(Debug, Default)]
pub(super) struct Table {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl Table {
    fn number(&mut self, name: &str) -> Option<u32> {
        if let Some(&known) = self.numbers.get(name) {
            return Some(known);
        }
        let number = u32::try_from(self.names.len())
            .ok()
            .filter(|&number| number < u32::MAX)?;
        self.numbers.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        Some(number)
    }

    pub(super) fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("?", String::as_str)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }
}

/// The names of one trace. Locks and conditions share a name space, as a Java monitor is both.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) threads: Table,
    pub(super) locks: Table,
    pub(super) variables: Table,
    pub(super) positions: Table,
}

impl Names {
    /// A thread. `1` is another way to write `T1`.
    pub(super) fn thread(&mut self, name: &str) -> Option<u32> {
        if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
            return self.threads.number(&format!("T{name}"));
        }
        self.threads.number(name)
    }

    pub(super) fn lock(&mut self, name: &str) -> Option<u32> {
        self.locks.number(name)
    }

    pub(super) fn variable(&mut self, name: &str) -> Option<u32> {
        self.variables.number(name)
    }

    pub(super) fn position(&mut self, name: &str) -> Option<u32> {
        self.positions.number(name)
    }
}

/// The lines of a text, numbered from 1, without their ends; bytes that are no UTF-8 are replaced.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, std::borrow::Cow<'_, str>)> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    (1..).zip(bytes.split(|&byte| byte == b'\n').map(String::from_utf8_lossy))
}

/// A text for a message: its beginning, without control characters.
pub(super) fn shown(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(60)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(60).is_some() {
        shown.push('…');
    }
    shown
}
