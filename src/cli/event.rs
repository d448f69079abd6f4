//! One event of a trace file, field by field, for `dump` and `info`.

use serde_json::{Map, Value, json};
use trace_format::{MemRange, Op, WaitOutcome};

/// The name of an event's kind, as in `docs/SEMANTICS.md`.
pub fn kind(op: &Op) -> &'static str {
    match op {
        Op::Begin => "begin",
        Op::End => "end",
        Op::Fork { .. } => "fork",
        Op::Join { .. } => "join",
        Op::Read { .. } => "read",
        Op::Write { .. } => "write",
        Op::Acquire { .. } => "acquire",
        Op::AcquireShared { .. } => "acquire_shared",
        Op::Release { .. } => "release",
        Op::AcquireFailed { .. } => "acquire_failed",
        Op::WaitBegin { .. } => "wait_begin",
        Op::WaitEnd { .. } => "wait_end",
        Op::Notify { .. } => "notify",
        Op::NotifyAll { .. } => "notify_all",
        Op::BarrierEnter { .. } => "barrier_enter",
        Op::BarrierExit { .. } => "barrier_exit",
        Op::SemPost { .. } => "sem_post",
        Op::SemWait { .. } => "sem_wait",
        Op::SemWaitFailed { .. } => "sem_wait_failed",
        Op::SemValue { .. } => "sem_value",
        Op::OnceBegin { .. } => "once_begin",
        Op::OnceEnd { .. } => "once_end",
        Op::OnceWait { .. } => "once_wait",
        Op::Use { .. } => "use",
        Op::AtomicLoad { .. } => "atomic_load",
        Op::AtomicStore { .. } => "atomic_store",
        Op::AtomicRmw { .. } => "atomic_rmw",
        Op::Fence { .. } => "fence",
        Op::Alloc { .. } => "alloc",
        Op::Free { .. } => "free",
        Op::Branch => "branch",
        Op::Input { .. } => "input",
        Op::Output { .. } => "output",
    }
}

fn hex(number: u64) -> Value {
    Value::from(format!("{number:#x}"))
}

/// The fields of an event besides its kind. Addresses and values are strings of hexadecimal
/// digits, since JSON readers lose bits of long numbers.
pub fn fields(op: &Op) -> Map<String, Value> {
    let range = |mem: MemRange| json!({"address": hex(mem.addr), "size": mem.size});
    let with = |mut object: Value, more: Value| {
        if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
            object.extend(more);
        }
        object
    };
    let object = match *op {
        Op::Begin | Op::End | Op::Branch => json!({}),
        Op::Fork { child } | Op::Join { child, .. } => json!({"child": child.0}),
        Op::Read { mem, value } | Op::Write { mem, value } => with(range(mem), json!({"value": hex(value)})),
        Op::Acquire { lock, .. } | Op::AcquireShared { lock, .. } | Op::Release { lock } => json!({"lock": lock.0}),
        Op::AcquireFailed { lock, shared } => json!({"lock": lock.0, "shared": shared}),
        Op::WaitBegin { condition, lock } => json!({"condition": condition.0, "lock": lock.0}),
        Op::WaitEnd {
            condition,
            lock,
            outcome,
        } => json!({
            "condition": condition.0,
            "lock": lock.0,
            "outcome": match outcome {
                WaitOutcome::Notified => "notified",
                WaitOutcome::TimedOut => "timed_out",
            },
        }),
        Op::Notify { condition } | Op::NotifyAll { condition } => json!({"condition": condition.0}),
        Op::BarrierEnter { barrier, round } | Op::BarrierExit { barrier, round } => {
            json!({"barrier": barrier.0, "round": round})
        }
        Op::SemPost { semaphore } | Op::SemWait { semaphore } | Op::SemWaitFailed { semaphore } => {
            json!({"semaphore": semaphore.0})
        }
        Op::SemValue { semaphore, value } => json!({"semaphore": semaphore.0, "value": value}),
        Op::OnceBegin { once } | Op::OnceEnd { once } | Op::OnceWait { once } => json!({"once": once.0}),
        Op::Use { mem } => range(mem),
        Op::AtomicLoad { mem, value, order } | Op::AtomicStore { mem, value, order } => {
            with(range(mem), json!({"value": hex(value), "order": format!("{order:?}")}))
        }
        Op::AtomicRmw {
            mem,
            read,
            written,
            order,
        } => {
            let values = json!({"read": hex(read), "written": hex(written), "order": format!("{order:?}")});
            with(range(mem), values)
        }
        Op::Fence { order } => json!({"order": format!("{order:?}")}),
        Op::Alloc { addr, size } => json!({"address": hex(addr), "size": size}),
        Op::Free { addr } => json!({"address": hex(addr)}),
        Op::Input { source, value } => json!({"source": source.0, "value": hex(value)}),
        Op::Output { source } => json!({"source": source.0}),
    };
    match object {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The event on one line: its kind and its fields.
pub fn line(op: &Op) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let fields = fields(op);
    let fields = fields.iter().map(|(name, value)| format!(" {name}={}", text(value)));
    format!("{}{}", kind(op), fields.collect::<String>())
}
