//! Real programs, recorded: the trace must be the execution that the program had.
//!
//! The programs check themselves and end with status 0 if they saw what they should have seen;
//! [`replay`] checks that the trace explains every value and every lock.

mod assembly;
mod early;
mod endings;
mod expanded;
mod family;
mod faults;
mod interface;
mod interruptions;
mod library;
mod misuse;
mod openmp;
mod program;
mod replay;
mod salvage;
mod scheduling;
mod suites;
mod surroundings;

use program::Program;
use replay::Recorded;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use trace_format::{Ending, ObjectKind, Op, ProgramEnd, TraceFile, WaitOutcome};

fn count(recorded: &Recorded, wanted: impl Fn(&Op) -> bool) -> usize {
    recorded.events.iter().filter(|event| wanted(&event.op)).count()
}

#[test]
fn every_read_sees_the_last_write_whatever_its_size() {
    for recorded in Program::instrumented("sizes", "sizes").record_often() {
        let sizes = |size| count(&recorded, |op| matches!(op, Op::Read { mem, .. } if mem.size == size));
        assert!([1, 2, 3, 4, 8].iter().all(|&size| sizes(size) > 0));
        let switches = recorded
            .events
            .windows(2)
            .filter(|pair| pair[0].thread != pair[1].thread)
            .count();
        assert!(
            recorded.tables.meta.policy == "fifo" || switches >= 10,
            "{switches} switches"
        );
    }
}

#[test]
fn struct_copies_are_exact_without_optimization_as_well() {
    for flags in [["-fsanitize=thread", "-O0"], ["-fsanitize=thread", "-O3"]] {
        Program::compile("sizes", flags[1], &flags).record_often();
    }
}

#[test]
fn copies_are_exact_wherever_their_other_side_is() {
    for flags in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
        Program::compile(
            "copies",
            &format!("copies{flags}"),
            &["-fsanitize=thread", "-fPIC", flags],
        )
        .has_no_pins(2);
    }
    let library = ["-fsanitize=thread", "-fPIC", "-shared"];
    let library = Program::compile("copies", "copies_library", &[&library[..], &["-Dmain=call"]].concat());
    let path = library.path.to_str().expect("a name");
    Program::compile("calls", "copies_library", &["-fsanitize=thread", path]).has_no_pins(2);
}

#[test]
fn atomics_of_every_size_and_kind() {
    for recorded in Program::instrumented("atomics", "atomics").record_often() {
        assert!(count(&recorded, |op| matches!(op, Op::AtomicRmw { .. })) >= 2 * 50 * 4 * 7);
        assert_eq!(count(&recorded, |op| matches!(op, Op::Fence { .. })), 2 * 50 * 4);
    }
}

#[test]
fn atomics_of_128_bits() {
    for recorded in Program::compile("wide", "wide", &["-fsanitize=thread", "-mcx16"]).record_often() {
        // Two halves each, in a section of their own.
        let sections = count(&recorded, |op| matches!(op, Op::Release { .. }));
        let halves = count(
            &recorded,
            |op| matches!(op, Op::AtomicLoad { mem, .. } | Op::AtomicRmw { mem, .. } if mem.size == 8),
        );
        assert!(sections >= 2 * 40 * 4 && halves == 2 * sections, "{sections} {halves}");
    }
}

#[test]
fn functions_of_the_library_are_accesses_of_their_caller() {
    let program = Program::compile("library", "library", &["-fsanitize=thread"]);
    for recorded in program.record_often() {
        let program = recorded
            .tables
            .modules
            .iter()
            .find(|module| module.path.ends_with("/library"));
        let program = program.expect("the program is a module");
        let foreign = count(&recorded, |op| matches!(op, Op::Read { .. } | Op::Write { .. }));
        let own = recorded
            .events
            .iter()
            .filter(|event| (program.start..program.end).contains(&event.pc));
        assert!(foreign > 5000, "{foreign}");
        assert!(own.count() > 5000);
    }
}

