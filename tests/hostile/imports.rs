//! Foreign traces whose counts and lengths are those of much larger ones, and whose files are none.

use crate::command::{Outcome, run};
use crate::place::Place;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// `witness` with so much address space in all: what a file claims cannot be had.
fn with_little_memory(place: &Place, arguments: &[&str]) -> Outcome {
    let witness = place.command(&[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -v 600000; exec \"$0\" \"$@\""]);
    shell.arg(witness.get_program()).args(arguments);
    for (name, value) in witness.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    run(shell.current_dir(place.path(".")))
}

/// Every command that reads a trace refuses this file, and says why; none needs memory for what it claims.
fn refused(place: &Place, name: &str, why: &str) {
    for command in ["info", "check", "dump", "analyze", "plan", "replay"] {
        let outcome = with_little_memory(place, &[command, name]).status(2);
        assert!(outcome.stderr.contains(why), "{name}: {outcome:?}");
        assert!(!outcome.stderr.contains("out of memory"), "{name}: {outcome:?}");
    }
    let outcome = with_little_memory(place, &["convert", name, "out.jsonl"]).status(2);
    assert!(outcome.stderr.contains(why), "{name}: {outcome:?}");
}

/// Logs of threads that are pipes, devices or links to them: not read.
#[test]
fn logs_that_are_no_files_are_not_waited_for() {
    let place = Place::new("logs");
    for what in ["pipe", "device", "folder"] {
        let folder = place.path(what);
        fs::create_dir(&folder).expect("a folder");
        let log = folder.join("1_trace.bin");
        match what {
            "pipe" => assert!(Command::new("mkfifo").arg(&log).status().expect("mkfifo").success()),
            "device" => symlink("/dev/zero", &log).expect("a link"),
            _ => fs::create_dir(&log).expect("a folder"),
        }
        refused(&place, what, "it is no regular file");
    }
}

#[test]
fn rapid_bin_counts_no_more_than_there_is() {
    let place = Place::new("rapid-bin");
    for (name, events) in [
        ("many", u64::MAX / 16),
        ("most", i64::MAX as u64),
        ("negative", u64::MAX),
    ] {
        let mut bytes = vec![0, 2];
        bytes.extend(i32::MAX.to_be_bytes());
        bytes.extend(i32::MAX.to_be_bytes());
        bytes.extend(events.to_be_bytes());
        bytes.extend([0; 16]);
        fs::write(place.path(name), bytes).expect("a trace");
        for command in ["info", "analyze", "convert"] {
            let more = if command == "convert" { &["out.jsonl"][..] } else { &[] };
            let arguments = [&[command, name], more, &["--format", "rapidbin"][..]].concat();
            let arguments: Vec<&str> = match command {
                "convert" => vec!["convert", name, "out.jsonl", "--from", "rapidbin"],
                _ => arguments,
            };
            let outcome = with_little_memory(&place, &arguments).status(2);
            assert!(outcome.stderr.contains("header"), "{outcome:?}");
        }
    }
}

#[test]
fn blocks_of_rv_predict_are_as_long_as_they_say() {
    let place = Place::new("rv-predict");
    for (name, how, stored, length, why) in [
        ("long", 0x20, 8_u32, u32::MAX, "claims more than it can hold"),
        ("large", 0x20, 8, 1 << 24, "claims more than it can hold"),
        ("cut", 0x10, u32::MAX, u32::MAX, "claims more than it can hold"),
        ("behind", 0x10, 1 << 24, 1 << 24, "cut within a block"),
        ("other", 0x70, 8, 8, "stored in an unknown way"),
        ("empty", 0x20, 8, 0, "damaged"),
    ] {
        let mut bytes = b"LZ4Block".to_vec();
        bytes.push(how);
        for field in [stored, length, 0] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend([0x1f, 0, 1, 0, 255, 255, 255, 255]);
        fs::write(place.path(name), bytes).expect("a log");
        let outcome = with_little_memory(&place, &["analyze", name]).status(2);
        assert!(outcome.stderr.contains(why) || name == "empty", "{name}: {outcome:?}");
    }
}

#[test]
fn json_lines_name_nothing_that_is_not_there() {
    let place = Place::new("json");
    let head = "{\"trace\":{\"version\":1}}\n";
    let thread = "{\"thread\":{\"name\":\"a\",\"parent\":null,\"os_id\":0}}\n";
    let event =
        |thread: &str, op: &str| format!("{{\"event\":{{\"thread\":{thread},\"pc\":1,\"stack\":0,\"op\":{op}}}}}\n");
    let nested = "[".repeat(1 << 20);
    for (name, rest) in [
        ("thread", event("4294967295", "\"Begin\"")),
        ("child", event("0", "{\"Fork\":{\"child\":4294967295}}")),
        (
            "lock",
            event("0", "{\"Acquire\":{\"lock\":4294967295,\"attempt\":false}}"),
        ),
        (
            "beyond",
            event(
                "0",
                "{\"Read\":{\"mem\":{\"addr\":18446744073709551615,\"size\":8},\"value\":0}}",
            ),
        ),
        (
            "wide",
            event("0", "{\"Read\":{\"mem\":{\"addr\":0,\"size\":4294967295},\"value\":0}}"),
        ),
        ("number", event("0", "{\"Fork\":{\"child\":1e999}}")),
        ("nested", nested),
        (
            "parent",
            "{\"thread\":{\"name\":\"b\",\"parent\":4294967295,\"os_id\":0}}\n".to_owned(),
        ),
        (
            "variable",
            "{\"variable\":{\"addr\":18446744073709551615,\"size\":18446744073709551615,\"name\":\"v\"}}\n".to_owned(),
        ),
        (
            "stack",
            "{\"stack\":{\"parent\":4294967295,\"call_site\":1}}\n".to_owned(),
        ),
    ] {
        fs::write(place.path(name), format!("{head}{thread}{rest}")).expect("a trace");
        refused(&place, name, &format!("{name}:3"));
    }
}

/// Work that grows with the square of a log's lines takes hours of some megabytes.
#[test]
fn a_log_of_many_waits_or_readers_takes_time_for_each_line() {
    let place = Place::new("many-lines");
    const MANY: u32 = 250_000;
    let line = |text: &mut String, thread: u32, op: &str| writeln!(text, "T{thread}|{op}|1").expect("a text");
    // Each waits, and each is woken by itself.
    let mut waits = String::new();
    for thread in 1..=MANY {
        line(&mut waits, thread, &format!("acq(l{thread})"));
        line(&mut waits, thread, &format!("wait(l{thread})"));
    }
    for thread in 1..=MANY {
        line(&mut waits, 0, &format!("notify(l{thread})"));
    }
    // All wait for one; none is ever woken twice.
    let mut one = String::new();
    for thread in 1..=MANY {
        line(&mut one, thread, "acq(l)");
        line(&mut one, thread, "wait(l)");
    }
    for _ in 1..=MANY {
        line(&mut one, 0, "notify(l)");
    }
    for (name, text) in [("waits", &waits), ("one", &one)] {
        fs::write(place.path(name), text).expect("a log");
        let mut info = place.command(&["info", name]);
        let mut running = info
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("witness runs");
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = running.try_wait().expect("a child") {
                break status;
            }
            if begun.elapsed() > Duration::from_secs(120) {
                running.kill().expect("it can be killed");
                panic!("{name}: it takes for ever");
            }
            sleep(Duration::from_millis(10));
        };
        assert!(status.success(), "{name}");
    }
}
