//! What RoadRunner's printing tool logs: `@  Acquire(1,@03)`, `@  Wr(0,@05.x_I)  Final  F.java:7:3`.
//!
//! Lines that begin with `@` are events, others are the program's own output. The first argument is
//! the thread, the second the object; a field is `object.class.name_type`, so two variables are the
//! same if their texts are. `Rd Wr` are fields, `ARd AWr` elements of arrays, `VRd VWr` volatile
//! fields, which are atomic here. The last word of an access that looks like `file:line` is where.
//!
//! `Start`, `Join`, `Wait` and `Notify` are logged before the call and after it, with the same
//! words. Of two such lines that follow each other in their thread, the first `Start`, the second
//! `Join` and the first `Notify` count; the second `Wait` is the end of the first. Methods, sleeps
//! and classes order nothing.

use super::error::{ImportError, Malformed};
use super::record::{Each, Names, Record, RecordOp, lines, shown};
use hashbrown::{HashMap, HashSet};

/// An event's text: its name, thread, object, further words.
struct Line<'t> {
    name: &'t str,
    thread: &'t str,
    object: &'t str,
    /// A third argument.
    flag: Option<&'t str>,
    rest: &'t str,
}

const EVENTS: [&str; 12] = [
    "Acquire", "Release", "Rd", "ARd", "VRd", "Wr", "AWr", "VWr", "Start", "Join", "Wait", "Notify",
];

/// `None`: no event; `Some(None)`: an event that cannot be read.
fn line(text: &str) -> Option<Option<Line<'_>>> {
    let text = text.strip_prefix('@')?;
    let event = text.strip_prefix(char::is_whitespace)?.trim_start();
    let (name, arguments) = event.split_once('(')?;
    if !EVENTS.contains(&name) {
        return None;
    }
    Some(arguments_of(name, arguments))
}

fn arguments_of<'t>(name: &'t str, arguments: &'t str) -> Option<Line<'t>> {
    let (thread, rest) = arguments.split_once(',')?;
    let (object, rest) = rest.split_once(')')?;
    let (object, flag) = match object.split_once(',') {
        Some((object, flag)) if name == "Notify" => (object, Some(flag.trim())),
        _ => (object, None),
    };
    let (thread, object) = (thread.trim(), object.trim());
    let is_number = !thread.is_empty() && thread.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !object.is_empty()).then_some(Line {
        name,
        thread,
        object,
        flag,
        rest,
    })
}

/// Whether a line is an event of this format.
pub(super) fn is_event(text: &str) -> bool {
    line(text).is_some()
}

/// What the lines of a pair, before and after a call, become.
#[derive(Default)]
struct Pairs {
    ignored: HashSet<u64>,
    ends_of_waits: HashSet<u64>,
}

impl Pairs {
    fn of(bytes: &[u8]) -> Pairs {
        let mut pairs = Pairs::default();
        // By thread: line, name and object of its last event, unless that was the second of a pair.
        let mut last: HashMap<String, (u64, String, String)> = HashMap::new();
        for (number, text) in lines(bytes) {
            let Some(Some(Line {
                name, thread, object, ..
            })) = line(text.trim())
            else {
                continue;
            };
            let before = last.remove(thread);
            let before = before.filter(|(_, before, same)| before == name && same == object);
            match (name, before) {
                ("Start" | "Notify", Some(_)) => {
                    pairs.ignored.insert(number);
                }
                ("Join", Some((first, ..))) => {
                    pairs.ignored.insert(first);
                }
                ("Wait", Some(_)) => {
                    pairs.ends_of_waits.insert(number);
                }
                _ => {
                    last.insert(thread.to_owned(), (number, name.to_owned(), object.to_owned()));
                }
            }
        }
        pairs
    }
}

/// Reads RoadRunner's log.
pub(super) fn parse(file: &str, bytes: &[u8], names: &mut Names, each: &mut Each<'_>) -> Result<(), ImportError> {
    let pairs = Pairs::of(bytes);
    for (number, text) in lines(bytes) {
        let text = text.trim();
        let parsed = match line(text) {
            None => continue,
            Some(_) if pairs.ignored.contains(&number) => continue,
            Some(parsed) => parsed,
        };
        let Some(parsed) = parsed else {
            let reason = format!("no thread and object in '{}'", shown(text));
            each(number, Err(Malformed::Unreadable { reason }))?;
            continue;
        };
        let record = record(&parsed, names, pairs.ends_of_waits.contains(&number));
        let Some(record) = record else {
            let (file, line) = (file.to_owned(), number);
            return Err(ImportError::TooManyNames { file, line });
        };
        each(number, Ok(record))?;
    }
    Ok(())
}

/// `None`: too many names.
fn record(line: &Line<'_>, names: &mut Names, ends_wait: bool) -> Option<Record> {
    let thread = names.thread(line.thread)?;
    let object = line.object;
    let op = match line.name {
        "Acquire" => RecordOp::Acquire(names.lock(object)?),
        "Wait" if ends_wait => RecordOp::Acquire(names.lock(object)?),
        "Release" => RecordOp::Release(names.lock(object)?),
        "Rd" | "ARd" => RecordOp::Read(names.variable(object)?),
        "Wr" | "AWr" => RecordOp::Write(names.variable(object)?),
        "VRd" => RecordOp::VolatileRead(names.variable(object)?),
        "VWr" => RecordOp::VolatileWrite(names.variable(object)?),
        "Start" => RecordOp::Fork(names.thread(object)?),
        "Join" => RecordOp::Join(names.thread(object)?),
        "Wait" => RecordOp::Wait(names.lock(object)?),
        _ if line.flag == Some("true") => RecordOp::NotifyAll(names.lock(object)?),
        _ => RecordOp::Notify(names.lock(object)?),
    };
    let is_place = |word: &&str| word.rsplit(':').next().is_some_and(|last| last.parse::<u32>().is_ok());
    let place = line
        .rest
        .split_whitespace()
        .next_back()
        .filter(|word| word.contains(':'))
        .filter(is_place);
    let position = match place {
        Some(place) => Some(names.position(place)?),
        None => None,
    };
    Some(Record { thread, op, position })
}
