//! The logs of RV-Predict for Java, and those of its first version for C and C++: a folder with a file `…trace.bin` for
//! each thread.
//!
//! A file is a stream of `LZ4BlockOutputStream` of lz4-java: blocks with a head of 21 bytes (the mark
//! `LZ4Block`; a byte whose high half says how the block is stored and whose low half its largest
//! size; three little-endian numbers of 32 bits: length in the file, length of the content, the low
//! 28 bits of its xxHash32), and an empty block at the end. The content is records of 37 bytes, all
//! big-endian: number of the event (64 bits, which orders all threads), thread (64), location (32),
//! address (64), value (64), type (8).
//!
//! C and C++ programs log the same records uncompressed and in the byte order of the machine, taken to be
//! little-endian. Addresses are those of the memory then, and what an access covers beyond its first byte is not said.
//! Such a log has no mark; it is known by its records: whole ones, of types that there are, in ascending order, with
//! threads of 48 bits.
//!
//! Later versions for C and C++ log in another way, and their `rvpdump` converts that to these records. An event's
//! number is then made of a generation, which synchronization raises (its upper 16 bits), a count of its thread, and
//! the thread: the order is one of the program as far as locks, starts and joins tell, and what nothing orders may have
//! happened in another. An address is a number that `var_metadata.bin` has, in the upper half for variables; a handler
//! of signals is a thread with its highest bit set.
//!
//! Types are numbered as in the public source at its end: 0 read, 1 write, 5 and 6 lock and unlock, 7
//! and 8 the same for reading, 9 and 10 before and after a wait, 11 start and 12 join of a thread, 13
//! and 14 around a class initializer; 15 to 17 (methods, attempts) order nothing. Versions that numbered
//! waits otherwise, or had none, leave no mark in their logs; these begin waits on locks that nobody
//! holds, and are refused for that.
//!
//! An address of an access is an object's hash and, below, the number of a field (negative) or the
//! index of an element; of a lock its kind and hash; of a start or join the thread. Operations of
//! `java.util.concurrent.atomic` are logged within a lock. Notifications are not logged, and Java's
//! waits may end without one, so every wait is one that timed out. Accesses within a class initializer
//! are left out: whoever uses the class waits for it, and a record does not say which class it is.
//! Values are not used: they are logged apart from the access, and need not be what it saw.
//!
//! Source: `EventWriter`, `EventReader`, `EventType`, `PersistentLoggingEngine`, `LZ4Utils`, and for C
//! `LLVMEventReader`, `BinaryParser`, `rvpdump/reader.c` and `legacy.h` of RV-Predict, and the reader `rvparse` of RAPID,
//! which agree.

use super::error::{ImportError, Malformed};
use super::record::{Each, Names, Record, RecordOp};
use hashbrown::HashMap;
use std::path::{Path, PathBuf};
use twox_hash::XxHash32;

/// Bytes of a record.
const RECORD: usize = 37;
/// Bytes before the content of a block.
const HEAD: usize = 21;
const MARK: &[u8] = b"LZ4Block";
const SEED: u32 = 0x9747_b28c;
/// No block's content is longer, whatever its head says.
const MOST: usize = 1 << 25;
/// No LZ4 block grows by more than this when it is unpacked.
const GROWTH: usize = 255;

/// Types that there are.
const TYPES: u8 = 18;
/// Marks the type of a record of a C or C++ program among unpacked ones.
const OF_C: u8 = 0x80;
/// Marks a thread that is a handler of signals of a C or C++ program.
const OF_SIGNAL: u64 = 1 << 63;

/// Whether a content is a log of one thread.
pub(super) fn fits(bytes: &[u8]) -> bool {
    bytes.starts_with(MARK) || is_of_c(bytes)
}

/// Whether a content is records of a C or C++ program.
fn is_of_c(bytes: &[u8]) -> bool {
    let (records, rest) = bytes.as_chunks::<RECORD>();
    let number = |record: &[u8; RECORD]| little(&record[..8]);
    let ascending = records.windows(2).all(|pair| number(&pair[0]) < number(&pair[1]));
    // No text has zeros.
    let thread = |record: &[u8; RECORD]| little(&record[8..16]) & !OF_SIGNAL;
    let known = |record: &[u8; RECORD]| record[RECORD - 1] < TYPES && thread(record) < 1 << 48;
    !records.is_empty() && rest.is_empty() && records.iter().all(known) && ascending
}

fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

/// Appends records of a C or C++ program in the byte order of the others.
fn take_over(bytes: &[u8], records: &mut Vec<u8>) {
    for record in bytes.as_chunks::<RECORD>().0 {
        for field in [0..8, 8..16, 16..20, 20..28, 28..36] {
            records.extend(record[field].iter().rev());
        }
        records.push(record[RECORD - 1] | OF_C);
    }
}

