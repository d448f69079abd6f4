//! The payload of a table block: rows added to the side tables, and when they may be.
//!
//! The only place that uses bincode. Rows are few next to events, so a generic codec will do; its
//! length fields come from the file and are not believed: the payload is bounded before it is
//! decompressed, and bincode is told that bound, so nothing larger is ever allocated.

use crate::fault::TablesFault;
use crate::tables::{MarkKind, Tables, TablesDelta};
use crate::validity::Rows;
use bincode::Options;

/// The largest payload of a table block, in bytes before compression.
pub(crate) const MAX_TABLES_BYTES: u32 = 64 << 20;
/// Size at which the writer starts another delta.
const TARGET_BYTES: u64 = 1 << 20;

/// Little-endian, integers at their full width, nothing after the value.
fn codec() -> impl Options {
    bincode::DefaultOptions::new()
        .with_fixint_encoding()
        .with_little_endian()
        .with_limit(MAX_TABLES_BYTES.into())
        .reject_trailing_bytes()
}

/// The payload for a delta; `Err` is its size, if that is more than a block may have.
pub(crate) fn encode(delta: &TablesDelta) -> Result<Vec<u8>, u64> {
    codec().serialize(delta).map_err(|_| {
        let unlimited = bincode::DefaultOptions::new().with_fixint_encoding();
        unlimited.serialized_size(delta).unwrap_or(u64::MAX)
    })
}

/// The delta in a payload.
pub(crate) fn decode(payload: &[u8]) -> Result<TablesDelta, TablesFault> {
    codec()
        .deserialize(payload)
        .map_err(|error| TablesFault::NotADelta(error.to_string()))
}

/// Checks that a delta may follow tables with `rows` rows, and counts its rows in.
pub(crate) fn check(delta: &TablesDelta, rows: &mut Rows) -> Result<(), TablesFault> {
    for (id, info) in &delta.threads {
        if id.index() > rows.threads {
            return Err(TablesFault::ThreadGap {
                id: id.0,
                rows: rows.threads,
            });
        }
        // Threads are numbered by creation, and so nobody who follows parents can run in a circle.
        if let Some(parent) = info.parent.filter(|parent| parent >= id) {
            return Err(TablesFault::ThreadParent {
                id: id.0,
                parent: parent.0,
            });
        }
        rows.threads = rows.threads.max(id.index() + 1);
    }
    for node in &delta.stacks {
        // The first row is stack 1, so a table of n rows is followed by stack n + 1.
        let id = rows.stacks as u64 + 1;
        if u64::from(node.parent.0) >= id {
            return Err(TablesFault::StackParent {
                id,
                parent: node.parent.0,
            });
        }
        rows.stacks += 1;
    }
    for image in &delta.images {
        let bytes = image.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        if bytes > image.size || image.addr.checked_add(image.size).is_none() {
            return Err(TablesFault::ImageSize {
                addr: image.addr,
                size: image.size,
                bytes,
            });
        }
    }
    if let Some(variable) = delta
        .variables
        .iter()
        .find(|row| row.addr.checked_add(row.size).is_none())
    {
        let (addr, size) = (variable.addr, variable.size);
        return Err(TablesFault::VariableRange { addr, size });
    }
    if let Some(mark) = delta
        .marks
        .iter()
        .find(|mark| mark.kind == MarkKind::Benign && mark.addr.checked_add(mark.size).is_none())
    {
        let (addr, size) = (mark.addr, mark.size);
        return Err(TablesFault::MarkRange { addr, size });
    }
    if let Some(mark) = delta.marks.iter().find(|mark| mark.thread.index() >= rows.threads) {
        return Err(TablesFault::MarkThread { id: mark.thread.0 });
    }
    rows.objects += delta.objects.len();
    let most = u32::MAX as usize;
    if rows.threads > most || rows.stacks > most || rows.objects > most {
        return Err(TablesFault::TooManyRows);
    }
    Ok(())
}

/// Adds the rows of a delta that [`check`] has accepted.
pub(crate) fn apply(tables: &mut Tables, delta: TablesDelta) {
    if let Some(meta) = delta.meta {
        tables.meta = meta;
    }
    for (id, info) in delta.threads {
        match tables.threads.get_mut(id.index()) {
            Some(row) => *row = info,
            None => tables.threads.push(info),
        }
    }
    tables.modules.extend(delta.modules);
    tables.objects.extend(delta.objects);
    tables.stacks.extend(delta.stacks);
    tables.sources.extend(delta.sources);
    tables.images.extend(delta.images);
    tables.variables.extend(delta.variables);
    tables.marks.extend(delta.marks);
}

/// The rows that were defined and are not on file yet.
///
/// They are cut into several deltas when they are many, so that a block of tables stays small.
#[derive(Default)]
pub(crate) struct Pending {
    full: Vec<TablesDelta>,
    last: TablesDelta,
    last_bytes: u64,
}

impl Pending {
    /// The delta that takes the next row, of about `bytes` bytes.
    pub(crate) fn room(&mut self, bytes: u64) -> &mut TablesDelta {
        if self.last_bytes >= TARGET_BYTES {
            self.full.push(std::mem::take(&mut self.last));
            self.last_bytes = 0;
        }
        self.last_bytes += bytes;
        &mut self.last
    }

