//! What RoadRunner's printing tool logs: `@  Acquire(1,@03)`, `@  Wr(0,@05.x_I)  Final  F.java:7:3`.
//!
//! Lines that begin with `@` are events, others are the program's own output. The first argument is
//! the thread, the second the object; a field is `object.class.name_type`, so two variables are the
//! same if their texts are. `Rd Wr` are fields, `ARd AWr` elements of arrays, `VRd VWr` volatile
//! fields, which are atomic here. The last word of an access that looks like `file:line` is where.
//!
//! `Start`, `Join`, `Wait` and `Notify` are logged before and after the call, with the same words. If two such lines
//! follow each other in their thread, the first `Start`, the second `Join` and the first `Notify` count; the second
//! `Wait` ends the first. RoadRunner reuses the numbers of threads that have ended: a `Start` of a known thread begins
//! another one.
//!
//! Everything else that orders threads becomes atomic accesses to a variable of its own. Since a read keeps its writer,
//! that is at least the order that Java gives: `ClassInited` (write) before `ClassAccssed` (read; the tool spells it
//! so), `Interrupt` (write) before `Interrupted` (read); each entry of a `Barrier` reads and writes, an exit reads.
//! Methods and sleeps order nothing.
//!
//! Source: `rr.simple.PrintTool` and the `toString` of the events in RoadRunner's source.

use super::error::{ImportError, Malformed};
use super::record::{Each, Names, Record, RecordOp, lines, shown};
use hashbrown::{HashMap, HashSet};

/// An event's text: its name, thread, object, further words.
struct Line<'t> {
    name: &'t str,
    thread: &'t str,
    object: &'t str,
    /// The third argument of `Notify` and `Barrier`.
    flag: Option<&'t str>,
    rest: &'t str,
}

const EVENTS: [&str; 17] = [
    "Acquire",
    "Release",
    "Rd",
    "ARd",
    "VRd",
    "Wr",
    "AWr",
    "VWr",
    "Start",
    "Join",
    "Wait",
    "Notify",
    "ClassInited",
    "ClassAccssed",
    "Interrupt",
    "Interrupted",
    "Barrier",
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
    let (arguments, rest) = arguments.split_once(')')?;
    let mut split = arguments.splitn(if matches!(name, "Notify" | "Barrier") { 3 } else { 2 }, ',');
    let thread = split.next()?.trim();
    // A thread is interrupted: nothing else is said.
    let object = if name == "Interrupted" {
        thread
    } else {
        split.next()?.trim()
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_object = match name {
        // A number that was given away again is logged as -1.
        "Start" | "Join" | "Interrupt" => is_number(object),
        _ => !object.is_empty(),
    };
    (is_number(thread) && is_object).then_some(Line {
        name,
        thread,
        object,
        flag: split.next().map(str::trim),
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
    let mut threads = Threads::default();
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
        let records = records(&parsed, names, &mut threads, pairs.ends_of_waits.contains(&number));
        let Some(records) = records else {
            let (file, line) = (file.to_owned(), number);
            return Err(ImportError::TooManyNames { file, line });
        };
        for record in records.into_iter().flatten() {
            each(number, Ok(record))?;
        }
    }
    Ok(())
}

/// Which thread a number stands for at the moment.
#[derive(Default)]
struct Threads {
    /// How many threads had the number before; known numbers only.
    before: HashMap<String, u32>,
}

impl Threads {
    fn name(&mut self, number: &str) -> String {
        match *self.before.entry(number.to_owned()).or_default() {
            0 => number.to_owned(),
            before => format!("T{number}#{}", before + 1),
        }
    }

    /// A thread that is created now.
    fn fresh(&mut self, number: &str) -> String {
        if let Some(before) = self.before.get_mut(number) {
            *before += 1;
        }
        self.name(number)
    }
}

/// What a line stands for: one event, or the two of a barrier's entrance. `None`: too many names.
fn records(line: &Line<'_>, names: &mut Names, threads: &mut Threads, ends_wait: bool) -> Option<[Option<Record>; 2]> {
    let object = line.object;
    let thread = names.thread(&threads.name(line.thread))?;
    let mut second = None;
    let op = match line.name {
        "Acquire" => RecordOp::Acquire(names.lock(object)?),
        "Wait" if ends_wait => RecordOp::Acquire(names.lock(object)?),
        "Release" => RecordOp::Release(names.lock(object)?),
        "Rd" | "ARd" => RecordOp::Read(names.variable(object)?),
        "Wr" | "AWr" => RecordOp::Write(names.variable(object)?),
        "VRd" => RecordOp::VolatileRead(names.variable(object)?),
        "VWr" => RecordOp::VolatileWrite(names.variable(object)?),
        "Start" => RecordOp::Fork(names.thread(&threads.fresh(object))?),
        "Join" => RecordOp::Join(names.thread(&threads.name(object))?),
        "ClassInited" => RecordOp::VolatileWrite(names.variable(&format!("class {object}"))?),
        "ClassAccssed" => RecordOp::VolatileRead(names.variable(&format!("class {object}"))?),
        "Interrupt" | "Interrupted" => {
            let flag = names.variable(&format!("interrupt of thread {}", threads.name(object)))?;
            if line.name == "Interrupt" {
                RecordOp::VolatileWrite(flag)
            } else {
                RecordOp::VolatileRead(flag)
            }
        }
        "Barrier" => {
            let arrivals = names.variable(&format!("barrier {object}"))?;
            second = (line.flag != Some("Exit")).then_some(RecordOp::VolatileWrite(arrivals));
            RecordOp::VolatileRead(arrivals)
        }
        "Wait" => RecordOp::MonitorWait(names.lock(object)?),
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
    let record = |op| Record { thread, op, position };
    Some([Some(record(op)), second.map(record)])
}
