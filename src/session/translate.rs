//! From what the runtime sends to the trace: rows to the writer's tables, blocks as they are.

use super::error::{LINKER_FAILED, RunError};
use super::parked::Parked;
use crate::forest::Picture;
use crate::own::SealedTrace;
use recorder_ring::{Flag, MarkClass, Note, ObjectClass, Ring, Row, Waits};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Sink, Write};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use trace_format::{
    ImageInfo, MarkInfo, MarkKind, Meta, ModuleInfo, ObjectInfo, ObjectKind, PartialFile, PendingInfo, PendingKind,
    ProgramEnd, StackId, Summary, Tables, ThreadId, ThreadInfo, TraceWriter, WriteError, WriterOptions,
};

/// Why nothing follows after a process has executed a program that is not instrumented.
const REPLACED: &str = "the process replaced its program: the new one is not recorded";

/// Threads whose creation may have failed in a run, though others were created meanwhile: as many as can be alive at once (in
/// `recorders/scheduler`), while there are hardly ever any.
const MOST_FAILED: usize = 1 << 14;

/// Blocks come as the program closes them. The encoder has left little that repeats; what higher levels
/// find costs more time than the whole of the encoding.
pub(crate) const WRITER: WriterOptions = WriterOptions {
    block_bytes: 256 << 10,
    zstd_level: -3,
};

/// Writes one run, to the file that will be the trace or to one that was cut.
#[derive(Debug)]
pub(crate) struct Translator<W: Write = SealedTrace> {
    writer: TraceWriter<W>,
    meta: Meta,
    /// What the tables say of each thread.
    threads: Vec<ThreadInfo>,
    /// How many threads may be told of.
    room: usize,
    /// Bytes for the next row that wants some.
    text: Vec<u8>,
    /// The block that is being written.
    block: Vec<u8>,
    /// Accesses that threads are stopped before.
    parked: Vec<Parked>,
    /// What threads have shown of themselves.
    pictures: Vec<Picture>,
    /// Processes that were waited for, and their statuses.
    reaped: Vec<(u32, u32)>,
    /// What each thread waited for last.
    waits: BTreeMap<u32, PendingInfo>,
    /// The threads that have ended, each with the number of its last event.
    ended: BTreeMap<u32, u64>,
    /// The program said that it ends.
    finished: bool,
    /// The description is on file.
    begun: bool,
}

impl Translator {
    /// To a file that will be at `path`.
    pub(crate) fn create(path: &Path, meta: Meta) -> Result<Self, WriteError> {
        let file = SealedTrace::begin(path).map_err(|source| WriteError::Io {
            path: PartialFile::partial_path(path),
            source,
        })?;
        let mut writer = TraceWriter::to_sink(path, file, &WRITER)?;
        writer.set_meta(meta.clone());
        Ok(Self::over(writer, meta, Vec::new()))
    }

    /// Ends the trace; what was written, and why it may lack something.
    pub(crate) fn finish(mut self, end: ProgramEnd, ring: &Ring) -> Result<(Summary, Vec<String>), WriteError> {
        let degraded = self.conclude(end, ring);
        let (summary, file) = self.writer.finish_sink(end)?;
        file.publish().map_err(|source| WriteError::Io {
            path: summary.path.clone(),
            source,
        })?;
        Ok((summary, degraded))
    }
}

impl Translator<Vec<u8>> {
    /// Of a run whose trace stays in memory.
    pub(crate) fn in_memory(meta: Meta) -> Result<Self, WriteError> {
        let mut writer = TraceWriter::to_sink("memory", Vec::new(), &WRITER)?;
        writer.set_meta(meta.clone());
        Ok(Self::over(writer, meta, Vec::new()))
    }

    /// Ends the trace.
    pub(crate) fn into_bytes(mut self, end: ProgramEnd, ring: &Ring) -> Result<Vec<u8>, WriteError> {
        self.conclude(end, ring);
        Ok(self.writer.finish_sink(end)?.1)
    }
}

impl Translator<File> {
    /// Goes on with a trace that was cut.
    pub(crate) fn resume(writer: TraceWriter<File>, tables: &Tables) -> Self {
        let mut translator = Self::over(writer, tables.meta.clone(), tables.threads.clone());
        translator.begun = true;
        translator
    }
}