/// The logs in a folder, in order of their names.
pub(super) fn logs(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with("trace.bin") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Appends the records of one log to those before.
pub(super) fn unpack(file: &str, bytes: &[u8], records: &mut Vec<u8>) -> Result<(), ImportError> {
    if is_of_c(bytes) {
        take_over(bytes, records);
        return Ok(());
    }
    let before = records.len();
    let refuse = |offset: usize, reason: &str| ImportError::Log {
        file: file.to_owned(),
        offset: offset as u64,
        reason: reason.to_owned(),
    };
    let mut rest = bytes;
    loop {
        let offset = bytes.len() - rest.len();
        let Some((head, behind)) = rest.split_first_chunk::<HEAD>() else {
            return Err(refuse(offset, "it is cut: no empty block at its end"));
        };
        if !head.starts_with(MARK) {
            return Err(refuse(offset, "no block begins here"));
        }
        let field = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (stored, length, checksum) = (field(9) as usize, field(13) as usize, field(17));
        if length == 0 && stored == 0 {
            break;
        }
        if length > MOST || length > stored.saturating_mul(GROWTH) {
            return Err(refuse(offset, "a block claims more than it can hold"));
        }
        let Some((content, next)) = behind.split_at_checked(stored) else {
            return Err(refuse(offset, "it is cut within a block"));
        };
        let start = records.len();
        match head[8] & 0xf0 {
            0x10 => records.extend(content),
            0x20 => match lz4_flex::block::decompress(content, length) {
                Ok(unpacked) => records.extend(unpacked),
                Err(_) => return Err(refuse(offset, "a block cannot be unpacked")),
            },
            _ => return Err(refuse(offset, "a block is stored in an unknown way")),
        }
        let found = &records[start..];
        if found.len() != length || XxHash32::oneshot(SEED, found) & 0x0fff_ffff != checksum {
            return Err(refuse(offset, "a block is damaged: its checksum is another"));
        }
        rest = next;
    }
    if !(records.len() - before).is_multiple_of(RECORD) {
        return Err(refuse(bytes.len(), "its content ends within a record"));
    }
    Ok(())
}

/// A record of 37 bytes.
struct Raw {
    number: u64,
    thread: u64,
    location: u32,
    address: u64,
    kind: u8,
    /// It comes from a C or C++ program.
    of_c: bool,
}

impl Raw {
    fn of(bytes: &[u8; RECORD]) -> Raw {
        let number = |from: usize, length: usize| {
            bytes[from..from + length]
                .iter()
                .fold(0, |sum: u64, &byte| sum << 8 | u64::from(byte))
        };
        Raw {
            number: number(0, 8),
            thread: number(8, 8),
            location: number(16, 4) as u32,
            address: number(20, 8),
            kind: bytes[36] & !OF_C,
            of_c: bytes[36] & OF_C != 0,
        }
    }
}

/// Reads unpacked records, of all threads; the place of a record in their order, from 1, stands for a
/// line.
pub(super) fn parse(file: &str, bytes: &[u8], names: &mut Names, each: &mut Each<'_>) -> Result<(), ImportError> {
    let (records, _) = bytes.as_chunks::<RECORD>();
    let mut events: Vec<Raw> = records.iter().map(Raw::of).collect();
    // Methods share the number of the event that comes next.
    events.retain(|raw| !(15..=17).contains(&raw.kind));
    events.sort_by_key(|raw| raw.number);
    let mut before = None;
    // By thread: how many class initializers it is in.
    let mut initializing: HashMap<u64, u32> = HashMap::new();
    for (line, raw) in (1..).zip(events) {
        let twice = before.replace(raw.number) == Some(raw.number);
        let unreadable = |reason: String| Err(Malformed::Unreadable { reason });
        let depth = initializing.entry(raw.thread).or_default();
        let parsed = if twice {
            unreadable(format!("a second event has the number {}", raw.number))
        } else if raw.kind == 13 {
            *depth = depth.saturating_add(1);
            continue;
        } else if raw.kind == 14 {
            *depth = depth.saturating_sub(1);
            continue;
        } else if *depth > 0 && raw.kind <= 1 {
            continue;
        } else if matches!(raw.kind, 0 | 1 | 5..=12) {
            let full = || ImportError::TooManyNames {
                file: file.to_owned(),
                line,
            };
            Ok(record(&raw, names).ok_or_else(full)?)
        } else {
            unreadable(format!("event {} has the unknown type {}", raw.number, raw.kind))
        };
        each(line, parsed)?;
    }
    Ok(())
}

/// `None`: too many names.
fn record(raw: &Raw, names: &mut Names) -> Option<Record> {
    let thread = names.thread(&raw.thread.to_string())?;
    let (object, part) = (raw.address >> 32, raw.address as i32);
    let variable = match part {
        _ if raw.of_c => format!("{:#x}", raw.address),
        ..0 => format!("{object:x}.{}", part.unsigned_abs()),
        _ => format!("{object:x}[{part}]"),
    };
    let lock = format!("{:x}", raw.address);
    let op = match raw.kind {
        0 => RecordOp::Read(names.variable(&variable)?),
        1 => RecordOp::Write(names.variable(&variable)?),
        5 | 10 => RecordOp::Acquire(names.lock(&lock)?),
        6 => RecordOp::Release(names.lock(&lock)?),
        7 => RecordOp::AcquireShared(names.lock(&lock)?),
        8 => RecordOp::Release(names.lock(&lock)?),
        9 => RecordOp::MonitorWait(names.lock(&lock)?),
        11 => RecordOp::Fork(names.thread(&raw.address.to_string())?),
        _ => RecordOp::Join(names.thread(&raw.address.to_string())?),
    };
    let position = Some(names.position(&(raw.location as i32).to_string())?);
    Some(Record { thread, op, position })
}
