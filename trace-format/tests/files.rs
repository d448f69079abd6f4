//! Traces as files: the name they get, what they leave behind, what a writer refuses.

use std::fs;
use std::path::PathBuf;
use trace_format::{
    CutCause, Ending, EventFault, MemRange, ObjectId, Op, PartialFile, ProgramEnd, ReadError, TablesFault, ThreadId,
    ThreadInfo, TraceFile, TraceWriter, WriteError, WriterOptions,
};

/// An empty folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("trace-format-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn begin(writer: &mut TraceWriter) {
    let main = writer.define_thread(ThreadInfo::default());
    writer.event(main, 1, Op::Begin).unwrap();
}

#[test]
fn a_trace_gets_its_name_when_it_is_finished() {
    let folder = Folder::new("finish");
    let path = folder.0.join("a.trace");
    let mut writer = TraceWriter::create(&path, &WriterOptions::default()).unwrap();
    begin(&mut writer);
    assert!(!path.exists());
    let summary = writer.finish(ProgramEnd::Signaled(9)).unwrap();
    assert!(!PartialFile::partial_path(&path).exists());
    assert_eq!((summary.threads, summary.events, &summary.path), (1, 1, &path));
    assert_eq!(summary.bytes, fs::metadata(&path).unwrap().len());
    let trace = TraceFile::open(&path).unwrap();
    assert_eq!(
        trace.ending(),
        &Ending::Complete {
            program: ProgramEnd::Signaled(9)
        }
    );
    assert_eq!(
        trace.ending().to_string(),
        "complete; the program was killed by signal 9"
    );
}

#[test]
fn a_failed_recording_leaves_the_older_trace_and_its_own_beginning() {
    let folder = Folder::new("fail");
    let path = folder.0.join("a.trace");
    fs::write(&path, "an older trace").unwrap();
    let mut writer = TraceWriter::create(&path, &WriterOptions::default()).unwrap();
    begin(&mut writer);
    writer.flush().unwrap();
    let partial = PartialFile::partial_path(&path);
    let growing = TraceFile::open(&partial).unwrap();
    writer.event(ThreadId(0), 2, Op::End).unwrap();
    drop(writer);
    assert_eq!(fs::read(&path).unwrap(), b"an older trace");
    let left = TraceFile::open(&partial).unwrap();
    assert_eq!(left.len(), 1);
    assert!(matches!(
        left.ending(),
        Ending::Cut {
            events: 1,
            cause: CutCause::NoFooter,
            ..
        }
    ));
    assert_eq!(left.id(), growing.id());
}

#[test]
fn files_that_are_no_trace_say_so() {
    let folder = Folder::new("other");
    let path = folder.0.join("x");
    assert!(matches!(TraceFile::open(&path), Err(ReadError::Io { .. })));
    assert!(matches!(TraceFile::open(&folder.0), Err(ReadError::Io { .. })));
    fs::write(&path, "").unwrap();
    assert!(matches!(
        TraceFile::open(&path),
        Err(ReadError::NoHeader { length: 0, .. })
    ));
    fs::write(&path, "T0|r(x)|1\n").unwrap();
    assert!(matches!(TraceFile::open(&path), Err(ReadError::NotATrace { .. })));
    let missing = folder.0.join("no/such/folder");
    assert!(matches!(
        TraceWriter::create(&missing, &WriterOptions::default()),
        Err(WriteError::Io { .. })
    ));
}