impl Translator<Sink> {
    /// Of a run that nobody will look at.
    pub(crate) fn to_nowhere() -> Result<Self, WriteError> {
        let writer = TraceWriter::to_sink("nowhere", io::sink(), &WriterOptions::default())?;
        Ok(Self::over(writer, Meta::default(), Vec::new()))
    }
}

impl<W: Write> Translator<W> {
    fn over(writer: TraceWriter<W>, meta: Meta, threads: Vec<ThreadInfo>) -> Self {
        Self {
            writer,
            meta,
            room: usize::MAX,
            threads,
            text: Vec::new(),
            block: Vec::new(),
            parked: Vec::new(),
            pictures: Vec::new(),
            reaped: Vec::new(),
            waits: BTreeMap::new(),
            ended: BTreeMap::new(),
            finished: false,
            begun: false,
        }
    }

    /// Of a ring that anybody may have made: each of its rows tells of one more thread, and of those whose creation has
    /// failed. (Of a run along a plan, a row can tell of any number of them.)
    pub(crate) fn distrust(&mut self) {
        self.room = self.threads.len() + MOST_FAILED;
    }

    /// Says last what is known only when the program has ended; why the trace may lack something.
    fn conclude(&mut self, end: ProgramEnd, ring: &Ring) -> Vec<String> {
        let dropped = ring.dropped();
        if dropped > 0 {
            self.degrade(&format!(
                "{dropped} accesses of signal handlers that interrupted the recorder are missing"
            ));
        }
        let replaced = self.meta.degraded.iter().any(|why| why == REPLACED);
        if matches!(end, ProgramEnd::Exited(_)) && !self.finished && !replaced {
            self.degrade(match end {
                ProgramEnd::Exited(LINKER_FAILED) => {
                    "the end was not seen: the dynamic linker ended the process with status 127, because a symbol is missing"
                }
                _ => "the end was not seen: the process exited without the C library",
            });
        }
        self.meta.pending = self.pending(ring);
        self.writer.set_meta(self.meta.clone());
        self.meta.degraded.clone()
    }

    /// How many events the trace has, now that all of it is on file. It stays without an end.
    pub(crate) fn close(mut self, ring: &Ring) -> Result<u64, WriteError> {
        self.meta.pending = self.pending(ring);
        self.writer.set_meta(self.meta);
        self.writer.flush()?;
        Ok(self.writer.events())
    }

    /// Takes all rows that are there, and the blocks that they end; whether there was any. What is on file is released
    /// from the ring, and nothing else, so that it can be found there should this process be killed.
    pub(crate) fn follow(&mut self, ring: &mut Ring) -> Result<bool, RunError> {
        let mut any = false;
        if !self.begun {
            self.begun = true;
            self.release(ring)?;
        }
        while let Some(row) = ring.take_row()? {
            any = true;
            match row {
                Row::Block { end, events } => {
                    ring.take_events(end, &mut self.block)?;
                    self.writer.encoded_block(&self.block, events)?;
                    ring.release(self.writer.bytes());
                }
                Row::Threads { count } if count as usize > self.room => return Err(ring.refuse().into()),
                row => self.row(row),
            }
            // Not in the middle of a text.
            if ring.is_release_due() && self.text.is_empty() {
                self.release(ring)?;
            }
        }
        Ok(any)
    }

    fn release(&mut self, ring: &mut Ring) -> Result<(), RunError> {
        self.writer.flush()?;
        ring.release(self.writer.bytes());
        Ok(())
    }

    /// The program is gone and all rows are taken: writes the block that it left open.
    pub(crate) fn follow_to_end(&mut self, ring: &mut Ring) -> Result<(), RunError> {
        let hits = ring.take_open_block(&mut self.block)?;
        self.writer.unfinished_block(&mut self.block, hits)?;
        self.meta.foreign_unlock |= ring.has(Flag::ForeignUnlock);
        Ok(())
    }