#[test]
fn condition_variables() {
    for recorded in Program::instrumented("conditions", "conditions").record_often() {
        let ended = |wanted| {
            count(
                &recorded,
                |op| matches!(op, Op::WaitEnd { outcome, .. } if *outcome == wanted),
            )
        };
        assert_eq!(ended(WaitOutcome::TimedOut), 2);
        assert!(ended(WaitOutcome::Notified) > 0);
    }
}

#[test]
fn whoever_has_ended_waits_for_nothing() {
    // Reading back to the last event of each thread that ever waited took longer than recording.
    for recorded in Program::instrumented("conditions", "waits_are_over").record_often() {
        let waiting = &recorded.tables.meta.pending;
        assert!(waiting.is_empty(), "{waiting:?}");
    }
}

#[test]
fn locks_taken_and_not_taken() {
    for recorded in Program::instrumented("locks", "locks").record_often() {
        assert_eq!(count(&recorded, |op| matches!(op, Op::AcquireFailed { .. })), 5);
        assert_eq!(count(&recorded, |op| matches!(op, Op::AcquireShared { .. })), 60);
        let kinds: Vec<ObjectKind> = recorded.tables.objects.iter().map(|object| object.kind).collect();
        let of = |kind| kinds.iter().filter(|known| **known == kind).count();
        assert_eq!(of(ObjectKind::RecursiveMutex), 1);
        // `plain`, and `checking` twice.
        assert_eq!(of(ObjectKind::Mutex), 3);
        assert_eq!((of(ObjectKind::RwLock), of(ObjectKind::SpinLock)), (1, 1));
    }
}

#[test]
fn barriers_semaphores_and_once() {
    for recorded in Program::instrumented("rounds", "rounds").record_often() {
        assert_eq!(count(&recorded, |op| matches!(op, Op::BarrierExit { .. })), 3 * 4 * 2);
        assert_eq!(
            count(&recorded, |op| matches!(op, Op::BarrierEnter { round: 7, .. })),
            3
        );
        assert_eq!(count(&recorded, |op| matches!(op, Op::OnceWait { .. })), 2);
        let semaphore = recorded
            .tables
            .objects
            .iter()
            .find(|object| object.kind == ObjectKind::Semaphore);
        assert_eq!(semaphore.map(|object| object.initial), Some(2));
    }
}

#[test]
fn c11_threads() {
    for recorded in Program::instrumented("c11", "c11").record_often() {
        assert!(recorded.tables.meta.degraded.is_empty());
        assert_eq!(count(&recorded, |op| matches!(op, Op::Join { .. })), 2);
        assert!(count(&recorded, |op| matches!(op, Op::Acquire { .. })) >= 40);
    }
}

#[test]
fn an_initialization_that_does_not_return_is_made_again() {
    for recorded in Program::instrumented("once_in_vain", "once_in_vain").record_often() {
        // Two of each: in vain, and for good. (The C++ library may have one of its own.)
        let begun = count(&recorded, |op| matches!(op, Op::OnceBegin { .. }));
        assert!((4..=5).contains(&begun), "{begun}");
        assert_eq!(count(&recorded, |op| matches!(op, Op::OnceEnd { .. })), begun);
        // Main and the other thread of either cell.
        assert!(count(&recorded, |op| matches!(op, Op::OnceWait { .. })) >= 2);
    }
}

#[test]
fn function_local_statics_of_cpp() {
    for recorded in Program::instrumented("statics", "statics").record_often() {
        assert_eq!(count(&recorded, |op| matches!(op, Op::OnceBegin { .. })), 1);
        assert_eq!(count(&recorded, |op| matches!(op, Op::OnceEnd { .. })), 1);
    }
}

#[test]
fn the_handle_that_a_join_of_cpp_clears_is_explained() {
    for recorded in Program::instrumented("thread_objects", "thread-objects").record_often() {
        assert_eq!(count(&recorded, |op| matches!(op, Op::Join { .. })), 2);
    }
}

/// Each of its lists, trees and strings is looked at by both threads: what nobody recorded would pin them.
#[test]
fn what_the_standard_library_does_to_lists_trees_and_strings_is_recorded() {
    for level in ["-O1", "-O2"] {
        let program = Program::compile(
            "containers",
            &format!("containers{level}"),
            &["-fsanitize=thread", level],
        );
        program.has_no_pins(6);
    }
}

