//! Programs that handle their own faults, and write down what they access: the trace has the same.

use crate::count;
use crate::program::Program;
use std::fs;
use std::ops::Range;
use std::process::{Command, Output};
use trace_format::{MemRange, Op, ThreadId, TraceFile};

/// One byte of an access: `r` or `w`, its address and its value.
type Byte = (char, u64, u8);

/// What the program wrote down, and the memory that it did so for.
fn written_down(log: &str) -> (Vec<Byte>, Vec<Range<u64>>) {
    let (mut bytes, mut areas) = (Vec::new(), Vec::new());
    for line in log.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| u64::from_str_radix(words[at], 16).expect("a hexadecimal number");
        match words[0] {
            "area" => areas.push(number(1)..number(2)),
            kind => bytes.push((kind.chars().next().expect("a letter"), number(1), number(2) as u8)),
        }
    }
    (bytes, areas)
}

/// What the trace has of the first thread's accesses to these areas.
fn recorded(trace: &TraceFile, areas: &[Range<u64>]) -> Vec<Byte> {
    let mut bytes = Vec::new();
    let mut add = |kind: char, mem: MemRange, value: u64| {
        let each = (mem.addr..).zip(value.to_le_bytes()).take(mem.size.into());
        let wanted = each.filter(|(at, _)| areas.iter().any(|area| area.contains(at)));
        bytes.extend(wanted.map(|(at, value)| (kind, at, value)));
    };
    for event in trace.events().map(|event| event.expect("the trace is whole")) {
        if event.thread != ThreadId(0) {
            continue;
        }
        match event.op {
            Op::Read { mem, value } | Op::AtomicLoad { mem, value, .. } => add('r', mem, value),
            Op::Write { mem, value } | Op::AtomicStore { mem, value, .. } => add('w', mem, value),
            Op::AtomicRmw { mem, read, written, .. } => {
                add('r', mem, read);
                add('w', mem, written);
            }
            _ => {}
        }
    }
    bytes
}

/// Records the program and compares.
fn compare(program: &Program, name: &str, flags: &[&str]) {
    let log = program.path.with_file_name(format!("{name}.log"));
    let (mut witness, trace): (Command, _) = program.recorder(name, flags, &[log.to_str().expect("plain letters")]);
    let output: Output = witness.output().expect("witness runs");
    assert_eq!(output.status.code(), Some(0), "{flags:?}: {output:?}");
    let (expected, areas) = written_down(&fs::read_to_string(&log).expect("the program wrote its log"));
    let trace = TraceFile::open(&trace).expect("a trace");
    assert!(
        trace.tables().meta.degraded.is_empty(),
        "{:?}",
        trace.tables().meta.degraded
    );
    let recorded = recorded(&trace, &areas);
    let difference = expected.iter().zip(&recorded).position(|(a, b)| a != b);
    if let Some(at) = difference {
        let around = at.saturating_sub(4)..at + 12;
        panic!(
            "{flags:?}: byte {at} of {}: {:x?} was recorded as {:x?}",
            expected.len(),
            &expected[around.start..around.end.min(expected.len())],
            &recorded[around.start..around.end.min(recorded.len())]
        );
    }
    assert_eq!(expected.len(), recorded.len(), "{flags:?}");
    assert!(expected.len() > 80_000);
}

fn compare_often(name: &str, test: &str, flags: &[&str]) {
    let program = Program::compile(name, test, flags);
    compare(&program, "fifo", &["--policy=fifo"]);
    for seed in 1..=3 {
        let seed = format!("--seed={seed}");
        for policy in ["random", "pct", "pos"] {
            compare(&program, policy, &[&format!("--policy={policy}"), &seed]);
        }
    }
}

#[test]
fn accesses_are_exact_where_the_program_handles_its_own_faults() {
    compare_often("faults", "faults", &["-fsanitize=thread"]);
}

#[test]
fn accesses_are_exact_under_faults_without_and_with_optimization() {
    compare_often("faults", "faults-O0", &["-fsanitize=thread", "-O0"]);
    compare_often("faults", "faults-O3", &["-fsanitize=thread", "-O3"]);
}

#[test]
fn every_hook_is_exact_where_the_program_handles_its_own_faults() {
    compare_often("faults_hooks", "faults_hooks", &["-fsanitize=thread"]);
}

/// A read that a handler makes in the middle of a hook would come before the write that the hook records, and that it
/// sees.
#[test]
fn what_a_handler_does_in_the_middle_of_a_hook_is_not_recorded() {
    let program = Program::instrumented("vanished", "vanished");
    for flags in ["--policy=fifo", "--policy=random"] {
        let (output, _) = program.record("vanished", &[flags], &[]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "20\n", "{output:?}");
    }
}

#[test]
fn what_the_kernel_refuses_fails_as_it_does_without_the_recorder() {
    let plain = Program::compile("refused", "refused-plain", &[]);
    let expected = Command::new(&plain.path).output().expect("the program runs");
    let expected = String::from_utf8(expected.stdout).expect("text");
    assert!(expected.matches("EFAULT").count() > 50, "{expected}");
    let (output, recorded) = Program::instrumented("refused", "refused").record("refused", &[], &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let seen = String::from_utf8(output.stdout).expect("text");
    let different = expected
        .lines()
        .zip(seen.lines())
        .find(|(expected, seen)| expected != seen);
    assert_eq!(different, None);
    assert_eq!(expected.lines().count(), seen.lines().count());
    // What of a buffer is there is read all the same.
    let reads = count(
        &recorded,
        |op| matches!(op, Op::Read { mem, .. } if mem.size == 8 && mem.addr % 4096 == 4080),
    );
    assert_eq!(reads, 3);
}
