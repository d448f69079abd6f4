//! One pair, by lines, functions and events.

use crate::command::witness;
use crate::recorded::{folder, record};
use witness::results::Results;

#[test]
fn a_pair_is_named_by_lines_functions_or_events() {
    let folder = folder("explain");
    let trace = record(&folder, "wrong_lock");
    let by_lines = witness(
        &folder,
        &["explain", &trace, "wrong_lock.c:19", "wrong_lock.c:28", "--json"],
    )
    .expect(66);
    let by_lines: Results = serde_json::from_str(&by_lines).expect("results");
    assert_eq!(by_lines.pairs.len(), 1);
    let pair = &by_lines.pairs[0];
    assert_eq!(
        (pair.verdict.as_str(), pair.a.line, pair.b.line),
        ("witnessed", Some(19), Some(28))
    );
    let events = [pair.a.event.to_string(), pair.b.event.to_string()];
    let by_events = witness(&folder, &["explain", &trace, &events[0], &events[1], "--json"]).expect(66);
    let by_events: Results = serde_json::from_str(&by_events).expect("results");
    assert_eq!(by_events.pairs[0].instances.total, 1);
    assert_eq!(by_events.pairs[0].a.event, pair.a.event);
    let by_functions = witness(&folder, &["explain", &trace, "holds_a", "holds_b", "--json"]).expect(66);
    let by_functions: Results = serde_json::from_str(&by_functions).expect("results");
    assert_eq!(by_functions.summary.witnessed, 2);
    let text = witness(&folder, &["explain", &trace, "wrong_lock.c:19", "wrong_lock.c:28"]).expect(66);
    assert!(
        text.contains("race: both are next") && text.contains(".explained --witness 1"),
        "{text}"
    );
}

#[test]
fn a_refutation_comes_with_the_facts_that_exclude_it() {
    let folder = folder("explain-refuted");
    let trace = record(&folder, "bank_account");
    let text = witness(&folder, &["explain", &trace, "bank_account.c:18", "bank_account.c:27"]).expect(3);
    assert!(
        text.contains("Not in this trace") && text.contains("core") && text.contains("can only reach"),
        "{text}"
    );
    let atomic = record(&folder, "atomic_flag");
    let text = witness(&folder, &["explain", &atomic, "producer", "producer"]);
    assert!([0, 3].contains(&text.status), "{}", text.stdout);
}

#[test]
fn what_is_no_pair_is_said_to_be_none() {
    let folder = folder("explain-none");
    let trace = record(&folder, "wrong_lock");
    let refused = |a: &str, b: &str, status: i32, words: &str| {
        let said = witness(&folder, &["explain", &trace, a, b]);
        assert_eq!(said.status, status, "{}{}", said.stdout, said.stderr);
        let all = said.stdout + &said.stderr;
        assert!(all.contains(words), "{all}");
    };
    refused("0", "8", 2, "event 0 is not a memory access: thread 0 (main) begins");
    refused(
        "99999",
        "8",
        2,
        "there is no event 99999: events are numbered from 0 to ",
    );
    refused(
        "wrong_lock.c:19",
        "nowhere.c:1",
        3,
        "not in this trace: access: nowhere.c:1",
    );
    refused("wrong_lock.c:16", "wrong_lock.c:28", 3, "never access the same memory");
    refused(
        "wrong_lock.c:19",
        "wrong_lock.c:19",
        3,
        "only thread 1 accesses the same memory at both",
    );
}