#[test]
fn an_impossible_event_is_left_out() {
    let mut writer = TraceWriter::to_sink("test", Vec::new(), &WriterOptions::default()).unwrap();
    let main = writer.define_thread(ThreadInfo::default());
    let read = |addr, size, value| Op::Read {
        mem: MemRange { addr, size },
        value,
    };
    let mut fault = |thread, op| match writer.event(thread, 1, op) {
        Err(WriteError::InvalidEvent { number: 0, fault }) => fault,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        fault(ThreadId(1), Op::Begin),
        EventFault::UnknownThread { id: 1, rows: 1 }
    );
    assert_eq!(
        fault(main, Op::Fork { child: ThreadId(7) }),
        EventFault::UnknownThread { id: 7, rows: 1 }
    );
    assert_eq!(
        fault(
            main,
            Op::Acquire {
                lock: ObjectId(0),
                attempt: false
            }
        ),
        EventFault::UnknownObject { id: 0, rows: 0 }
    );
    assert_eq!(fault(main, read(1, 0, 0)), EventFault::AccessSize { size: 0 });
    assert_eq!(fault(main, read(1, 9, 0)), EventFault::AccessSize { size: 9 });
    assert_eq!(
        fault(main, read(1, 1, 256)),
        EventFault::ValueTooWide { value: 256, size: 1 }
    );
    assert_eq!(
        fault(main, read(u64::MAX, 1, 0)),
        EventFault::AddressWraps {
            addr: u64::MAX,
            size: 1
        }
    );
    let alloc = Op::Alloc {
        addr: 2,
        size: u64::MAX,
    };
    assert_eq!(
        fault(main, alloc),
        EventFault::AddressWraps {
            addr: 2,
            size: u64::MAX
        }
    );
    assert_eq!(writer.event(main, 1, read(1, 8, u64::MAX)).unwrap(), 0);
    let (_, bytes) = writer.finish_sink(ProgramEnd::Unknown).unwrap();
    assert_eq!(TraceFile::from_bytes("test", bytes).unwrap().len(), 1);
}

#[test]
fn a_thread_cannot_be_older_than_its_parent() {
    let mut writer = TraceWriter::to_sink("test", Vec::new(), &WriterOptions::default()).unwrap();
    writer.define_thread(ThreadInfo {
        parent: Some(ThreadId(0)),
        ..ThreadInfo::default()
    });
    let fault = TablesFault::ThreadParent { id: 0, parent: 0 };
    assert!(matches!(writer.flush(), Err(WriteError::InvalidTables(found)) if found == fault));
    assert!(matches!(writer.flush(), Err(WriteError::Stopped { .. })));
}

/// Takes so many bytes and no more.
struct FullDisk(usize);

impl std::io::Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        if taken == 0 {
            Err(std::io::ErrorKind::StorageFull.into())
        } else {
            Ok(taken)
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn nothing_is_written_after_a_failed_write() {
    let mut writer = TraceWriter::to_sink("disk", FullDisk(100), &WriterOptions::default()).unwrap();
    let main = writer.define_thread(ThreadInfo {
        name: Some("n".repeat(100)),
        ..ThreadInfo::default()
    });
    writer.event(main, 1, Op::Begin).unwrap();
    let error = writer.flush().unwrap_err();
    assert!(error.to_string().starts_with("disk: cannot be written: "), "{error}");
    assert!(matches!(
        writer.event(main, 1, Op::End),
        Err(WriteError::Stopped { .. })
    ));
    assert!(matches!(writer.flush(), Err(WriteError::Stopped { .. })));
    assert!(matches!(
        writer.finish_sink(ProgramEnd::Unknown),
        Err(WriteError::Stopped { .. })
    ));
}

#[test]
fn deep_recursion_is_only_a_long_table() {
    let mut writer = TraceWriter::to_sink("test", Vec::new(), &WriterOptions::default()).unwrap();
    let main = writer.define_thread(ThreadInfo::default());
    for _ in 0..300_000 {
        writer.call(main, 9);
    }
    writer.event(main, 1, Op::Begin).unwrap();
    let (_, bytes) = writer.finish_sink(ProgramEnd::Unknown).unwrap();
    let trace = TraceFile::from_bytes("test", bytes).unwrap();
    let event = trace.events().next().unwrap().unwrap();
    assert_eq!(trace.tables().frames(event.stack).count(), 300_000);
}

#[test]
fn blocks_can_be_decoded_from_several_threads() {
    fn shared<T: Send + Sync>() {}
    fn movable<T: Send>() {}
    shared::<TraceFile>();
    movable::<TraceWriter>();
}