/// Without `-fno-ipa-modref`, gcc 11 and later does not instrument stores to variables whose address nobody keeps.
#[test]
fn stores_to_local_variables_are_recorded_if_only_their_functions_read_them() {
    for level in ["-O1", "-O2"] {
        let flags = ["-fsanitize=thread", "-fno-ipa-modref", level];
        let program = Program::compile("own_frames", &format!("own_frames{level}"), &flags);
        program.has_no_pins(4);
    }
}

/// Without `-fno-ipa-reference`, gcc reads a static variable before it has the lock that a function makes of an atomic.
#[test]
fn loads_of_static_variables_stay_behind_locks_that_are_functions() {
    for level in ["-O1", "-O2"] {
        let program = Program::by_witness_with("own_lock", &format!("own_lock{level}"), &[level]);
        // The program aborts if a thread does not see what was written under the lock.
        let status = Command::new(&program.path).status().expect("it runs");
        assert!(status.success(), "{level}: {status}");
    }
}

/// A timer's notification comes by a thread that nobody creates: to wait for it is no deadlock.
#[test]
fn notifications_by_threads_of_the_c_library() {
    let program = Program::instrumented("notified", "notified");
    for policy in ["--policy=fifo", "--policy=random"] {
        let (mut record, file) = program.recorder(policy, &[policy], &[]);
        let output = record.output().expect("witness runs");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let trace = TraceFile::open(&file).expect("a trace");
        let ops: Vec<Op> = trace.events().map(|event| event.expect("an event").op).collect();
        let count = |is: fn(&Op) -> bool| ops.iter().filter(|op| is(op)).count();
        assert_eq!(count(|op| matches!(op, Op::SemPost { .. } | Op::SemWait { .. })), 2);
        // The lock with a ceiling was never held.
        assert_eq!(count(|op| matches!(op, Op::Release { .. })), 0);
    }
}

/// glibc's variable that there is one thread alone, which shared pointers look at, changes with the second one.
#[test]
fn that_there_is_one_thread_alone() {
    for level in ["-O0", "-O2"] {
        let program = Program::compile("shares", &format!("shares{level}"), &["-fsanitize=thread", level]);
        program.has_no_pins(4);
    }
}

#[test]
fn threads_and_their_names() {
    for recorded in Program::instrumented("threads", "threads").record_often() {
        let names: Vec<_> = recorded
            .tables
            .threads
            .iter()
            .map(|thread| thread.name.as_deref())
            .collect();
        assert_eq!(names[1..3], [Some("self-named"), Some("named-by-main")]);
        assert_eq!(names.len(), 11);
        assert_eq!(count(&recorded, |op| matches!(op, Op::Join { .. })), 9);
        assert!(recorded.tables.threads.iter().all(|thread| thread.os_id != 0));
    }
}