    /// Takes out all deltas, oldest first.
    pub(crate) fn take(&mut self) -> Vec<TablesDelta> {
        if self.last_bytes > 0 {
            self.full.push(std::mem::take(&mut self.last));
            self.last_bytes = 0;
        }
        std::mem::take(&mut self.full)
    }
}

/// About how many bytes a row takes in a delta.
pub(crate) fn row_bytes<T: serde::Serialize>(row: &T) -> u64 {
    codec().serialized_size(row).unwrap_or(TARGET_BYTES).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{StackId, ThreadId};
    use crate::tables::{ImageInfo, MarkInfo, StackNode, ThreadInfo, VariableInfo};

    fn thread(id: u32, parent: Option<u32>) -> TablesDelta {
        let info = ThreadInfo {
            parent: parent.map(ThreadId),
            ..ThreadInfo::default()
        };
        TablesDelta {
            threads: vec![(ThreadId(id), info)],
            ..TablesDelta::default()
        }
    }

    fn stack(parent: u32) -> TablesDelta {
        let node = StackNode {
            parent: StackId(parent),
            call_site: 7,
        };
        TablesDelta {
            stacks: vec![node],
            ..TablesDelta::default()
        }
    }

    #[test]
    fn rows_refer_to_earlier_rows_only() {
        let mut rows = Rows::default();
        assert_eq!(
            check(&thread(1, None), &mut rows),
            Err(TablesFault::ThreadGap { id: 1, rows: 0 })
        );
        assert_eq!(
            check(&thread(0, Some(0)), &mut rows),
            Err(TablesFault::ThreadParent { id: 0, parent: 0 })
        );
        assert_eq!(check(&thread(0, None), &mut rows), Ok(()));
        assert_eq!(check(&thread(1, Some(0)), &mut rows), Ok(()));
        assert_eq!(
            check(&thread(0, Some(1)), &mut rows),
            Err(TablesFault::ThreadParent { id: 0, parent: 1 })
        );
        assert_eq!(
            check(&stack(1), &mut rows),
            Err(TablesFault::StackParent { id: 1, parent: 1 })
        );
        assert_eq!(check(&stack(0), &mut rows), Ok(()));
        assert_eq!(check(&stack(1), &mut rows), Ok(()));
        assert_eq!(
            rows,
            Rows {
                threads: 2,
                objects: 0,
                stacks: 2
            }
        );
    }

    #[test]
    fn an_image_fits_into_its_range() {
        let image = |addr, size, bytes: &[u8]| TablesDelta {
            images: vec![ImageInfo {
                before: 0,
                addr,
                size,
                bytes: Some(bytes.to_vec()),
            }],
            ..TablesDelta::default()
        };
        let mut rows = Rows::default();
        assert_eq!(check(&image(8, 2, b"ab"), &mut rows), Ok(()));
        assert!(check(&image(8, 1, b"ab"), &mut rows).is_err());
        assert!(check(&image(u64::MAX, 2, b""), &mut rows).is_err());
    }

    #[test]
    fn a_mark_is_about_memory_that_there_is_and_by_a_thread_that_there_is() {
        let mark = |addr, size| TablesDelta {
            marks: vec![MarkInfo {
                kind: MarkKind::Benign,
                thread: ThreadId(0),
                before: 0,
                addr,
                size,
                text: String::new(),
            }],
            ..TablesDelta::default()
        };
        let (addr, size) = (u64::MAX, 1);
        let mut rows = Rows::default();
        assert_eq!(check(&mark(1, 1), &mut rows), Err(TablesFault::MarkThread { id: 0 }));
        rows.threads = 1;
        assert_eq!(check(&mark(1, 1), &mut rows), Ok(()));
        assert_eq!(
            check(&mark(addr, size), &mut rows),
            Err(TablesFault::MarkRange { addr, size })
        );
    }

    #[test]
    fn a_variable_ends_within_memory() {
        let variable = |addr, size| TablesDelta {
            variables: vec![VariableInfo {
                addr,
                size,
                name: "x".into(),
            }],
            ..TablesDelta::default()
        };
        let mut rows = Rows::default();
        assert_eq!(check(&variable(u64::MAX, 0), &mut rows), Ok(()));
        assert_eq!(
            check(&variable(u64::MAX, 1), &mut rows),
            Err(TablesFault::VariableRange {
                addr: u64::MAX,
                size: 1
            })
        );
    }

    #[test]
    fn lengths_in_the_payload_are_not_believed() {
        let mut payload = encode(&TablesDelta::default()).unwrap();
        // The count of threads, after the byte for "no meta".
        payload[1..9].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(matches!(decode(&payload), Err(TablesFault::NotADelta(_))));
        payload[1..9].copy_from_slice(&(1u64 << 40).to_le_bytes());
        assert!(matches!(decode(&payload), Err(TablesFault::NotADelta(_))));
    }

    #[test]
    fn many_rows_become_several_deltas() {
        let mut pending = Pending::default();
        for _ in 0..200_000 {
            pending.room(12).stacks.push(StackNode {
                parent: StackId(0),
                call_site: 7,
            });
        }
        let deltas = pending.take();
        assert!(deltas.len() > 1);
        assert_eq!(deltas.iter().map(|delta| delta.stacks.len()).sum::<usize>(), 200_000);
        assert!(
            deltas
                .iter()
                .all(|delta| encode(delta).is_ok_and(|bytes| bytes.len() < 2 << 20))
        );
        assert!(pending.take().is_empty());
    }
}
