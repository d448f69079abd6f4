//! The fuzz targets for rings, stores and whole commands, with random input: what they check is in `fuzz/src`.

#[path = "../../fuzz/src/rings.rs"]
mod rings;
#[path = "../../fuzz/src/store.rs"]
mod store;

use crate::commands;
use crate::place::Place;
use std::fs;
use witness::analyze::{Options, analyze};
use witness::encode::Form;
use witness::import::{self, Format};
use witness::trace::Trace;
use witness::verdict::{Find, Kind, Regions, Verdict};

/// Rounds of each; `HOSTILE_ROUNDS` asks for more.
fn rounds() -> u64 {
    let more = std::env::var("HOSTILE_ROUNDS").ok();
    more.and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// Random numbers for one of the tests; `HOSTILE_SEED` asks for others.
fn random(test: u64) -> fastrand::Rng {
    let other = std::env::var("HOSTILE_SEED").ok();
    let seed: u64 = other.and_then(|text| text.parse().ok()).unwrap_or(0);
    fastrand::Rng::with_seed(test + 10 * seed)
}

#[test]
fn rings_of_random_content() {
    let mut random = random(1);
    for _ in 0..rounds() {
        let len = random.usize(..400);
        let mut input: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(len).collect();
        // Small numbers are more often good ones.
        for byte in &mut input {
            if random.u8(..4) > 0 {
                *byte %= 32;
            }
        }
        rings::ring(&input);
    }
}

/// What the fuzzer found: a row that speaks of four billion threads.
#[test]
fn a_ring_that_was_found_stands_for_no_threads() {
    rings::ring(&[
        0xef, 0x00, 0x08, 0xff, 0xff, 0xff, 0x6a, 0x6b, 0x2b, 0x08, 0x01, 0x01, 0x00, 0x32, 0xff, 0x00, 0x00, 0x00,
        0xff, 0xe9,
    ]);
}

#[test]
fn stores_of_random_content() {
    let mut random = random(2);
    let words = [
        "{\"header\":{\"schema\":\"witness-decisions/3\",\"plan\":\"@\",\"shard\":[1,1]}}",
        "{\"complete\":0}",
        "{\"complete\":1}",
        "{\"decision\":{\"number\":4294967295,\"pair\":{\"positions\":[1,2],\"example\":[0,1],\"verdict\":{\"Refuted\":{\"MustHappenBefore\":[]}},\"instances\":{\"total\":1,\"ordered\":0,\"locked\":0,\"tried\":0}},\"rejected\":[]}}",
        "\n",
        "{",
        "}",
        "[[[[[[[[",
        "\u{1f600}",
        "null",
        "1e999",
        "witness schedule",
        "race",
        "end",
        "t0 ",
        "- ",
    ];
    for _ in 0..rounds() {
        let input: String = (0..random.usize(..12))
            .map(|_| words[random.usize(..words.len())])
            .collect();
        let mut input = input.into_bytes();
        if let Some(byte) = random.choice(0..input.len()).filter(|_| random.bool()) {
            input[byte] ^= 1 << random.u8(..8);
        }
        store::files(&input);
    }
}

/// Of up to 120 bytes.
fn bytes(random: &mut fastrand::Rng) -> Vec<u8> {
    let len = random.usize(4..120);
    std::iter::repeat_with(|| random.u8(..)).take(len).collect()
}

#[test]
fn traces_of_random_content() {
    let mut random = random(3);
    for _ in 0..rounds() {
        commands::all(&bytes(&mut random));
    }
}

/// Every trace of three lines that is an execution is analyzed, in both forms of the formula: no schedule is rejected.
#[test]
fn no_trace_of_three_lines_is_too_short() {
    let ops = [
        "r(x)",
        "w(x)",
        "acq(l)",
        "rel(l)",
        "wait(l)",
        "notify(l)",
        "notifyAll(l)",
        "branch",
        "begin",
        "end",
        "fork(T1)",
        "join(T1)",
    ];
    let lines: Vec<String> = ["T0", "T1"]
        .iter()
        .flat_map(|thread| ops.iter().map(move |op| format!("{thread}|{op}|")))
        .filter(|line| !line.starts_with("T1|fork") && !line.starts_with("T1|join"))
        .collect();
    let (mut executions, mut witnessed) = (0, [0; 2]);
    for (one, two, three) in lines
        .iter()
        .flat_map(|one| lines.iter().map(move |two| (one, two)))
        .flat_map(|(one, two)| lines.iter().map(move |three| (one, two, three)))
    {
        let text = format!("{one}1\n{two}2\n{three}3\n");
        let Ok(opened) = import::read("three.std", text.clone().into_bytes(), Some(Format::Std), false) else {
            continue;
        };
        let trace = Trace::from_file(&opened.file).expect("it loads");
        executions += 1;
        for (form, witnessed) in [Form::Prefix, Form::WholeTrace].into_iter().zip(&mut witnessed) {
            let options = Options {
                form,
                find: Find::of(&Kind::ALL),
                regions: Regions::All,
                ..Options::default()
            };
            let analysis = analyze(&trace, &options);
            let rejected: Vec<&str> = analysis.rejected.iter().map(|rejected| &*rejected.reason).collect();
            assert!(rejected.is_empty(), "{form:?}: {rejected:?}:\n{text}");
            let verdicts = analysis.pairs.iter().map(|pair| &pair.verdict);
            *witnessed += verdicts
                .filter(|verdict| matches!(verdict, Verdict::Witnessed(_)))
                .count();
        }
    }
    // What the whole-trace form finds, the other finds too.
    assert!(
        executions > 1_000 && witnessed[1] > 10 && witnessed[0] >= witnessed[1],
        "{executions}, {witnessed:?}"
    );
}

/// The commands themselves: with any content of a trace whose checksums are right, they end with a status that says
/// what is wrong with the trace, not with `witness`.
#[test]
fn commands_on_traces_of_random_content() {
    let place = Place::new("random-traces");
    let mut random = random(4);
    let (mut executions, mut others) = (0, 0);
    for round in 0..rounds() / 10 {
        let Some(trace) = commands::file(&bytes(&mut random)) else {
            continue;
        };
        fs::write(place.path("t.bin"), trace).expect("a trace");
        for arguments in [
            &["info", "t.bin"][..],
            &["dump", "t.bin"],
            &["check", "t.bin"],
            &["analyze", "t.bin"],
            &["analyze", "t.bin", "--model", "whole-trace"],
            &["replay", "t.bin"],
            &["plan", "t.bin"],
            &["analyze", "t.bin", "--shard", "1/1"],
            &["merge", "t.bin"],
        ] {
            let outcome = place.witness(arguments);
            let good = matches!(outcome.status, 0 | 2 | 3 | 66) || arguments[0] == "check" && outcome.status == 1;
            assert!(good, "round {round}: {arguments:?}: {outcome:?}");
            assert!(!outcome.stderr.contains("panicked"), "{arguments:?}: {outcome:?}");
            if arguments[0] == "check" {
                executions += usize::from(outcome.status == 0);
                others += usize::from(outcome.status == 1);
            }
        }
        let _ = fs::remove_dir_all(place.path("t.bin.witnesses"));
    }
    assert!(executions > 0 && others > 0, "{executions} executions, {others} others");
}
