//! Verdicts on generated traces in STD, and on the command line.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use trace_format::Tables;
use witness::analyze::{Options, analyze};
use witness::generate::{Generator, Shape};
use witness::import::{Format, read, write_std};
use witness::symbols::Symbols;
use witness::trace::Trace;
use witness::verdict::Verdict;

/// The witnessed pairs of places and the number of all pairs. Asserts that none is left unknown.
pub fn racing(trace: &Trace) -> (BTreeSet<(String, String)>, usize) {
    let options = Options {
        instances: None,
        budget: 100_000_000,
        ..Options::default()
    };
    let analysis = analyze(trace, &options);
    assert!(analysis.rejected.is_empty(), "{:?}", analysis.rejected);
    let symbols = Symbols::new(trace.tables());
    let mut racing = BTreeSet::new();
    for pair in &analysis.pairs {
        let (a, b) = (symbols.place(pair.positions.0), symbols.place(pair.positions.1));
        match &pair.verdict {
            Verdict::Witnessed(_) => drop(racing.insert(if a <= b { (a, b) } else { (b, a) })),
            Verdict::Refuted(_) | Verdict::NotInTrace(_) => {}
            Verdict::Unknown(why) => panic!("{a} and {b}: {why:?}"),
        }
    }
    (racing, analysis.pairs.len())
}

fn generated(shape: Shape) -> Trace {
    let generator = Generator::new(shape);
    let tables = Tables {
        threads: generator.threads(),
        objects: generator.objects(),
        sources: generator.sources(),
        ..Tables::default()
    };
    let event = |(thread, pc, op)| trace_format::Event {
        thread,
        pc,
        stack: trace_format::StackId::EMPTY,
        op,
    };
    let events: Vec<_> = generator.map(event).collect();
    Trace::from_events(tables, &events)
}

fn as_std(trace: &Trace) -> Trace {
    let mut text = Vec::new();
    write_std(trace, &mut text).expect("STD can say it");
    let opened = read("generated.std", text, None, false).expect("a trace");
    assert_eq!(opened.format, Format::Std);
    Trace::from_file(&opened.file).expect("it can be loaded")
}

#[test]
fn disciplined_traces_have_no_race() {
    let shape = Shape {
        events: 500,
        threads: 4,
        variables: 10,
        locks: 3,
        unprotected: 0.0,
        ..Shape::default()
    };
    for seed in 1..=5 {
        let (racing, pairs) = racing(&as_std(&generated(Shape { seed, ..shape })));
        assert!(racing.is_empty(), "{racing:?}");
        assert!(pairs > 0);
    }
}

/// Where all written values differ, the trace with values says no more than the one without.
#[test]
fn verdicts_are_those_of_distinct_values() {
    let shape = Shape {
        events: 150,
        threads: 3,
        variables: 6,
        locks: 3,
        unprotected: 0.2,
        values: 1 << 60,
        ..Shape::default()
    };
    let mut witnessed = 0;
    for seed in 1..=5 {
        let trace = generated(Shape { seed, ..shape });
        let found = racing(&as_std(&trace));
        assert_eq!(found, racing(&trace), "seed {seed}");
        witnessed += found.0.len();
    }
    assert!(witnessed > 0);
}

fn witness(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_witness"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("WITNESS_")) {
        command.env_remove(name);
    }
    let output = command
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("witness starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn folder(name: &str, file: &str, content: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("import").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    std::fs::write(folder.join(file), content).expect("the trace can be written");
    folder
}

const RACE: &str = "T0|fork(T1)|main.c:1\nT0|w(x)|main.c:2\nT1|r(x)|main.c:9\n";

#[test]
fn every_subcommand_reads_std() {
    let folder = folder("subcommands", "race.std", RACE);
    let (status, out, _) = witness(&folder, &["analyze", "race.std"]);
    assert_eq!(status, Some(66), "{out}");
    assert!(out.contains("main.c:2") && out.contains("main.c:9"), "{out}");
    assert!(out.contains("Write of 'x' by thread 0 'T0'"), "{out}");
    assert!(out.contains("variable 'x'") && !out.contains("0x100000"), "{out}");
    assert_eq!(witness(&folder, &["replay", "race.std"]).0, Some(66));
    assert_eq!(
        witness(&folder, &["check", "race.std", "race.std.witnesses/1.sched"]).0,
        Some(0)
    );
    assert_eq!(witness(&folder, &["info", "race.std"]).0, Some(0));
    let (status, out, _) = witness(&folder, &["dump", "--format", "std", "race.std"]);
    assert_eq!((status, out.lines().count()), (Some(0), 3));
}

/// Locations that are numbers, and variables, as the trace has them.
#[test]
fn pairs_are_named_by_locations_and_variables_of_the_trace() {
    let text = "T0|w(x)|1\nT0|fork(T1)|2\nT1|w(x)|3\nT0|w(x)|12\nT0|r(y)|13\nT1|w(y)|14\n";
    let folder = folder("places", "numbered.std", text);
    let explain = |a: &str, b: &str| witness(&folder, &["explain", "numbered.std", a, b]);
    let (status, out, _) = explain("3", "12");
    assert_eq!(status, Some(66), "{out}");
    assert!(
        out.contains("Write of 'x' by thread 1 'T1'") && !out.contains("'y'"),
        "{out}"
    );
    let (status, out, _) = explain("y", "14");
    assert_eq!(status, Some(66), "{out}");
    assert!(
        out.contains("Read of 'y' by thread 0 'T0'") && !out.contains("'x'"),
        "{out}"
    );
    let (status, out, _) = explain("x", "x");
    assert!(status == Some(66) && out.contains("1 pair refuted"), "{out}");
    // The third and fourth event, where 2 and 3 are locations.
    let (status, out, _) = explain("event:2", "event:3");
    assert!(status == Some(66) && out.contains("thread 0 writes x = 3"), "{out}");
    std::fs::write(folder.join("pairs.txt"), "3 12\n13 14\n").expect("a list");
    let (status, out, _) = witness(&folder, &["confirm", "numbered.std", "pairs.txt"]);
    assert_eq!((status, out.matches("WITNESSED").count()), (Some(66), 2), "{out}");
}

