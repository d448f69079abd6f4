//! One event of a trace file, field by field, for `dump` and `info`.

use serde_json::{Map, Value};
use trace_format::Op;

fn hex(number: u64) -> Value {
    Value::from(format!("{number:#x}"))
}

/// The fields of an event besides its kind. Addresses and values are strings of hexadecimal
/// digits, since JSON readers lose bits of long numbers.
pub fn fields(op: &Op) -> Map<String, Value> {
    let Ok(Value::Object(named)) = serde_json::to_value(op) else {
        return Map::new();
    };
    let Some(Value::Object(fields)) = named.into_iter().next().map(|(_, fields)| fields) else {
        return Map::new();
    };
    // A count is a number like any other.
    let is_value = |name: &str| matches!(name, "value" | "read" | "written") && !matches!(op, Op::SemValue { .. });
    let mut shown = Map::new();
    for (name, field) in fields {
        match (name.as_str(), field.as_u64()) {
            // Whether it would have waited is no part of what happened.
            ("attempt", _) => {}
            ("mem", _) => {
                shown.insert("address".to_owned(), field["addr"].as_u64().map_or(Value::Null, hex));
                shown.insert("size".to_owned(), field["size"].clone());
            }
            ("addr", Some(address)) => drop(shown.insert("address".to_owned(), hex(address))),
            (_, Some(value)) if is_value(&name) => drop(shown.insert(name, hex(value))),
            ("outcome", _) => {
                let timed_out = field.as_str() == Some("TimedOut");
                shown.insert(name, Value::from(if timed_out { "timed_out" } else { "notified" }));
            }
            _ => drop(shown.insert(name, field)),
        }
    }
    shown
}

/// The event on one line: its kind and its fields.
pub fn line(op: &Op) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let fields = fields(op);
    let fields = fields.iter().map(|(name, value)| format!(" {name}={}", text(value)));
    format!("{}{}", op.name(), fields.collect::<String>())
}
