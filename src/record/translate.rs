//! From the runtime's records to the trace's events.

use super::held::Held;
use super::memory::Blocks;
use super::objects::Objects;
use hashbrown::HashMap;
use recorder_ring::record::OnceStep;
use recorder_ring::{Note, ObjectClass, Record};
use trace_format::{
    MemRange, MemoryOrder, Meta, ModuleInfo, ObjectId, Op, ProgramEnd, Summary, ThreadId, ThreadInfo, TraceWriter,
    WaitOutcome, WriteError,
};

/// Turns the records of one run into a trace.
pub(super) struct Translator {
    writer: TraceWriter,
    meta: Meta,
    /// What the tables say of each thread.
    threads: Vec<ThreadInfo>,
    current: ThreadId,
    objects: Objects,
    blocks: Blocks,
    held: Held,
    /// Rounds that each barrier has completed.
    rounds: HashMap<ObjectId, u32>,
    /// The round in which each thread that is at a barrier entered it.
    entered: HashMap<ThreadId, (ObjectId, u32)>,
    /// Bytes for the next record that wants some.
    text: Vec<u8>,
    /// The program said that it ends.
    finished: bool,
}

impl Translator {
    pub(super) fn new(mut writer: TraceWriter, meta: Meta) -> Self {
        writer.set_meta(meta.clone());
        Self {
            writer,
            meta,
            threads: Vec::new(),
            current: ThreadId(0),
            objects: Objects::default(),
            blocks: Blocks::default(),
            held: Held::default(),
            rounds: HashMap::new(),
            entered: HashMap::new(),
            text: Vec::new(),
            finished: false,
        }
    }

    /// Ends the trace; what was written, and why it may lack something.
    pub(super) fn finish(mut self, end: ProgramEnd, dropped: u64) -> Result<(Summary, Vec<String>), WriteError> {
        if dropped > 0 {
            self.degrade(&format!(
                "{dropped} accesses of signal handlers that interrupted the recorder are missing"
            ));
        }
        if matches!(end, ProgramEnd::Exited(_)) && !self.finished {
            self.degrade("the end was not seen: the process replaced its program, or left past the C library");
        }
        let degraded = self.meta.degraded.clone();
        self.writer.set_meta(self.meta);
        Ok((self.writer.finish(end)?, degraded))
    }