#[test]
fn four_thousand_threads_cost_four_times_what_a_thousand_cost() {
    let program = Program::instrumented("crowd", "crowd");
    let milliseconds = |threads: &str| -> u64 {
        let (output, recorded) = program.record(threads, &["--policy=random"], &[threads]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(Ok(recorded.tables.threads.len() - 1), threads.parse());
        String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse()
            .expect("a number")
    };
    let (few, many) = (milliseconds("1000"), milliseconds("4000"));
    assert!(many < 6 * few + 1_500, "{few} ms, then {many} ms");
}

#[test]
fn blocks_of_memory() {
    for recorded in Program::instrumented("heap", "heap").record_often() {
        assert!(count(&recorded, |op| matches!(op, Op::Free { .. })) >= 2 * 40 * 3);
    }
}

#[test]
fn waiting_for_the_outside_gives_others_a_turn() {
    Program::instrumented("pipes", "pipes").record_often();
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for name in ["sizes", "atomics", "rounds", "heap", "futexes"] {
        let program = Program::instrumented(name, &format!("same-{name}"));
        let run = |flags: &[&str]| program.record("trace", flags, &[]).1.events;
        let first = run(&["--policy=random", "--seed=11"]);
        assert!(
            first == run(&["--policy=random", "--seed=11"]),
            "{name}: two runs with one seed differ"
        );
        assert!(
            first != run(&["--policy=random", "--seed=12"]),
            "{name}: another seed changes nothing"
        );
        assert!(run(&[]) == run(&[]), "{name}: two runs under fifo differ");
        let pct = |seed| run(&["--policy=pct", "--depth=5", "--steps=2000", seed]);
        let first = pct("--seed=1");
        assert!(
            first == pct("--seed=1"),
            "{name}: two runs with one seed differ under pct"
        );
        let others = ["--seed=2", "--seed=3", "--seed=4"].map(pct);
        assert!(
            others.iter().any(|other| *other != first),
            "{name}: no other seed changes anything under pct"
        );
    }
}

#[test]
fn futexes_that_do_not_say_that_they_are_private() {
    // The variables of the runtime's own that count who waits.
    const NOBODYS: u64 = 1 << 63;
    let program = Program::instrumented("futexes", "futexes");
    let counted = |recorded: &Recorded| {
        count(
            recorded,
            |op| matches!(op, Op::AtomicRmw { mem, .. } if mem.addr >= NOBODYS),
        )
    };
    // 80 rounds: each one is waited for, and somebody wakes those who wait.
    let all = program.record_often();
    assert!(
        all.iter().all(|recorded| counted(recorded) >= 80),
        "{:?}",
        all.iter().map(counted).collect::<Vec<_>>()
    );
    // What the processes write for each other is in neither trace.
    let output = program
        .recorder("shared", &["--timeout=60"], &["shared"])
        .0
        .output()
        .expect("witness runs");
    assert_eq!(
        output.status.code(),
        Some(0),
        "a child wakes its parent, and it the child: {output:?}"
    );
    assert!(
        !String::from_utf8_lossy(&output.stderr).contains("--timeout"),
        "{output:?}"
    );
}

#[test]
fn what_a_library_moves_is_not_read() {
    for recorded in Program::instrumented("lines", "lines").record_often() {
        // It moves at least 120 bytes, which nobody is seen to write.
        let reads = count(&recorded, |op| matches!(op, Op::Read { mem, .. } if mem.size == 8));
        assert!(reads < 15, "{reads} reads");
    }
}

#[test]
fn the_exit_status_passes_through() {
    let program = Program::instrumented("ends", "ends");
    let cases = [
        ("return", 0),
        ("status", 3),
        ("thread", 3),
        ("running", 4),
        ("at-once", 5),
        ("abort", 128 + 6),
        ("crash", 128 + 11),
        ("main-first", 3),
        ("environment", 0),
    ];
    for (how, status) in cases {
        let (output, recorded) = program.record(how, &[], &[how]);
        assert_eq!(output.status.code(), Some(status), "{how}: {output:?}");
        assert!(
            recorded.tables.meta.degraded.is_empty(),
            "{how}: {:?}",
            recorded.tables.meta.degraded
        );
        let lines = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            lines.lines().filter(|line| line.starts_with("witness:")).count(),
            // Where it died has a line of its own.
            if status > 128 { 2 } else { 1 },
            "{lines}"
        );
    }
}

