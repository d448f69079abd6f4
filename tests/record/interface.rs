//! ThreadSanitizer's interface: whatever a program can refer to in its runtime, it finds in ours.

use crate::program::Program;
use crate::replay::Recorded;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use trace_format::Op;

/// A function that a library exports: its name, its version, whether that is the default, and where it is.
struct Export {
    name: String,
    version: String,
    address: String,
}

fn exports(library: &Path) -> Vec<Export> {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output();
    let output = output.expect("nm is needed, of the package binutils");
    assert!(output.status.success(), "{library:?}: {output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    let export = |line: &str| {
        let [address, kind, name] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            return None;
        };
        let (name, version) = name.split_once('@').unwrap_or((name, ""));
        "TWi".contains(kind).then(|| Export {
            name: name.to_owned(),
            version: version.to_owned(),
            address: address.to_owned(),
        })
    };
    text.lines().filter_map(export).collect()
}

/// Where a compiler finds one of its files; `None` if there is no such compiler, or it has no such file.
fn file_of(compiler: &str, name: &str) -> Option<PathBuf> {
    let output = Command::new(compiler)
        .arg(format!("-print-file-name={name}"))
        .output()
        .ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    path.is_absolute().then_some(path)
}

/// What a program that was linked with `runtime` would not find, or in another version than it was made for.
fn lacking(runtime: &Path) -> Vec<String> {
    let ours = exports(&Path::new(env!("OUT_DIR")).join("runtime.so"));
    let ours: BTreeSet<String> = ours.into_iter().map(|export| export.name).collect();
    let mut others: Vec<BTreeMap<String, Vec<Export>>> = Vec::new();
    for name in [
        "libc.so.6",
        "libm.so.6",
        "ld-linux-x86-64.so.2",
        "libgcc_s.so.1",
        "libstdc++.so.6",
    ] {
        let library = file_of("gcc", name).unwrap_or_else(|| panic!("gcc does not know {name}"));
        let mut named: BTreeMap<String, Vec<Export>> = BTreeMap::new();
        for export in exports(&library) {
            named.entry(export.name.clone()).or_default().push(export);
        }
        others.push(named);
    }
    // A reference without a version is bound to the oldest one: it must be the same function as the default.
    let is_same = |exports: &Vec<Export>| {
        let default = exports.iter().find(|export| export.version.starts_with('@'));
        default.is_none_or(|default| exports.iter().all(|export| export.address == default.address))
    };
    let there = |name: &String| ours.contains(name) || others.iter().any(|named| named.get(name).is_some_and(is_same));
    let names: BTreeSet<String> = exports(runtime).into_iter().map(|export| export.name).collect();
    assert!(names.len() > 1500, "{runtime:?} has {} functions", names.len());
    // A thread's own variable, for clang's `-fsanitize-coverage=stack-depth`.
    let lacks = |name: &String| !there(name) && name != "__sancov_lowest_stack";
    names.into_iter().filter(lacks).collect()
}

#[test]
fn whatever_a_program_may_find_in_the_runtime_of_gcc_is_here() {
    let runtime = file_of("gcc", "libtsan.so").expect("gcc comes with libtsan");
    assert_eq!(lacking(&runtime), [""; 0]);
}

#[test]
fn whatever_a_program_may_find_in_the_runtime_of_clang_is_here() {
    let compilers = ["clang", "clang-14"].into_iter();
    let runtime = compilers
        .filter_map(|clang| file_of(clang, "libclang_rt.tsan-x86_64.so"))
        .next();
    match runtime {
        Some(runtime) => assert_eq!(lacking(&runtime), [""; 0]),
        None => eprintln!("not tested: clang's runtime is not installed (libclang-rt-14-dev)"),
    }
}

/// Places of the events that satisfy a condition.
fn places(recorded: &Recorded, wanted: impl Fn(&Op) -> bool) -> Vec<usize> {
    let events = recorded.events.iter().enumerate();
    events
        .filter(|(_, event)| wanted(&event.op))
        .map(|(at, _)| at)
        .collect()
}

#[test]
fn functions_of_the_interface_do_what_they_say() {
    let flags = ["-fsanitize=thread", "-fsanitize-coverage=trace-cmp"];
    let program = Program::compile("interface", "interface", &flags);
    for recorded in program.record_often() {
        let written = |value: u64, size: u8| {
            places(
                &recorded,
                |op| matches!(op, Op::Write { mem, value: it } if mem.size == size && *it == value),
            )
        };
        let read = |value: u64, size: u8| {
            places(
                &recorded,
                |op| matches!(op, Op::Read { mem, value: it } if mem.size == size && *it == value),
            )
        };
        // Unaligned stores, and a load of each.
        for (value, size) in [(0x5152, 2), (0x5354_5556, 4), (0x5758_595a_5b5c_5d5e, 8)] {
            assert_eq!(written(value, size).len(), 1, "{value:#x}");
            assert_eq!(read(value, size).len(), 1, "{value:#x}");
        }
        // Accesses announced with their position: 16 bytes are two.
        assert_eq!(written(0x6162_6364_6566_6768, 8).len(), 2);
    }
}

#[test]
fn what_only_the_other_runtime_has_is_refused_by_name() {
    let program = Program::instrumented("interface", "interface_refused");
    let (output, _) = program.record("refused", &[], &["refused"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("calls __tsan_java_find, which only"), "{said}");
    assert_ne!(output.status.code(), Some(0));
}

#[test]
fn a_program_may_bring_its_own_malloc_and_pass_on_to_ours() {
    let (output, recorded) = Program::instrumented("own_malloc", "own_malloc").record("own", &[], &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("a malloc of its own"), "{said}");
    let blocks = recorded
        .events
        .iter()
        .filter(|event| matches!(event.op, Op::Alloc { size: 1234, .. }));
    assert_eq!(blocks.count(), 6);
}