    /// Writes what a record says.
    pub(super) fn apply(&mut self, record: Record) -> Result<(), WriteError> {
        match record {
            Record::Switch { thread } => self.current = self.thread(thread),
            Record::Call { call_site } => self.writer.call(self.current, call_site),
            Record::Return => self.writer.ret(self.current),
            Record::Read { pc, addr, size, value } => {
                return self.event(
                    pc,
                    Op::Read {
                        mem: MemRange { addr, size },
                        value,
                    },
                );
            }
            Record::Write { pc, addr, size, value } => {
                return self.event(
                    pc,
                    Op::Write {
                        mem: MemRange { addr, size },
                        value,
                    },
                );
            }
            Record::AtomicLoad {
                pc,
                addr,
                size,
                order,
                value,
            } => {
                let order = MemoryOrder::from_c(order);
                return self.event(
                    pc,
                    Op::AtomicLoad {
                        mem: MemRange { addr, size },
                        value,
                        order,
                    },
                );
            }
            Record::AtomicStore {
                pc,
                addr,
                size,
                order,
                value,
            } => {
                let order = MemoryOrder::from_c(order);
                return self.event(
                    pc,
                    Op::AtomicStore {
                        mem: MemRange { addr, size },
                        value,
                        order,
                    },
                );
            }
            Record::AtomicRmw {
                pc,
                addr,
                size,
                order,
                read,
                written,
            } => {
                let order = MemoryOrder::from_c(order);
                return self.event(
                    pc,
                    Op::AtomicRmw {
                        mem: MemRange { addr, size },
                        read,
                        written,
                        order,
                    },
                );
            }
            Record::Fence { pc, order } => {
                return self.event(
                    pc,
                    Op::Fence {
                        order: MemoryOrder::from_c(order),
                    },
                );
            }
            Record::Begin { os_id } => {
                self.update_current(|info| info.os_id = os_id);
                return self.event(0, Op::Begin);
            }
            Record::End { pc } => return self.event(pc, Op::End),
            Record::Fork { pc, child } => {
                let child = self.thread(child);
                let parent = self.current;
                self.update(child, |info| info.parent = Some(parent));
                return self.event(pc, Op::Fork { child });
            }
            Record::Join { pc, child } => {
                let child = self.thread(child);
                return self.event(pc, Op::Join { child });
            }
            Record::Alloc { pc, addr, size } if size > 0 => {
                self.objects.forget_range(addr, size);
                self.blocks.insert(addr, size);
                return self.event(pc, Op::Alloc { addr, size });
            }
            Record::Alloc { .. } => {}
            Record::Free { pc, addr } => {
                if let Some(size) = self.blocks.remove(addr) {
                    self.objects.forget_range(addr, size);
                    return self.event(pc, Op::Free { addr });
                }
            }
            Record::Bytes { len, words } => {
                let bytes = words.iter().flat_map(|word| word.to_le_bytes());
                self.text.extend(bytes.take(usize::from(len)));
            }
            Record::ThreadName { thread } => {
                let name = String::from_utf8_lossy(&std::mem::take(&mut self.text)).into_owned();
                let thread = self.thread(thread);
                self.update(thread, |info| info.name = Some(name));
            }
            Record::Module {
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
            Record::Image { addr, size, constant } => {
                let bytes = std::mem::take(&mut self.text);
                self.writer.define_image(addr, size, (!constant).then_some(bytes));
            }
            Record::Note { note } => self.note(note),
            _ => return self.synchronize(record),
        }
        Ok(())
    }

    /// The records about synchronization objects.
    fn synchronize(&mut self, record: Record) -> Result<(), WriteError> {
        let thread = self.current;
        match record {
            Record::Init { class, object, count } => {
                self.objects.start(&mut self.writer, class, object, count);
            }
            Record::Destroy { object } => self.objects.end(object),
            Record::Acquire {
                pc,
                class,
                lock,
                shared,
            } => {
                let lock = self.object(class, lock);
                if shared {
                    self.held.acquire_shared(thread, lock);
                    return self.event(pc, Op::AcquireShared { lock });
                }
                self.held.acquire(thread, lock);
                return self.event(pc, Op::Acquire { lock });
            }
            Record::AcquireFailed {
                pc,
                class,
                lock,
                shared,
            } => {
                let lock = self.object(class, lock);
                if self.held.is_held_by_another(thread, lock, shared) {
                    return self.event(pc, Op::AcquireFailed { lock, shared });
                }
            }
            Record::Release { pc, class, lock } => {
                let lock = self.object(class, lock);
                if !self.held.release(thread, lock) {
                    self.meta.foreign_unlock = true;
                }
                return self.event(pc, Op::Release { lock });
            }
            Record::WaitBegin {
                pc,
                condition,
                class,
                lock,
            } => {
                let (condition, lock) = (self.object(ObjectClass::Condition, condition), self.object(class, lock));
                self.held.begin_wait(thread, lock);
                return self.event(pc, Op::WaitBegin { condition, lock });
            }
            Record::WaitEnd {
                pc,
                condition,
                class,
                lock,
                timed_out,
            } => {
                let (condition, lock) = (self.object(ObjectClass::Condition, condition), self.object(class, lock));
                self.held.end_wait(thread, lock);
                let outcome = if timed_out {
                    WaitOutcome::TimedOut
                } else {
                    WaitOutcome::Notified
                };
                return self.event(
                    pc,
                    Op::WaitEnd {
                        condition,
                        lock,
                        outcome,
                    },
                );
            }
            Record::Notify { pc, condition, all } => {
                let condition = self.object(ObjectClass::Condition, condition);
                return self.event(
                    pc,
                    if all {
                        Op::NotifyAll { condition }
                    } else {
                        Op::Notify { condition }
                    },
                );
            }
            Record::BarrierEnter { pc, barrier, last } => {
                let barrier = self.object(ObjectClass::Barrier, barrier);
                let rounds = self.rounds.entry(barrier).or_default();
                let round = *rounds;
                *rounds += u32::from(last);
                self.entered.insert(thread, (barrier, round));
                return self.event(pc, Op::BarrierEnter { barrier, round });
            }
            Record::BarrierExit { pc, .. } => {
                // The one that the thread entered, even if it was destroyed before all had left.
                if let Some((barrier, round)) = self.entered.remove(&thread) {
                    return self.event(pc, Op::BarrierExit { barrier, round });
                }
            }
            Record::SemPost { pc, semaphore, count } => {
                let semaphore = self
                    .objects
                    .at(&mut self.writer, ObjectClass::Semaphore, semaphore, count);
                return self.event(pc, Op::SemPost { semaphore });
            }
            Record::SemWait { pc, semaphore, count } => {
                let semaphore = self
                    .objects
                    .at(&mut self.writer, ObjectClass::Semaphore, semaphore, count);
                return self.event(pc, Op::SemWait { semaphore });
            }
            Record::Once { pc, once, step } => {
                let once = self.object(ObjectClass::Once, once);
                let op = match step {
                    OnceStep::Begin => Op::OnceBegin { once },
                    OnceStep::End => Op::OnceEnd { once },
                    OnceStep::Wait => Op::OnceWait { once },
                };
                return self.event(pc, op);
            }
            _ => {}
        }
        Ok(())
    }

    fn event(&mut self, pc: u64, op: Op) -> Result<(), WriteError> {
        self.writer.event(self.current, pc, op).map(drop)
    }

    fn object(&mut self, class: ObjectClass, addr: u64) -> ObjectId {
        self.objects.at(&mut self.writer, class, addr, 0)
    }

    /// The thread with the runtime's number `index`; numbers are given in order of creation.
    fn thread(&mut self, index: u32) -> ThreadId {
        while self.threads.len() <= index as usize {
            self.writer.define_thread(ThreadInfo::default());
            self.threads.push(ThreadInfo::default());
        }
        ThreadId(index)
    }

    fn update(&mut self, thread: ThreadId, change: impl FnOnce(&mut ThreadInfo)) {
        if let Some(info) = self.threads.get_mut(thread.index()) {
            change(info);
            self.writer.update_thread(thread, info.clone());
        }
    }

    fn update_current(&mut self, change: impl FnOnce(&mut ThreadInfo)) {
        self.update(self.current, change);
    }

    fn note(&mut self, note: Note) {
        self.degrade(match note {
            Note::Finished => {
                self.finished = true;
                return;
            }
            Note::Forked => "the program forked: its child processes are not recorded",
            Note::Executed => "the process replaced its program: the new one is not recorded",
            Note::ForeignThread => "a thread appeared that pthread_create did not make: its creation is not recorded",
            Note::TooManyThreads => "the program wanted more threads than the recorder can follow",
        });
    }

    fn degrade(&mut self, why: &str) {
        if !self.meta.degraded.iter().any(|known| known == why) {
            self.meta.degraded.push(why.to_owned());
        }
    }
}
