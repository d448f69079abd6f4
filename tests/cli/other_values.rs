//! Schedules that end in another value of a read: checked, replayed, refused.

use crate::command::witness;
use crate::traces::{Script, X, folder};
use insta::assert_snapshot;
use std::fs;
use std::path::Path;
use trace_format::{EventId, ObjectId, Op, ThreadId};
use witness::analyze::{Options, OtherValues};
use witness::check::Checker;
use witness::prune::MustHappenBefore;
use witness::trace::{Sections, Trace};

/// The read of the thread that counts second.
const SECOND: EventId = EventId(11);

/// Two threads count under a lock.
fn counter(path: &Path) {
    let mut script = Script::new(path);
    script.event(0, 1, Op::Write { mem: X, value: 0 });
    for child in [1, 2] {
        let child = ThreadId(child);
        script.event(0, 2, Op::Fork { child });
    }
    let lock = ObjectId(0);
    for (thread, value) in [(1, 0), (2, 1)] {
        let line = u64::from(10 * thread);
        script.event(thread, line + 1, Op::Begin);
        script.event(thread, line + 2, Op::Acquire { lock, attempt: false });
        script.event(thread, line + 3, Op::Read { mem: X, value });
        let value = value + 1;
        script.event(thread, line + 4, Op::Write { mem: X, value });
        script.event(thread, line + 5, Op::Release { lock });
        script.event(thread, line + 6, Op::End);
    }
    script.finish();
}

#[test]
fn the_other_order_of_a_counter_is_shown_and_checked() {
    let folder = folder("other_values");
    let path = folder.join("trace.bin");
    counter(&path);
    let trace = Trace::open(&path).expect("a trace");
    let (order, sections) = (MustHappenBefore::of(&trace), Sections::of(&trace));
    let checker = Checker::new(&trace);
    let mut others = OtherValues::new(&checker, &order, &sections, &Options::default());
    let mut reads = trace
        .events()
        .filter(|&event| trace.access(event).is_some_and(|access| access.kind.reads()));
    let second = reads.next_back().expect("a read");
    let (found, open) = others.all(second);
    assert_eq!((found.len(), open), (1, None));
    assert_eq!(found[0].value, Some(0));
    let text = found[0].schedule.to_string();
    fs::write(folder.join("other.sched"), &text).expect("a file");
    let replay = witness(&folder, &["replay", "trace.bin", "--schedule", "other.sched"]).status(0);
    assert_snapshot!(replay.stdout);
    let checked = witness(&folder, &["check", "trace.bin", "other.sched"]).status(0);
    assert_eq!(
        checked.stdout,
        format!(
            "other.sched: accepted: after 5 events in 2 slices, event {} is next, and would see 0, not what it saw in the trace\n",
            second.0
        )
    );

    let refused = |from: &str, to: &str| {
        let text = text.replace(from, to);
        fs::write(folder.join("wrong.sched"), text).expect("a file");
        witness(&folder, &["check", "trace.bin", "wrong.sched"])
            .status(1)
            .stdout
    };
    assert_eq!(SECOND, second);
    let said = refused("sees 0", "sees 7");
    assert!(said.contains("rejected: event 11 would see 0, not 7"), "{said}");
    let said = refused("sees 0", "sees ?");
    assert!(
        said.contains("would see 0, not a value that the trace does not tell"),
        "{said}"
    );
    let said = refused("read 11", "read 0");
    assert!(said.contains("rejected: event 0 does not read"), "{said}");
    let live = witness(&folder, &["replay", "trace.bin", "--schedule", "other.sched", "--live"]).status(2);
    assert!(live.stderr.contains("--live"), "{}", live.stderr);
}