#[test]
fn what_is_not_recorded_is_said() {
    let (output, recorded) = Program::instrumented("ends", "degraded").record("exec", &[], &["exec"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let [why] = &recorded.tables.meta.degraded[..] else {
        panic!("{output:?}")
    };
    assert!(why.contains("replaced"), "{why}");
}

/// What the runtime does for a call, or beside it, is not to be seen in `errno`, nor in what the call returns.
#[test]
fn errors_are_those_of_a_run_that_is_not_recorded() {
    let plain = Command::new(Program::compile("errors", "errors-plain", &[]).path).output();
    let expected = String::from_utf8(plain.expect("it runs").stdout).expect("text");
    assert!(expected.lines().count() > 200, "{expected}");
    let program = Program::instrumented("errors", "errors");
    for policy in ["fifo", "random", "pct", "pos"] {
        let output = program.recorder(policy, &["--policy", policy], &[]).0.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let differ: Vec<_> = String::from_utf8_lossy(&output.stdout)
            .lines()
            .zip(expected.lines())
            .filter(|(recorded, plain)| recorded != plain)
            .map(|(recorded, plain)| format!("{recorded}, not {plain}"))
            .collect();
        assert!(differ.is_empty(), "{policy}: {differ:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{policy}");
    }
}

#[test]
fn a_deadlock_ends() {
    let (output, recorded) = Program::instrumented("ends", "deadlock").record("deadlock", &[], &["deadlock"]);
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("deadlock"),
        "{output:?}"
    );
    assert_eq!(output.status.code(), Some(67), "{output:?}");
    assert_eq!(count(&recorded, |op| matches!(op, Op::Acquire { .. })), 2);
}

#[test]
fn a_killed_program_leaves_a_readable_trace() {
    let program = Program::instrumented("ends", "killed");
    for round in 0..3 {
        let (mut witness, trace) = program.recorder("killed", &["--policy=random"], &["forever"]);
        let mut running = witness
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("witness runs");
        wait_until_ready(&mut running);
        thread::sleep(Duration::from_millis(20 + 30 * round));
        // The program itself: the only child of the recorder.
        kill("-KILL", &child_of(running.id()));
        assert_eq!(running.wait().expect("it ends").code(), Some(128 + 9));
        let file = TraceFile::open(&trace).expect("a whole trace");
        assert!(
            matches!(
                file.ending(),
                Ending::Complete {
                    program: ProgramEnd::Signaled(9)
                }
            ),
            "{:?}",
            file.ending()
        );
        let recorded = replay::replay(&file);
        assert!(recorded.events.len() > 1000);
    }
}

/// On a file system of 256 KiB, in a name space of its own.
#[test]
fn a_full_disk_leaves_what_fits() {
    let program = Program::instrumented("ends", "full");
    let (witness, trace) = program.recorder("full", &[], &["noise"]);
    let folder = trace.with_extension("mounted");
    std::fs::create_dir_all(&folder).expect("a folder");
    let script = "mount -t tmpfs -o size=256k none \"$1\" || exit 99
        cd \"$1\" && \"$2\" record -o full.bin -- \"$3\" noise; status=$?
        cp full.bin.partial ../left.bin && exit $status";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .args([folder.as_os_str(), witness.get_program(), program.path.as_os_str()])
        .output();
    let output = match output {
        Ok(output) if output.status.code() != Some(99) && output.status.code() != Some(1) => output,
        other => {
            eprintln!("SKIPPED: no small file system can be mounted here: {other:?}");
            return;
        }
    };
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("No space left"),
        "{output:?}"
    );
    let left = TraceFile::open(&folder.with_file_name("left.bin")).expect("a readable part");
    assert!(matches!(left.ending(), Ending::Cut { .. }), "{:?}", left.ending());
    assert!(replay::replay(&left).events.len() > 1000);
}

#[test]
fn a_limit_ends_the_program_and_the_trace_is_whole() {
    let program = Program::instrumented("ends", "limits");
    for (limit, status) in [("--max-events=20000", 0), ("--timeout=0.2", 124)] {
        let (output, recorded) = program.record("limit", &[limit], &["forever"]);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("stopped after"),
            "{output:?}"
        );
        // Ended at the first operation after them.
        assert!(limit.contains("timeout") || (20_000..20_064).contains(&recorded.events.len()));
    }
}

