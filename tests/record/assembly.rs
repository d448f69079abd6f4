//! Inline assembly, which `witness cc` has recorded.

use crate::count;
use crate::program::Program;
use crate::replay::replay;
use std::collections::BTreeSet;
use std::process::Command;
use trace_format::{Event, MemRange, Op, TraceFile};

#[test]
fn every_kind_of_access_is_recorded_and_changes_no_register() {
    for recorded in Program::by_witness("assembly", "assembly").record_often() {
        let changes = |size| {
            count(
                &recorded,
                |op| matches!(op, Op::AtomicRmw { mem, .. } if mem.size == size),
            )
        };
        // Two threads with twenty rounds each.
        let each = 2 * 20;
        // `add`, and `not` twice.
        assert_eq!(changes(1), 3 * each);
        // `sub`, and `neg` twice.
        assert_eq!(changes(2), 3 * each);
        // `dec`; the pair, in halves; whose turn it is.
        assert_eq!(changes(8), 4 * each);
        // What the program says it has loaded is what was recorded.
        let mut noted = 0;
        for thread in 1..=2 {
            let mut own = recorded
                .events
                .iter()
                .filter(|event| event.thread.0 == thread)
                .peekable();
            while let Some(event) = own.next() {
                if let (Op::AtomicLoad { mem, value: loaded, .. }, Some(Op::Write { value, .. })) =
                    (event.op, own.peek().map(|next| next.op))
                    && mem.size == 8
                {
                    assert_eq!(loaded, value);
                    noted += 1;
                }
            }
        }
        assert!(noted >= each);
        let orders = |wanted| {
            count(
                &recorded,
                |op| matches!(op, Op::Fence { order } if *order as u8 == wanted),
            )
        };
        assert_eq!(orders(5), 2 * each, "`mfence`, and a change of the top of the stack");
    }
    Program::by_witness("assembly", "assembly_pins").has_no_pins(3);
}

#[test]
fn structures_that_are_passed_by_value_are_recorded() {
    // The bytes of the program's structures, but for those that fill up between them.
    const BYTES: usize = 8 + 1 + 11 + 16 + 12 + 16 + 10 + 48 + 320;
    for flags in [
        &["-O0"][..],
        &["-O1"],
        &["-O2"],
        &["-O3"],
        &["-Os"],
        &["-O2", "-march=native"],
    ] {
        let program = Program::by_witness_with("by_value", "by_value", flags);
        program.has_no_pins(3);
        let (mut record, file) = program.recorder("by_value", &["--policy=random"], &[]);
        let output = record.output().expect("witness runs");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{flags:?}: {stdout}");
        let start = stdout.trim().strip_prefix("0x").expect("an address");
        let start = u64::from_str_radix(start, 16).expect("an address");
        let trace = TraceFile::open(&file).expect("a trace");
        let events: Vec<Event> = trace.events().map(|event| event.expect("the trace is whole")).collect();
        let covered = |is_it: &dyn Fn(Op) -> Option<MemRange>| {
            let own = events.iter().filter(|event| event.thread.0 == 1);
            let ranges = own.filter_map(|event| is_it(event.op));
            let bytes: BTreeSet<u64> = ranges
                .flat_map(|mem| mem.addr..mem.addr + u64::from(mem.size))
                .collect();
            bytes.range(start..start + 512).count()
        };
        let read = covered(&|op| match op {
            Op::Read { mem, .. } => Some(mem),
            _ => None,
        });
        let written = covered(&|op| match op {
            Op::Write { mem, .. } => Some(mem),
            _ => None,
        });
        assert!(
            read >= BYTES && written >= BYTES,
            "{flags:?}: {read} read, {written} written"
        );
    }
}

#[test]
fn atomic_updates_of_numbers_with_a_fraction_are_recorded() {
    for optimization in ["-O0", "-O2"] {
        let program = Program::by_witness_with("updates", "updates", &[optimization, "-fopenmp"]);
        let (mut record, trace) = program.recorder("updates", &["--policy=random"], &[]);
        assert_eq!(record.output().expect("witness runs").status.code(), Some(0));
        let recorded = replay(&TraceFile::open(&trace).expect("a trace"));
        // Two in each of twenty rounds, and one for what each of three threads has added up.
        assert!(count(&recorded, |op| matches!(op, Op::AtomicRmw { .. })) >= 2 * 20 + 3);
        let analyzed = Command::new(env!("CARGO_BIN_EXE_witness"))
            .arg("analyze")
            .arg(&trace)
            .output();
        let analyzed = analyzed.expect("witness runs");
        let stdout = String::from_utf8_lossy(&analyzed.stdout).into_owned();
        assert_eq!(analyzed.status.code(), Some(0), "{optimization}: {stdout}");
        assert!(stdout.contains(", 0 unknown"), "{optimization}: {stdout}");
    }
}

#[test]
fn a_lock_of_inline_assembly_guards_and_what_it_does_not_guard_races() {
    let program = Program::by_witness("assembly_locks", "assembly_locks");
    for seed in 1..=5 {
        let seed = format!("--seed={seed}");
        let (mut record, trace) = program.recorder(&seed, &["--policy=random", &seed], &[]);
        assert_eq!(record.output().expect("witness runs").status.code(), Some(0));
        let recorded = replay(&TraceFile::open(&trace).expect("a trace"));
        assert!(count(&recorded, |op| matches!(op, Op::AtomicRmw { .. })) >= 2);
        let analyzed = Command::new(env!("CARGO_BIN_EXE_witness"))
            .arg("analyze")
            .arg("--json")
            .arg(&trace)
            .output();
        let results: serde_json::Value = serde_json::from_slice(&analyzed.expect("witness runs").stdout).expect("JSON");
        let verdicts = |variable: &str| -> Vec<String> {
            let pairs = results["pairs"].as_array().expect("pairs").iter();
            let of = pairs.filter(|pair| pair["a"]["variable"] == variable || pair["b"]["variable"] == variable);
            of.map(|pair| pair["verdict"].as_str().expect("a verdict").to_owned())
                .collect()
        };
        assert!(verdicts("unguarded").contains(&"witnessed".to_owned()), "{results:#}");
        let guarded = verdicts("guarded");
        assert!(
            !guarded.is_empty()
                && guarded
                    .iter()
                    .all(|verdict| verdict == "refuted" || verdict == "not-in-trace"),
            "{guarded:?}"
        );
        let live = Command::new(env!("CARGO_BIN_EXE_witness"))
            .args(["replay", "--live"])
            .arg(&trace)
            .output();
        let live = String::from_utf8_lossy(&live.expect("witness runs").stdout).into_owned();
        assert!(live.contains("CONFIRMED"), "{live}");
    }
}