    /// What threads wait for, and what the process dies of.
    fn pending(&self, ring: &Ring) -> Vec<PendingInfo> {
        let death = ring.death().map(|death| PendingInfo {
            thread: ThreadId(death.thread.load(Relaxed)),
            before: death.before.load(Relaxed),
            kind: PendingKind::Died(death.signal.load(Relaxed) as i32),
            pc: death.pc.load(Relaxed),
            stack: StackId(death.stack.load(Relaxed)),
            addr: death.addr.load(Relaxed),
        });
        // Else whoever asks who waits at the end would have to look for the last event of each thread, all over the trace.
        // (Where that was cut, its end may be missing.)
        let has_ended = |thread| self.ended.get(thread).is_some_and(|&last| last < self.writer.events());
        let waits = self.waits.iter().filter(|(thread, _)| !has_ended(*thread));
        let mut pending: Vec<_> = waits.map(|(_, wait)| wait.clone()).chain(death).collect();
        pending.sort_by_key(|pending| pending.before);
        pending
    }

    /// Accesses that threads are stopped before, in the order in which they came there.
    pub(crate) fn take_parked(&mut self) -> Vec<Parked> {
        std::mem::take(&mut self.parked)
    }

    /// What threads have shown of themselves, in that order.
    pub(crate) fn take_pictures(&mut self) -> Vec<Picture> {
        std::mem::take(&mut self.pictures)
    }

    /// The threads so far.
    pub(crate) fn threads(&self) -> &[ThreadInfo] {
        &self.threads
    }

    /// Processes that were waited for since the last call, and their statuses.
    pub(crate) fn take_reaped(&mut self) -> Vec<(u32, u32)> {
        std::mem::take(&mut self.reaped)
    }

    /// Whether the program said that it ends.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    fn row(&mut self, row: Row) {
        match row {
            Row::Threads { count } => {
                self.room = self.room.saturating_add(1);
                while self.threads.len() < count as usize {
                    self.writer.define_thread(ThreadInfo::default());
                    self.threads.push(ThreadInfo::default());
                }
            }
            Row::Begun { thread, os_id } => self.update(thread, |info| info.os_id = os_id),
            Row::Parent { thread, parent } => self.update(thread, |info| info.parent = Some(ThreadId(parent))),
            Row::ThreadName { thread } => {
                let name = String::from_utf8_lossy(&std::mem::take(&mut self.text)).into_owned();
                self.update(thread, |info| info.name = Some(name));
            }
            Row::Object { class, addr, count } => {
                self.writer.define_object(ObjectInfo {
                    kind: kind(class),
                    addr,
                    name: None,
                    initial: count,
                });
            }
            Row::Stack { parent, call_site } => {
                self.writer.define_stack(StackId(parent), call_site);
            }
            Row::Bytes { len, words } => {
                let bytes = words.iter().flat_map(|word| word.to_le_bytes());
                self.text.extend(bytes.take(usize::from(len)));
            }
            Row::Module {
                build_id,
                base,
                start,
                end,
            } => {
                let mut text = std::mem::take(&mut self.text);
                let path = text.split_off(usize::from(build_id).min(text.len()));
                let path = String::from_utf8_lossy(&path).into_owned();
                self.writer.define_module(ModuleInfo {
                    path,
                    build_id: text,
                    base,
                    start,
                    end,
                });
            }
            Row::Image {
                addr,
                size,
                constant,
                before,
            } => {
                let bytes = std::mem::take(&mut self.text);
                self.writer.define_image(ImageInfo {
                    before,
                    addr,
                    size,
                    bytes: (!constant).then_some(bytes),
                });
            }
            Row::Parked {
                stack,
                thread,
                pc,
                addr,
                size,
            } => self.parked.push(Parked {
                thread: ThreadId(thread),
                pc,
                stack: StackId(stack),
                range: (addr, size),
            }),
            Row::Waits {
                what,
                thread,
                stack,
                pc,
                addr,
                before,
            } => {
                let pending = PendingInfo {
                    thread: ThreadId(thread),
                    before,
                    kind: pending_kind(what),
                    pc,
                    stack: StackId(stack),
                    addr,
                };
                self.waits.insert(thread, pending);
            }
            Row::Mark {
                class,
                thread,
                before,
                addr,
                size,
            } => {
                let text = String::from_utf8_lossy(&std::mem::take(&mut self.text)).into_owned();
                self.writer.define_mark(MarkInfo {
                    kind: mark_kind(class),
                    thread: ThreadId(thread),
                    before,
                    addr,
                    size,
                    text,
                });
            }
            Row::Picture { thread, before } => {
                let text = std::mem::take(&mut self.text);
                let (words, _) = text.as_chunks();
                self.pictures.push(Picture {
                    thread: ThreadId(thread),
                    before,
                    words: words.iter().map(|&word| u64::from_le_bytes(word)).collect(),
                });
            }
            Row::Ended { thread, before } => {
                self.ended.insert(thread, before);
            }
            Row::Reaped { process, status } => self.reaped.push((process, status)),
            Row::Note(note) => self.note(note),
            // `follow` writes them.
            Row::Block { .. } => {}
        }
    }

    fn update(&mut self, thread: u32, change: impl FnOnce(&mut ThreadInfo)) {
        if let Some(info) = self.threads.get_mut(thread as usize) {
            change(info);
            self.writer.update_thread(ThreadId(thread), info.clone());
        }
    }

    fn note(&mut self, note: Note) {
        self.degrade(match note {
            Note::Finished | Note::Replaced => {
                self.finished = true;
                // It tried to, and did not.
                self.meta.degraded.retain(|why| why != REPLACED);
                return;
            }
            Note::Forked => "the program forked: its child processes are not recorded",
            Note::Executed => REPLACED,
            Note::ForeignThread => "a thread appeared that pthread_create did not make: its creation is not recorded",
            Note::TooManyThreads => "the program wanted more threads than the recorder can follow",
            Note::PrefersWriters => {
                "a reader-writer lock prefers writers (PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP): that readers wait for writers that wait is not recorded"
            }
            Note::GivenBackFree => {
                "a thread gave back a lock that nobody held: that it may give it back for another thread, at another time, is not recorded"
            }
        });
    }

    pub(crate) fn degrade(&mut self, why: &str) {
        if !self.meta.degraded.iter().any(|known| known == why) {
            self.meta.degraded.push(why.to_owned());
            self.writer.set_meta(self.meta.clone());
        }
    }
}