#[test]
fn the_compiler_with_its_flags() {
    let witness = |arguments: &[&str]| {
        let mut witness = Command::new(env!("CARGO_BIN_EXE_witness"));
        let output = witness.args(arguments).output().expect("witness runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let shown = witness(&["cc", "--show", "-O2", "a.c"]);
    let (flags, rest) = shown.split_once(" -B").expect("a folder with an assembler");
    let (flags, header) = flags.split_once(" -include ").expect("a header");
    assert_eq!(
        flags,
        "cc -g -fsanitize=thread -fno-builtin -fno-ipa-reference -fno-ipa-modref"
    );
    assert!(std::path::Path::new(header).exists(), "{header}");
    let folder = rest.strip_suffix(" -O2 a.c\n").expect("the arguments");
    assert!(std::path::Path::new(folder).join("as").exists(), "{folder}");
    let program = Program::instrumented("threads", "compiler");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/record/programs/threads.c");
    let to = program.path.to_str().expect("a plain path");
    std::fs::remove_file(to).expect("it was compiled");
    witness(&["cc", "-w", "-pthread", source, "-o", to]);
    program.record_often();
}

#[test]
fn clang() {
    let compiler = ["clang", "clang-14", "clang-15", "clang-16", "clang-19"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok());
    let Some(compiler) = compiler else {
        eprintln!("SKIPPED: there is no clang: apt-get install clang-14 libclang-rt-14-dev");
        return;
    };
    for name in ["sizes", "atomics", "conditions", "locks", "rounds", "heap"] {
        let program = Program::instrumented(name, &format!("clang-{name}"));
        let source = format!("{}/tests/record/programs/{name}.c", env!("CARGO_MANIFEST_DIR"));
        let mut witness = Command::new(env!("CARGO_BIN_EXE_witness"));
        witness.env("WITNESS_CC", compiler);
        witness
            .args(["cc", "-O1", "-w", "-pthread", &source, "-o"])
            .arg(&program.path);
        assert!(witness.status().expect("witness runs").success(), "{name}");
        program.record_often();
    }
}

#[test]
fn rust_programs() {
    rust(&["--plain-std"], &["Rust's standard library was not instrumented"]);
}

/// With the standard library built along, which takes a minute or two the first time.
#[test]
fn rust_programs_with_their_library() {
    let toolchain = ["", "+nightly"].into_iter().find(|toolchain| {
        let mut rustc = Command::new("rustc");
        rustc.args((!toolchain.is_empty()).then_some(toolchain));
        let sysroot = rustc.args(["--print", "sysroot"]).output();
        sysroot.is_ok_and(|output| {
            let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            output.status.success()
                && std::path::Path::new(&sysroot)
                    .join("lib/rustlib/src/rust/library")
                    .exists()
        })
    });
    match toolchain {
        None => eprintln!("SKIPPED: no toolchain has the library's source: rustup component add rust-src"),
        Some("") => rust(&[], &[]),
        Some(toolchain) => rust(&[toolchain], &[]),
    }
}

/// cargo has the linker take out what its profile does not ask for.
#[test]
fn optimized_rust_programs_keep_their_lines() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("record/rust-optimized");
    let mut witness = cargo(&["--plain-std"], &["run", "--release"], &folder);
    let output = witness.output().expect("witness runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let dump = Command::new(env!("CARGO_BIN_EXE_witness"))
        .arg("dump")
        .arg(folder.join("witness/traces/locks.bin"))
        .output()
        .expect("witness runs");
    let dump = String::from_utf8_lossy(&dump.stdout);
    assert!(dump.contains("src/main.rs:"), "{dump}");
}

/// `witness cargo`, in tests/record/rust.
fn cargo(toolchain: &[&str], command: &[&str], folder: &std::path::Path) -> Command {
    let project = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/record/rust");
    let mut witness = Command::new(env!("CARGO_BIN_EXE_witness"));
    witness
        .arg("cargo")
        .args(toolchain)
        .args(command)
        .arg("--quiet")
        .current_dir(project)
        .env("CARGO_TARGET_DIR", folder);
    for variable in [
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTDOCFLAGS",
        "CARGO_ENCODED_RUSTDOCFLAGS",
        "RUSTUP_TOOLCHAIN",
    ] {
        witness.env_remove(variable);
    }
    witness
}

/// Records tests/record/rust a few times.
fn rust(toolchain: &[&str], degraded: &[&str]) {
    let name = if degraded.is_empty() {
        "rust-exact"
    } else {
        "rust-plain"
    };
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("record")
        .join(name);
    for seed in 1..=4 {
        let mut witness = cargo(toolchain, &["run"], &folder);
        witness
            .env("WITNESS_POLICY", "random")
            .env("WITNESS_SEED", seed.to_string());
        let output = witness.output().expect("witness runs");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let trace = folder.join("witness/traces/locks.bin");
        let file = TraceFile::open(&trace).unwrap_or_else(|error| panic!("{error}\n{output:?}"));
        let why = &file.tables().meta.degraded;
        assert_eq!(why.len(), degraded.len(), "{why:?}");
        assert!(why.iter().zip(degraded).all(|(why, wanted)| why.contains(wanted)));
        if degraded.is_empty() {
            // Every value is explained, and the one race is the only one.
            let analysis = Command::new(env!("CARGO_BIN_EXE_witness"))
                .args(["analyze", "--json"])
                .arg(&trace)
                .output()
                .expect("witness runs");
            let report: serde_json::Value = serde_json::from_slice(&analysis.stdout).expect("JSON");
            let pairs = report["pairs"].as_array().expect("pairs");
            let witnessed = pairs.iter().filter(|pair| pair["verdict"] == "witnessed");
            let texts: Vec<String> = witnessed.map(ToString::to_string).collect();
            assert!(
                texts.len() == 1 && texts[0].contains("Shared<u32>>::set"),
                "seed {seed}: {texts:?}"
            );
        }
    }
    // rustdoc compiles the examples in the documentation.
    let output = cargo(toolchain, &["test", "--doc"], &folder)
        .output()
        .expect("witness runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let trace = folder.join("witness/traces/rust_out.bin");
    let example = TraceFile::open(&trace).unwrap_or_else(|error| panic!("{error}\n{output:?}"));
    assert_eq!(example.tables().threads.len(), 4);
    if degraded.is_empty() {
        let output = cargo(toolchain, &["run", "--bin", "two_writers"], &folder)
            .output()
            .expect("witness runs");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let mut analysis = Command::new(env!("CARGO_BIN_EXE_witness"));
        analysis
            .arg("analyze")
            .arg(folder.join("witness/traces/two_writers.bin"));
        let analysis = analysis.output().expect("witness runs");
        assert_eq!(analysis.status.code(), Some(66), "{analysis:?}");
    }
}

#[test]
fn signals_reach_the_program() {
    let program = Program::instrumented("ends", "signals");
    let (mut witness, trace) = program.recorder("handler", &[], &["handler"]);
    let mut running = witness
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("witness runs");
    wait_until_ready(&mut running);
    kill("-TERM", &running.id().to_string());
    assert_eq!(running.wait().expect("it ends").code(), Some(6));
    let file = TraceFile::open(&trace).expect("a whole trace");
    assert!(matches!(
        file.ending(),
        Ending::Complete {
            program: ProgramEnd::Exited(6)
        }
    ));
}

fn wait_until_ready(running: &mut std::process::Child) {
    let mut line = String::new();
    let output = running.stdout.take().expect("its output is a pipe");
    BufReader::new(output).read_line(&mut line).expect("it prints a line");
    assert_eq!(line, "ready\n");
}

fn children_of(process: u32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let children = tasks.map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
    let numbers = |text: String| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    children.flat_map(numbers).collect()
}

fn child_of(process: u32) -> String {
    children_of(process).into_iter().next().expect("it has a child")
}

fn kill(signal: &str, process: &str) {
    assert!(
        Command::new("kill")
            .args([signal, process])
            .status()
            .expect("kill runs")
            .success()
    );
}

#[test]
fn what_cannot_be_recorded_is_refused_with_advice() {
    let refused = |program: &str, advice: &str| {
        let mut witness = Command::new(env!("CARGO_BIN_EXE_witness"));
        let output = witness
            .args(["record", "-o", "/dev/null", "--", program])
            .output()
            .expect("witness runs");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(advice), "{output:?}");
    };
    let plain = Program::compile("ends", "plain", &[]);
    refused(plain.path.to_str().expect("a plain path"), "gcc -g -fsanitize=thread");
    let linked = Program::compile("ends", "static", &["-fsanitize=thread", "-static-libtsan"]);
    refused(linked.path.to_str().expect("a plain path"), "linked into it");
    refused("/no/such/program", "not found");
    refused("/etc/passwd", "not executable");
    refused("no-such-program-anywhere", "not found");
}