/// A file of RV-Predict's: one stored block, and the empty one.
fn log(records: &[[u64; 6]]) -> Vec<u8> {
    let mut content = Vec::new();
    for &[number, thread, location, address, value, kind] in records {
        content.extend(number.to_be_bytes());
        content.extend(thread.to_be_bytes());
        content.extend((location as u32).to_be_bytes());
        content.extend(address.to_be_bytes());
        content.extend(value.to_be_bytes());
        content.push(kind as u8);
    }
    let mut file = Vec::new();
    for content in [&content[..], &[]] {
        let length = (content.len() as u32).to_le_bytes();
        let checksum = if content.is_empty() {
            0
        } else {
            twox_hash::XxHash32::oneshot(0x9747_b28c, content) & 0x0fff_ffff
        };
        file.extend(b"LZ4Block\x1d");
        file.extend([length, length, checksum.to_le_bytes()].concat());
        file.extend(content);
    }
    file
}

#[test]
fn a_folder_of_logs_is_one_trace() {
    let folder = folder("rv-predict", "metadata.bin", "not looked at");
    let field = 7 << 32 | 0xffff_fffe;
    let logs = folder.join("log");
    std::fs::create_dir(&logs).expect("the folder can be made");
    assert_eq!(
        witness(&folder, &["analyze", "log"]).0,
        Some(2),
        "there is nothing in it"
    );
    let first = log(&[[0, 1, 10, 5, 0, 11], [1, 1, 11, field, 1, 1]]);
    std::fs::write(logs.join("0trace.bin"), first).expect("the log can be written");
    std::fs::write(logs.join("1trace.bin"), log(&[[2, 5, 20, field, 1, 0]])).expect("the log can be written");
    let (status, out, error) = witness(&folder, &["analyze", "log"]);
    assert_eq!(status, Some(66), "{error}");
    assert!(out.contains("Write of '7.2' by thread 0 'T1'"), "{out}");
    assert!(out.contains("which fields are volatile"), "{out}");
    let (status, _, error) = witness(&folder, &["analyze", "log/1trace.bin", "--format", "std"]);
    assert_eq!(status, Some(2), "{error}");
    assert_eq!(witness(&folder, &["convert", "log", "out.std"]).0, Some(0));
    let text = std::fs::read_to_string(folder.join("out.std")).expect("it was written");
    assert_eq!(text, "T1|fork(T5)|10\nT1|w(7.2)|11\nT5|r(7.2)|20\n");
}

#[test]
fn a_way_through_all_formats() {
    let folder = folder("formats", "race.std", RACE);
    for (from, to) in [
        ("race.std", "a.bin"),
        ("a.bin", "b.jsonl"),
        ("b.jsonl", "c.bin"),
        ("c.bin", "d.std"),
    ] {
        let (status, _, error) = witness(&folder, &["convert", from, to]);
        assert_eq!(status, Some(0), "{error}");
    }
    let text = std::fs::read_to_string(folder.join("d.std")).expect("it was written");
    assert_eq!(text, RACE);
}

#[test]
fn a_refusal_says_line_reason_and_remedy() {
    let folder = folder("refusal", "bad.std", "T0|w(x)|1\nT0|rel(l)|2\n");
    for command in ["analyze", "check", "info", "dump", "replay"] {
        let (status, _, error) = witness(&folder, &[command, "bad.std"]);
        assert_eq!(status, Some(2));
        let expected = "bad.std:2: T0 releases l, which it does not hold; remove the release (--repair does)";
        assert!(error.contains(expected), "{error}");
    }
    let (status, _, error) = witness(&folder, &["convert", "--repair", "bad.std", "good.bin"]);
    assert_eq!(status, Some(0));
    assert!(error.contains("line 2: T0 releases l"), "{error}");
    assert_eq!(witness(&folder, &["convert", "bad.std", "worse.bin"]).0, Some(2));
    assert!(!folder.join("worse.bin").exists());
    assert_eq!(witness(&folder, &["convert", "good.bin", "good.rr"]).0, Some(2));
}

#[test]
fn std_does_not_say_what_it_cannot() {
    let text = concat!(
        "{\"trace\":{\"version\":1}}\n",
        "{\"thread\":{\"name\":null,\"parent\":null,\"os_id\":0}}\n",
        "{\"object\":{\"kind\":\"RwLock\",\"addr\":0,\"name\":null,\"initial\":0}}\n",
        "{\"event\":{\"thread\":0,\"pc\":0,\"stack\":0,\"op\":{\"AcquireShared\":{\"lock\":0}}}}\n",
        "{\"end\":\"Unknown\"}\n"
    );
    let folder = folder("inexpressible", "shared.jsonl", text);
    let (status, _, error) = witness(&folder, &["convert", "shared.jsonl", "shared.std"]);
    assert_eq!(status, Some(2));
    assert!(error.contains("event 0 is an acquire of a shared lock"), "{error}");
    assert!(!folder.join("shared.std").exists());
}