fn pending_kind(waits: Waits) -> PendingKind {
    match waits {
        Waits::Acquire => PendingKind::Acquire,
        Waits::Join => PendingKind::Join,
        Waits::Condition => PendingKind::Condition,
        Waits::Semaphore => PendingKind::Semaphore,
        Waits::Barrier => PendingKind::Barrier,
        Waits::Once => PendingKind::Once,
        Waits::Futex => PendingKind::Futex,
        Waits::Spin => PendingKind::Spin,
        Waits::Item => PendingKind::Item,
        Waits::Tasks => PendingKind::Tasks,
        Waits::Turn => PendingKind::Turn,
        Waits::Leave => PendingKind::Leave,
    }
}

fn mark_kind(class: MarkClass) -> MarkKind {
    let ignores = |reads, writes| MarkKind::Ignores { reads, writes };
    match class {
        MarkClass::Benign => MarkKind::Benign,
        MarkClass::IgnoresNothing => ignores(false, false),
        MarkClass::IgnoresReads => ignores(true, false),
        MarkClass::IgnoresWrites => ignores(false, true),
        MarkClass::IgnoresBoth => ignores(true, true),
        MarkClass::Suppressions => MarkKind::Suppressions,
        MarkClass::AtomicBegin => MarkKind::AtomicBegin,
        MarkClass::AtomicEnd => MarkKind::AtomicEnd,
        MarkClass::Compared => MarkKind::Compared,
    }
}

fn kind(class: ObjectClass) -> ObjectKind {
    match class {
        ObjectClass::Mutex => ObjectKind::Mutex,
        ObjectClass::RecursiveMutex => ObjectKind::RecursiveMutex,
        ObjectClass::RwLock => ObjectKind::RwLock,
        ObjectClass::SpinLock => ObjectKind::SpinLock,
        ObjectClass::Condition => ObjectKind::Condition,
        ObjectClass::Barrier => ObjectKind::Barrier,
        ObjectClass::Semaphore => ObjectKind::Semaphore,
        ObjectClass::Once => ObjectKind::Once,
        ObjectClass::Source => ObjectKind::Source,
    }
}
