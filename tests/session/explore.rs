//! `witness explore` on programs whose schedules are known: what it finds, that the traces show it, and when it says
//! that every schedule is covered.

use crate::command::{Outcome, run, witness};
use crate::program::Program;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use witness::explore;
use witness::session::{Bounds, Launch};

/// Explores one of the repository's programs.
fn explore(name: &str, source: &str, options: &[&str], arguments: &[&str]) -> (Program, Outcome) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source);
    let program = Program::compile(&format!("explore-{name}"), &source, &[]);
    let mut command = witness();
    command.args(["explore", "-o", "runs"]).args(options).arg("--");
    command.arg(program.file()).args(arguments);
    let outcome = run(&program.folder, &mut command).unwrap();
    (program, outcome)
}

fn of_program(name: &str, options: &[&str]) -> Outcome {
    explore(name, &format!("programs/{name}.c"), options, &[]).1
}

/// The trace that a report says shows something.
fn shown_by(outcome: &Outcome, what: &str) -> String {
    let line = outcome.stdout.lines().find(|line| line.starts_with(what));
    let (_, path) = line
        .and_then(|line| line.split_once("shown by "))
        .unwrap_or_else(|| panic!("{what}: {outcome:?}"));
    path.trim_end_matches(':').to_owned()
}

#[test]
fn programs_without_a_race_are_exhausted() {
    for name in [
        "destroyed_condition",
        "fork_join",
        "lock_history",
        "object_handed_back",
        "once",
        "philosophers",
        "single_thread",
        "trylock",
        "trylock_failed",
        "unrecorded_flag",
    ] {
        let outcome = of_program(name, &[]).expect(&[0]).unwrap();
        let covered = "EXHAUSTED: every schedule of this input is covered, under sequential consistency; no race, deadlock or failure (";
        assert!(outcome.stdout.contains(covered), "{name}: {}", outcome.stdout);
    }
}

/// A run that is made to show a race shows more than that: what it opens is looked for, too.
#[test]
fn what_a_shown_race_opens_is_explored() {
    for engine in ["auto", "states", "solver"] {
        let source = "session/programs/shown_with_a_race.c";
        let (_, outcome) = explore(&format!("shown-{engine}"), source, &["--engine", engine], &[]);
        let outcome = outcome.expect(&[66]).unwrap();
        shown_by(&outcome, "FOUND: the program was killed by SIGABRT");
        assert!(outcome.stdout.contains("\nEXHAUSTED: "), "{}", outcome.stdout);
    }
}

#[test]
fn a_program_with_containers_of_cpp_is_exhausted() {
    let (_, outcome) = explore("map-of-names", "session/programs/map_of_names.cc", &[], &[]);
    let outcome = outcome.expect(&[0]).unwrap();
    assert!(outcome.stdout.contains("\nEXHAUSTED: "), "{}", outcome.stdout);
}

#[test]
fn nothing_races_with_tasks_that_were_waited_for() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/programs/task_wait.c");
    let program = Program::compile("explore-task-wait", &source, &["-fopenmp".to_owned()]);
    let mut command = witness();
    command.args(["explore", "-o", "runs", "--"]).arg(program.file());
    let outcome = run(&program.folder, &mut command).unwrap().expect(&[66]).unwrap();
    assert!(outcome.stdout.contains("global 'left'"), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("global 'waited_for'"), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("deadlock"), "{}", outcome.stdout);
}

#[test]
fn who_wakes_is_said_in_a_long_prefix_too() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/programs/three_waiters.c");
    let program = Program::compile("three-waiters", &source, &[]);
    let mut command = witness();
    command.args(["record", "-o", "waiters.bin", "--"]).arg(program.file());
    run(&program.folder, &mut command).unwrap().expect(&[0]).unwrap();
    // 70 is an internal error: a schedule that the checker rejects.
    let mut command = witness();
    command.args(["analyze", "waiters.bin"]);
    let outcome = run(&program.folder, &mut command).unwrap().expect(&[66]).unwrap();
    assert!(outcome.stdout.contains("1 data race witnessed"), "{}", outcome.stdout);
}

#[test]
fn tasks_whose_event_another_thread_fulfills_are_waited_for() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/programs/fulfilled.c");
    let program = Program::compile("explore-fulfilled", &source, &["-fopenmp".to_owned()]);
    for case in ["t", "p", "u"] {
        let mut command = witness();
        command.args(["explore", "--time-limit", "20", "-o", case, "--"]);
        let outcome = run(&program.folder, command.arg(program.file()).arg(case)).unwrap();
        let stdout = outcome.expect(&[3]).unwrap().stdout;
        for wrong in ["FOUND: deadlock", "FOUND: the program", "(witnessed)"] {
            assert!(!stdout.contains(wrong), "{case}: {stdout}");
        }
    }
}

#[test]
fn futexes_pass_on_wake_ups_as_the_kernel_does() {
    let (program, _) = explore("futexes", "session/programs/futex_operations.c", &[], &["m"]);
    let of = |case: &str| {
        let mut command = witness();
        command.args(["explore", "-o", case, "--"]).arg(program.file());
        run(&program.folder, command.arg(case)).unwrap()
    };
    // Whoever waits is woken, and nothing fails.
    for (case, status) in [("m", 0), ("r", 0), ("c", 0), ("o", 0), ("s", 3)] {
        let outcome = of(case).expect(&[status]).unwrap().stdout;
        assert!(!outcome.contains("did something else"), "{case}: {outcome}");
        let open = if status == 0 {
            "none open"
        } else {
            "none known to be open"
        };
        assert!(outcome.contains(open), "{case}: {outcome}");
    }
    // Nobody wakes who waits with another mask, or for another word since.
    for case in ["w", "f"] {
        let outcome = of(case).expect(&[67]).unwrap().stdout;
        assert!(outcome.contains("FOUND: deadlock"), "{case}: {outcome}");
    }
}

#[test]
fn a_lock_of_a_futex_is_exhausted_and_a_wake_up_that_is_forgotten_found() {
    let right = explore("futex-lock", "session/programs/futex_lock.c", &[], &[]).1;
    let right = right.expect(&[0]).unwrap().stdout;
    assert!(right.contains("; no race, deadlock or failure ("), "{right}");
    let wrong = explore("futex-lock-forgets", "session/programs/futex_lock.c", &[], &["forgets"]).1;
    let wrong = wrong.expect(&[67]).unwrap().stdout;
    assert!(wrong.contains("FOUND: deadlock"), "{wrong}");
    assert!(wrong.contains("waits for a wake-up of futex word"), "{wrong}");
}

#[test]
fn what_calls_do_depends_on_who_comes_first() {
    let name = "explore-order-of-calls";
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/programs/order_of_calls.cc");
    // Without guards of the compiler's own, nothing else orders the two.
    let program = Program::compile(name, &source, &["-fno-threadsafe-statics".to_owned()]);
    for case in ["0", "1", "2", "3"] {
        let mut command = witness();
        command.args(["explore", "-o", case, "--"]).arg(program.file());
        let outcome = run(&program.folder, command.arg(case)).unwrap().stdout;
        assert!(outcome.contains("FOUND: the program "), "{case}: {outcome}");
    }
}

#[test]
fn what_threads_return_is_seen_by_who_joins_them() {
    let (_, outcome) = explore("returned", "session/programs/returned.c", &[], &[]);
    let outcome = outcome.expect(&[68]).unwrap();
    assert!(outcome.stdout.contains("FOUND: the program "), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("\nEXHAUSTED: "), "{}", outcome.stdout);
}

#[test]
fn the_number_of_a_key_depends_on_who_comes_first() {
    let (_, outcome) = explore("numbers-of-keys", "session/programs/numbers_of_keys.c", &[], &[]);
    let outcome = outcome.expect(&[66]).unwrap();
    assert!(outcome.stdout.contains("\nEXHAUSTED: "), "{}", outcome.stdout);
}

/// What a thread does before the other one has set the flag, no run shows: it waits where nothing is recorded.
#[test]
fn a_branch_that_no_run_comes_to_is_not_covered() {
    let started = Instant::now();
    let (_, outcome) = explore("by-hand", "session/programs/announced_by_hand.c", &[], &[]);
    assert!(outcome.stdout.contains("\nNOT EXHAUSTED: "), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("0 data races witnessed"), "{}", outcome.stdout);
    // No run takes the ten seconds after which one is ended.
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

/// The barrier of ThreadSanitizer's own tests keeps threads apart, and is no barrier of the model.
#[test]
fn a_barrier_that_synchronizes_nothing_is_named() {
    let outcome = of_program("invisible_barrier", &["--runs", "20"]);
    for words in [
        "\nNOT EXHAUSTED: ",
        "  __tsan_testonly_barrier_wait keeps threads apart",
    ] {
        assert!(outcome.stdout.contains(words), "{words}: {}", outcome.stdout);
    }
    // That is the reason why the threads come there in no other order.
    assert!(!outcome.stdout.contains("was not shown"), "{}", outcome.stdout);
}

/// A program that compares what its threads' clocks say does not fail.
#[test]
fn clocks_that_stand_never_go_back() {
    let (_, outcome) = explore("elapsed", "session/programs/elapsed.c", &["--runs", "30"], &[]);
    assert!(matches!(outcome.status, 0 | 3), "{outcome:?}");
}

#[test]
fn waits_with_a_time_limit_end_in_both_ways() {
    for (name, status, runs) in [("lost_signal", 66, 4), ("sem_trywait", 66, 19), ("signal_orders", 0, 2)] {
        let outcome = of_program(name, &[]).expect(&[status]).unwrap();
        let covered = outcome.stdout.lines().find(|line| line.starts_with("EXHAUSTED: "));
        let covered = covered.unwrap_or_else(|| panic!("{name}: {}", outcome.stdout));
        assert!(covered.contains(", with clocks that stand"), "{name}: {covered}");
        let (_, made) = covered.rsplit_once('(').unwrap();
        let made: usize = made.split(' ').next().unwrap().parse().unwrap();
        assert!((2..=2 * runs).contains(&made), "{name}: {covered}");
    }
}

#[test]
fn time_that_nobody_uses_costs_nothing() {
    // It waits for hours, once with a thread that spins meanwhile.
    let (_, outcome) = explore(
        "timed-futex",
        "session/programs/timed_futex.c",
        &["--timeout", "60"],
        &[],
    );
    let outcome = outcome.expect(&[3]).unwrap();
    assert!(!outcome.stdout.contains("--timeout"), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("--max-events"), "{}", outcome.stdout);
}

#[test]
fn clocks_show_that_waiting_was_in_vain() {
    // The program aborts if one does not.
    let of_threads = explore("time-limits", "session/programs/time_limits.c", &[], &[]).1;
    let of_threads = of_threads.expect(&[0]).unwrap().stdout;
    assert!(of_threads.contains("EXHAUSTED: "), "{of_threads}");
    assert!(of_threads.contains(", with clocks that stand"), "{of_threads}");
    let of_calls = explore(
        "time-limits-of-calls",
        "session/programs/time_limits_of_calls.c",
        &[],
        &[],
    )
    .1;
    of_calls.expect(&[0, 3]).unwrap();
}

#[test]
fn a_join_that_may_come_too_early_is_explored_in_both_ways() {
    let joins = |arguments: &[&str]| {
        let name = format!("timed-join-{}", arguments.len());
        explore(&name, "session/programs/timed_join.c", &[], arguments).1
    };
    let outcome = joins(&[]).expect(&[0]).unwrap();
    assert!(outcome.stdout.contains("\nEXHAUSTED: "), "{}", outcome.stdout);
    // In time, at the second attempt, and after that.
    let classes = "3 reads-from classes of executions)";
    assert!(outcome.stdout.contains(classes), "{}", outcome.stdout);
    let outcome = joins(&["late"]).expect(&[68]).unwrap();
    shown_by(&outcome, "FOUND: the program was killed by SIGABRT, ");
}

#[test]
fn races_that_one_run_excludes_are_found() {
    for name in ["counter_orders", "figure3"] {
        let outcome = of_program(name, &[]).expect(&[66]).unwrap();
        assert!(
            outcome.stdout.contains("\nSUMMARY: witness: 1 data race witnessed"),
            "{}",
            outcome.stdout
        );
        assert!(outcome.stdout.contains("\nEXHAUSTED: "), "{}", outcome.stdout);
    }
}

#[test]
fn what_was_not_explored_is_not_said_to_be_covered() {
    for (source, status, why) in [
        (
            "session/programs/counted_references.c",
            3,
            "atomics weaker than sequentially consistent",
        ),
        ("programs/interrupted_wait.c", 66, "the program may handle signals"),
        ("programs/channels.c", 66, "values came from outside of the program"),
        (
            "programs/named_sections.c",
            66,
            "a library that is not recorded may synchronize unseen",
        ),
        (
            "session/programs/hidden_state.c",
            3,
            "other threads' calls, which is not recorded: getopt",
        ),
        ("live/programs/children.c", 68, "the program may start other processes"),
    ] {
        let name = Path::new(source).file_stem().unwrap().to_str().unwrap();
        is_left_open(name, source, &[], status, why);
    }
    let stranger = "a thread appeared that pthread_create did not make";
    for (argument, status, why) in [
        ("barrier", 67, "no run has shown how many threads a barrier takes"),
        (
            "object",
            3,
            "a synchronization object was initialized again at the same place",
        ),
        (
            "semaphore",
            3,
            "a synchronization object was initialized again at the same place",
        ),
        (
            "once",
            3,
            "a synchronization object was initialized again at the same place",
        ),
        ("timer", 3, "several threads were there from the start"),
        ("timer", 3, stranger),
        ("handler", 3, "a signal handler waited while its thread was waiting"),
        ("end", 3, "the process exited without the C library"),
    ] {
        let source = "session/programs/left_open.c";
        is_left_open(&format!("left-open-{argument}"), source, &[argument], status, why);
    }
}

#[test]
fn every_count_of_a_semaphore_is_covered() {
    let (_, outcome) = explore("counts", "programs/sem_getvalue.c", &[], &[]);
    let outcome = outcome.expect(&[66]).unwrap();
    assert!(
        outcome
            .stdout
            .contains("\nEXHAUSTED: every schedule of this input is covered"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn functions_of_libm_leave_nothing_open() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/programs/calculates.c");
    let program = Program::compile("explore-calculates", &source, &["-lm".to_owned()]);
    let outcome = explore_again(&program, &[]).expect(&[0]).unwrap();
    assert!(
        outcome.stdout.contains("EXHAUSTED: every schedule"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn what_a_part_without_instrumentation_does_is_not_said_to_be_covered() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/programs");
    let (program, part) = (folder.join("with_part.c"), folder.join("part.c"));
    let whole = Program::compile("explore-with-part", &program, &[part.display().to_string()]);
    let outcome = explore_again(&whole, &[]).expect(&[66]).unwrap();
    assert!(outcome.stdout.contains("\nEXHAUSTED: "), "{}", outcome.stdout);
    let object = whole.folder.join("part.o");
    let mut compile = Command::new("gcc");
    compile.args(["-O1", "-c", "-o"]).arg(&object).arg(&part);
    assert!(compile.status().expect("gcc").success());
    let hidden = Program::compile("explore-hidden-part", &program, &[object.display().to_string()]);
    let outcome = explore_again(&hidden, &[]).expect(&[3]).unwrap();
    assert!(
        outcome.stdout.contains("may access what others do, unseen: fill\n"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn what_compilers_leave_out_of_instrumented_code_leaves_nothing_open() {
    for optimization in ["-O0", "-O2"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/programs/left_out.c");
        let name = format!("explore-left-out{optimization}");
        let program = Program::compile(&name, &source, &[optimization.to_owned()]);
        let outcome = explore_again(&program, &[]).expect(&[0]).unwrap();
        assert!(outcome.stdout.contains("\nEXHAUSTED: "), "{name}: {}", outcome.stdout);
    }
}

#[test]
fn structures_that_are_passed_by_value_are_not_said_to_be_covered() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/programs/by_value.c");
    for optimization in ["-O0", "-O1", "-O2", "-O3"] {
        let name = format!("explore-by-value{optimization}");
        let program = Program::compile(&name, &source, &[optimization.to_owned()]);
        let outcome = explore_again(&program, &[]).expect(&[3]).unwrap();
        assert!(
            outcome
                .stdout
                .contains("in memory that others access: get_pair, get_table, set_pair, set_table\n"),
            "{name}: {}",
            outcome.stdout
        );
    }
}

#[test]
fn structures_that_are_passed_by_value_are_covered_where_witness_compiles() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/programs/by_value.c");
    for optimization in ["-O0", "-O1", "-O2", "-O3"] {
        let name = format!("explore-by-value-told{optimization}");
        let program = Program::by_witness(&name, &source, &[optimization.to_owned()]);
        let outcome = explore_again(&program, &[]).expect(&[66]).unwrap();
        let stdout = &outcome.stdout;
        assert!(stdout.contains("\nEXHAUSTED: "), "{name}: {stdout}");
        // What fills the table may be what `set_table` calls.
        for function in ["#0 get_pair ", "#0 set_pair ", "#0 get_table ", " set_table "] {
            assert!(stdout.contains(function), "{name}: {stdout}");
        }
    }
}

#[test]
fn waits_for_futexes_end_in_both_ways() {
    let outcome = explore("futex_in_time", "session/programs/futex_in_time.c", &[], &[]).1;
    let stdout = outcome.expect(&[66]).unwrap().stdout;
    assert!(stdout.contains("futex_in_time.c:29"), "{stdout}");
}

/// Weak atomics, as strong as they have to be, and weaker by one order: these are in no state of the model.
#[test]
fn races_that_only_orders_leave_open_are_looked_for_in_all_executions() {
    for (flags, status, end) in [
        (&[][..], 0, "; no race, deadlock or failure ("),
        (
            &["-DDROPS=memory_order_relaxed"],
            66,
            ", under sequential consistency (",
        ),
        (&["-DSAYS=memory_order_relaxed"], 66, ", under sequential consistency ("),
        (
            &["-DFENCE=memory_order_release"],
            66,
            ", under sequential consistency (",
        ),
    ] {
        let name = format!("explore-counted_references{}", flags.concat());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/programs/counted_references.c");
        let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
        let outcome = explore_again(&Program::compile(&name, &path, &flags), &[]);
        let stdout = outcome.expect(&[status]).unwrap().stdout;
        assert!(
            stdout.contains("\nEXHAUSTED: ") && stdout.contains(end),
            "{name}: {stdout}"
        );
        assert_eq!(status == 66, stdout.contains("unordered"), "{name}: {stdout}");
    }
}

#[test]
fn arguments_of_formats_have_numbers() {
    let outcome = explore("numbered", "session/programs/numbered.c", &[], &[]).1;
    let stdout = outcome.expect(&[66]).unwrap().stdout;
    assert!(stdout.contains("\nEXHAUSTED: "), "{stdout}");
    for function in [" prints ", " scans "] {
        assert!(stdout.contains(function), "{stdout}");
    }
}

#[test]
fn what_libraries_read_and_what_instructions_ask_is_not_said_to_be_covered() {
    for (source, why) in [
        ("shared_text.cc", "and others may access that: print_shared()\n"),
        ("attributes.c", "and others may access that: makes, sets\n"),
        ("odd_locks.c", "a reader-writer lock prefers writers ("),
        ("odd_locks.c", "a thread gave back a lock that nobody held: "),
        (
            "asks_outside.c",
            "a source of random numbers, unrecorded: now, parent\n",
        ),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/session/programs")
            .join(source);
        for optimization in ["-O0", "-O2"] {
            let name = format!("explore-{source}{optimization}");
            let program = Program::compile(&name, &path, &[optimization.to_owned()]);
            // With -O2, it is the program that looks for the end of the text.
            let outcome = explore_again(&program, &[]).expect(&[3, 66]).unwrap();
            assert!(outcome.stdout.contains(why), "{name}: {}", outcome.stdout);
        }
    }
}

fn is_left_open(name: &str, source: &str, arguments: &[&str], status: i32, why: &str) {
    let (_, outcome) = explore(name, source, &["--runs", "3", "--timeout", "2"], arguments);
    let outcome = outcome.expect(&[status]).unwrap();
    let stdout = &outcome.stdout;
    assert!(stdout.contains("\nNOT EXHAUSTED: "), "{name}: {stdout}");
    assert!(stdout.contains(why), "{name}: {stdout}");
}

#[test]
fn bounds_leave_it_open() {
    let outcome = of_program("philosophers", &["--runs", "2"]).expect(&[3]).unwrap();
    assert!(
        outcome
            .stdout
            .contains("NOT EXHAUSTED: some schedules may show more (2 runs, "),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.stdout.contains("  the bound of runs was reached"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn deadlocks_and_failures_are_found_and_run_again() {
    let (locks, outcome) = explore("deadlock", "live/programs/fails_sometimes.c", &[], &["deadlock"]);
    let outcome = outcome.expect(&[66]).unwrap();
    assert!(
        outcome.stdout.contains("waits for mutex second at "),
        "{}",
        outcome.stdout
    );
    assert!(outcome.stdout.contains("EXHAUSTED: "), "{}", outcome.stdout);
    let (update, failed) = explore("failure", "session/programs/lost_update.c", &[], &[]);
    let failed = failed.expect(&[66]).unwrap();
    for (program, trace) in [
        (&locks, shown_by(&outcome, "FOUND: deadlock, ")),
        (&update, shown_by(&failed, "FOUND: the program exited with status 7, ")),
    ] {
        let mut command = witness();
        command.args(["replay", &trace, "--live", "--as-recorded"]);
        let again = run(&program.folder, &mut command).unwrap().expect(&[0]).unwrap();
        assert!(again.stdout.contains("REPRODUCED"), "{}", again.stdout);
    }
}

/// What a program does with its numbers is the same in each run, so no history begins anew because of them.
#[test]
fn processes_and_threads_have_the_same_numbers_in_all_runs() {
    let outcome = explore(
        "numbers",
        "session/programs/knows_its_number.c",
        &["--runs", "200"],
        &[],
    )
    .1;
    let outcome = outcome.expect(&[3]).unwrap();
    assert!(outcome.stdout.contains("none known to be open"), "{}", outcome.stdout);
    for told in ["did something else", "another value", "not shown"] {
        assert!(!outcome.stdout.contains(told), "{told}: {}", outcome.stdout);
    }
}

/// The standing numbers name no process that there is.
#[test]
fn processes_find_their_own_entries_by_the_numbers_that_they_are_told() {
    let source = "live/programs/entries_of_processes.c";
    let (_, outcome) = explore("entries", source, &["--runs", "20"], &[]);
    let outcome = outcome.expect(&[66]).unwrap();
    assert!(!outcome.stdout.contains("FOUND: the program"), "{}", outcome.stdout);
}

#[test]
fn what_threads_do_that_nobody_joins_is_explored() {
    let (_, outcome) = explore("never-joined", "session/programs/never_joined_failure.c", &[], &[]);
    let outcome = outcome.expect(&[68]).unwrap();
    shown_by(&outcome, "FOUND: the program was killed by SIGABRT, ");
    assert!(outcome.stdout.contains("\nEXHAUSTED: "), "{}", outcome.stdout);
}

#[test]
fn what_counts_as_failing_is_for_the_user_to_say() {
    let source = "session/programs/lost_update.c";
    let (_, usual) = explore("fails-usual", source, &["--fails-if", "status=8"], &[]);
    let usual = usual.expect(&[66]).unwrap();
    assert!(!usual.stdout.contains("FOUND: "), "{}", usual.stdout);
    let (_, crash) = explore("fails-signal", source, &["--fails-if", "signal=SIGABRT"], &["abort"]);
    shown_by(
        &crash.expect(&[66]).unwrap(),
        "FOUND: the program was killed by SIGABRT, ",
    );

    let source = "session/programs/prints.c";
    let (_, quiet) = explore("prints", source, &[], &[]);
    let quiet = quiet.expect(&[0]).unwrap();
    assert!(quiet.stdout.contains("EXHAUSTED: "), "{}", quiet.stdout);
    for (name, condition, words) in [
        ("output", "output=second: [1-9]", "printed what matches second: [1-9], "),
        (
            "command",
            "command=grep -q 'second: 1'",
            "fails by \"grep -q 'second: 1'\", ",
        ),
    ] {
        let (_, outcome) = explore(&format!("prints-{name}"), source, &["--fails-if", condition], &[]);
        let outcome = outcome.expect(&[68]).unwrap();
        shown_by(&outcome, &format!("FOUND: the program {words}"));
        // What two threads print together is no outcome of an operation of either.
        assert!(outcome.stdout.contains("\nNOT EXHAUSTED: "), "{}", outcome.stdout);
    }
    let (_, outcome) = explore("prints-bad", source, &["--fails-if", "command=no-such-command"], &[]);
    let outcome = outcome.expect(&[2]).unwrap();
    assert!(
        outcome.stderr.contains("cannot judge a run by --fails-if"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn hangs_are_found() {
    let source = "session/programs/spins_sometimes.c";
    let options = ["--timeout", "1", "--max-events", "2000", "--runs", "20"];
    let (_, outcome) = explore("spins", source, &options, &[]);
    let outcome = outcome.expect(&[124]).unwrap();
    assert!(
        outcome
            .stdout
            .contains("FOUND: the program was still waiting in a loop"),
        "{}",
        outcome.stdout
    );
    assert!(outcome.stdout.contains("thread 0"), "{}", outcome.stdout);
    let (program, outcome) = explore("hangs", source, &["--timeout", "1", "--runs", "20"], &["silently"]);
    let outcome = outcome.expect(&[124]).unwrap();
    let trace = shown_by(&outcome, "FOUND: the program was still running at its time limit");
    assert!(program.folder.join(trace).exists());
}

#[test]
fn the_time_limit_ends_a_run() {
    let options = ["--timeout", "600", "--time-limit", "3"];
    let source = "session/programs/spins_sometimes.c";
    let (_, outcome) = explore("hangs-for-long", source, &options, &["silently"]);
    let outcome = outcome.expect(&[3]).unwrap();
    assert!(
        outcome.stdout.contains("the time limit was reached"),
        "{}",
        outcome.stdout
    );
    assert!(!outcome.stdout.contains("FOUND: "), "{}", outcome.stdout);
}

#[test]
fn a_run_that_is_ended_before_it_has_begun_is_no_error() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/philosophers.c");
    let program = Program::compile("explore-ended-at-once", &source, &[]);
    let launch = Launch::here(program.file().into(), Vec::new());
    // It may have come far enough to be recorded, but not each time.
    for _ in 0..30 {
        let session = explore::Program::new(&launch, Bounds::default(), &program.folder, 0).unwrap();
        let mut looks = 0;
        let explored = explore::explore(
            &mut session.ending_by(Some(Instant::now())),
            &explore::Options::default(),
            &mut |_| {
                looks += 1;
                if looks > 1 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            },
        );
        let runs = explored.expect("nothing went wrong").runs;
        // The first run is not ended. The second one counts only if, on a busy machine, it was over before anybody
        // looked.
        assert!((1..=2).contains(&runs), "{runs}");
    }
}

/// The mutex is free from the event on that says so, and not only when the kernel knows that its owner is gone.
#[test]
fn a_mutex_whose_owner_ends_keeps_nobody_waiting() {
    let (_, outcome) = explore("abandoned", "session/programs/abandoned.c", &[], &[]);
    assert!(matches!(outcome.status, 0 | 3), "{outcome:?}");
    assert!(!outcome.stdout.contains("FOUND: "), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("was not shown"), "{}", outcome.stdout);
}

#[test]
fn a_thread_that_is_gone_keeps_no_run_waiting() {
    let source = "session/programs/ends_unseen.c";
    let (_, outcome) = explore("unseen", source, &["--timeout", "2"], &[]);
    let outcome = outcome.expect(&[3]).unwrap();
    assert!(!outcome.stdout.contains("FOUND: "), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("by --timeout"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("was not shown"), "{}", outcome.stdout);
}

#[test]
fn an_exploration_goes_on_where_it_ended() {
    let source = "programs/philosophers.c";
    let covered = |outcome: &Outcome| {
        let line = outcome.stdout.lines().find(|line| line.starts_with("EXHAUSTED: "));
        let branches = line
            .and_then(|line| line.split_once(" runs, "))
            .map(|(_, branches)| branches.to_owned());
        branches.unwrap_or_else(|| panic!("{outcome:?}"))
    };
    let (_, at_once) = explore("resume-at-once", source, &[], &[]);
    let at_once = at_once.expect(&[0]).unwrap();
    let (at_once, at_once_said) = (covered(&at_once), at_once.stderr);

    let (program, outcome) = explore("resume", source, &["--runs", "3"], &[]);
    outcome.expect(&[3]).unwrap();
    let again = |options: &[&str], arguments: &[&str]| {
        let mut command = witness();
        command.args(["explore", "-o", "runs"]).args(options).arg("--");
        run(&program.folder, command.arg(program.file()).args(arguments)).unwrap()
    };
    let other = again(&[], &["argument"]).expect(&[2]).unwrap();
    assert!(other.stderr.contains("--anew"), "{}", other.stderr);
    let rest = again(&[], &[]).expect(&[0]).unwrap();
    assert!(rest.stderr.contains("goes on after 3 runs"), "{}", rest.stderr);
    assert_eq!(covered(&rest), at_once);
    assert!(!at_once_said.contains("goes on"), "{at_once_said}");
    let runs = |outcome: &Outcome| outcome.stdout.lines().last().map(str::to_owned);
    let nothing_left = again(&[], &[]).expect(&[0]).unwrap();
    assert_eq!(
        runs(&nothing_left),
        runs(&rest),
        "an exhausted exploration makes no more runs"
    );
    again(&["--anew"], &["argument"]).expect(&[0]).unwrap();

    // Killed again and again, at other moments, until it ends by itself.
    let mut pause = 150;
    let mut killed = 0;
    again(&["--anew", "--runs", "1"], &[]).expect(&[3]).unwrap();
    let last = loop {
        let mut command = witness();
        command.args(["explore", "-o", "runs", "--"]).arg(program.file());
        let mut child = command
            .current_dir(&program.folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(pause));
        if child.try_wait().unwrap().is_some() {
            break again(&[], &[]);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        killed += 1;
        pause = pause * 11 / 10;
    };
    assert!(killed > 0);
    assert_eq!(covered(&last.expect(&[0]).unwrap()), at_once);
}

#[test]
fn runs_at_the_same_time_find_the_same() {
    for (name, source, status, arguments) in [
        ("counter_orders", "programs/counter_orders.c", 66, &[][..]),
        ("philosophers", "programs/philosophers.c", 0, &[]),
        ("fails_sometimes", "live/programs/fails_sometimes.c", 66, &["deadlock"]),
    ] {
        let [alone, together] = ["1", "3"].map(|jobs| {
            let name = format!("jobs-{jobs}-{name}");
            let (_, outcome) = explore(&name, source, &["--jobs", jobs], arguments);
            let outcome = outcome.expect(&[status]).unwrap();
            let line = outcome.stdout.lines().find(|line| line.starts_with("EXHAUSTED: "));
            let (_, branches) = line.and_then(|line| line.split_once(" runs, ")).unwrap();
            (branches.to_owned(), outcome.stdout.matches("FOUND: ").count())
        });
        assert_eq!(alone, together, "{name}");
    }
}

#[test]
fn every_form_of_the_report_has_the_statement() {
    let forms = ["json", "html", "sarif", "junit", "github"];
    let files = forms.map(|form| format!("{form}=report.{form}"));
    let mut options = Vec::new();
    files
        .iter()
        .for_each(|file| options.extend(["--report", file.as_str()]));
    let (program, outcome) = explore("reports", "live/programs/fails_sometimes.c", &options, &["deadlock"]);
    outcome.expect(&[66]).unwrap();
    for form in forms {
        let text = std::fs::read_to_string(program.folder.join(format!("report.{form}"))).unwrap();
        let said = if form == "json" {
            "\"exhausted\": "
        } else {
            "EXHAUSTED: "
        };
        assert!(text.contains(said), "{form}: {text}");
        assert!(text.contains("deadlock"), "{form}: {text}");
        assert!(text.contains("waits for mutex second"), "{form}: {text}");
    }
}

#[test]
fn an_exploration_is_aimed_at_pairs_and_at_warnings() {
    let source = "programs/counter_orders.c";
    let text = include_str!("../programs/counter_orders.c");
    let line = |marker: &str| {
        let row = text.lines().position(|line| line.contains(marker)).unwrap();
        format!("counter_orders.c:{}", row + 1)
    };
    let (write, read) = (line("@write"), line("@read"));
    let pair = ["--for", write.as_str(), read.as_str()];
    let (program, outcome) = explore("aimed", source, &pair, &[]);
    let outcome = outcome.expect(&[66]).unwrap();
    assert!(outcome.stdout.contains("\nWITNESSED: "), "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("all that was asked for is witnessed"),
        "{}",
        outcome.stdout
    );

    std::fs::write(program.folder.join("warnings"), format!("{write} {read}\n")).unwrap();
    let again = |options: &[&str]| {
        let mut command = witness();
        command
            .args(["explore", "-o", "runs", "--anew"])
            .args(options)
            .arg("--");
        run(&program.folder, command.arg(program.file())).unwrap()
    };
    let warned = again(&["--warnings", "warnings"]).expect(&[66]).unwrap();
    assert!(warned.stdout.contains("1 warning: 1 witnessed"), "{}", warned.stdout);
    // The counter itself is under a lock in every schedule; the race of the message is met on the way.
    let counter = again(&["--for", "n", "n"]).expect(&[0]).unwrap();
    assert!(counter.stdout.contains("\nEXHAUSTED: "), "{}", counter.stdout);
    assert!(!counter.stdout.contains("; no race"), "{}", counter.stdout);
    assert!(
        counter.stderr.contains("1 other races were found on the way"),
        "{}",
        counter.stderr
    );
    let number = again(&["--for", "17", "x"]).expect(&[2]).unwrap();
    assert!(number.stderr.contains("expected file:line"), "{}", number.stderr);
    // A mistake costs nothing of what is there.
    assert!(
        program
            .folder
            .join("runs/exploration.journal")
            .metadata()
            .unwrap()
            .len()
            > 1000
    );
    std::fs::write(program.folder.join("nonsense"), "nonsense\n").unwrap();
    let none = again(&["--warnings", "nonsense"]).expect(&[2]).unwrap();
    assert!(none.stderr.contains("--format"), "{}", none.stderr);
}

#[test]
fn places_that_do_not_exist_are_told_from_those_that_nothing_executes() {
    let source = "programs/counter_orders.c";
    let asked = |name: &str, a: &str, b: &str| explore(name, source, &["--for", a, b], &[]).1;
    for (name, place, words) in [
        (
            "no-file",
            "nowhere.c:3",
            "no source file of the program is named nowhere.c",
        ),
        (
            "no-line",
            "counter_orders.c:170",
            "no code at this line; next to it at 42",
        ),
        (
            "no-name",
            "mesage",
            "no function or variable of this name; there is message",
        ),
    ] {
        let outcome = asked(name, place, "counter_orders.c:29").expect(&[2]).unwrap();
        let said = format!("--for {place:?}: ");
        assert!(
            outcome.stderr.contains(&said) && outcome.stderr.contains(words),
            "{}",
            outcome.stderr
        );
    }
    let source = "session/programs/never_called.c";
    let pair = ["--for", "never_called", "reader"];
    let (program, outcome) = explore("never-called", source, &pair, &[]);
    let outcome = outcome.expect(&[0]).unwrap();
    for words in [
        "\nREFUTED: ",
        "all schedules: every schedule of this input was covered, ",
        "never executed: access: never_called",
    ] {
        assert!(
            format!("\n{}", outcome.stdout).contains(words),
            "{words}: {}",
            outcome.stdout
        );
    }
    let mut command = witness();
    command
        .args(["explore", "-o", "short", "--runs", "1"])
        .args(pair)
        .arg("--");
    let outcome = run(&program.folder, command.arg(program.file()))
        .unwrap()
        .expect(&[3])
        .unwrap();
    assert!(
        outcome.stdout.contains("access: never_called: no run has executed it"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn what_is_too_long_to_be_searched_is_run_with_delays() {
    let explore = |name: &str, runs: &str, program: Option<Program>| {
        let file = "session/programs/behind_a_count.c";
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
        let program = program.unwrap_or_else(|| Program::compile(&format!("explore-{name}"), &source, &[]));
        let mut command = witness();
        command.args(["explore", "--max-events", "1000000", "--runs", runs]);
        command.args(["--for", "behind_a_count.c:18", "behind_a_count.c:28"]);
        let outcome = run(&program.folder, command.arg("--").arg(program.file())).unwrap();
        (program, outcome)
    };
    let too_long = "NOT EXHAUSTED: some schedules may show more (";
    // The delays are tried in their order, also if the exploration is ended between them; runs by chance come between.
    let (program, three) = explore("long", "3", None);
    let three = three.expect(&[3]).unwrap();
    assert!(three.stdout.contains(too_long), "{}", three.stdout);
    assert_eq!(
        three.stdout.matches("is too long to search").count(),
        1,
        "{}",
        three.stdout
    );
    let (_, eight) = explore("long", "8", Some(program));
    let eight = eight.expect(&[66]).unwrap();
    assert!(eight.stderr.contains("goes on after 3 runs"), "{}", eight.stderr);
    let (_, at_once) = explore("long-at-once", "8", None);
    let at_once = at_once.expect(&[66]).unwrap();
    for outcome in [eight, at_once] {
        assert!(
            outcome.stdout.contains("witness replay runs/4.bin"),
            "{}",
            outcome.stdout
        );
        assert!(
            outcome.stdout.contains(&format!("{too_long}4 runs")),
            "{}",
            outcome.stdout
        );
    }
}

/// A long program of the benchmarks; so many items of work are some 85 events each, in each of two threads.
fn explore_long(name: &str, source: &str, items: u32, options: &[&str]) -> (Program, Outcome) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("benches/explore")
        .join(source);
    let program = Program::compile(&format!("explore-{name}"), &source, &[format!("-DITEMS={items}")]);
    let outcome = explore_again(&program, options);
    (program, outcome)
}

fn explore_again(program: &Program, options: &[&str]) -> Outcome {
    let mut command = witness();
    command.args(["explore", "-o", "runs"]).args(options).arg("--");
    run(&program.folder, command.arg(program.file())).unwrap()
}

#[test]
fn what_a_long_program_does_once_in_the_middle_is_tried_first() {
    let source = "long/atomicity_seats_far_apart.c";
    // Nobody says how many events a run may have.
    let (program, outcome) = explore_long("far-apart", source, 1_000, &["--runs", "4"]);
    let outcome = outcome.expect(&[68]).unwrap();
    assert_eq!(shown_by(&outcome, "FOUND: the program "), "runs/2.bin");
    assert!(outcome.stdout.contains("is too long to search"), "{}", outcome.stdout);
    let first = trace_format::TraceFile::open(&program.folder.join("runs/1.bin")).unwrap();
    assert!(first.len() > 150_000, "{}", first.len());
    assert_eq!(
        *first.ending(),
        trace_format::Ending::Complete {
            program: trace_format::ProgramEnd::Exited(0)
        }
    );
}

#[test]
fn a_run_in_which_threads_meet_a_thousand_times_is_not_searched() {
    let source = "long/atomicity_seats_far_apart.c";
    let (_, outcome) = explore_long("many-meetings", source, 400, &["--runs", "4"]);
    let outcome = outcome.expect(&[68]).unwrap();
    assert!(outcome.stdout.contains("is too long to search"), "{}", outcome.stdout);
    assert_eq!(shown_by(&outcome, "FOUND: the program "), "runs/2.bin");
}

#[test]
fn a_long_run_is_searched_only_if_that_may_end_exhausted() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/programs/seldom_meets.c");
    let program = Program::compile("explore-seldom-meets", &source, &[]);
    let outcome = explore_again(&program, &[]).expect(&[0]).unwrap();
    let first = trace_format::TraceFile::open(&program.folder.join("runs/1.bin")).unwrap();
    assert!((20_000..100_000).contains(&first.len()), "{}", first.len());
    assert!(
        outcome.stdout.contains("EXHAUSTED: every schedule"),
        "{}",
        outcome.stdout
    );
    let program = Program::compile("explore-seldom-meets-and-calls", &source, &["-DCALLS".to_owned()]);
    let outcome = explore_again(&program, &["--runs", "4"]).expect(&[3]).unwrap();
    assert!(outcome.stdout.contains("is too long to search"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("(4 runs, "), "{}", outcome.stdout);
}

#[test]
fn a_deadlock_of_a_run_that_is_not_searched_is_reported() {
    let (_, outcome) = explore_long("lost-end", "long/deadlock_lost_end.c", 1_000, &["--runs", "8"]);
    let outcome = outcome.expect(&[67]).unwrap();
    shown_by(&outcome, "FOUND: deadlock, ");
}

#[test]
fn of_a_deadlock_the_first_run_that_shows_it_is_named() {
    let (_, outcome) = explore_long("semaphore", "failing/deadlock_semaphore.c", 1, &[]);
    assert_eq!(shown_by(&outcome, "FOUND: deadlock, "), "runs/1.bin");
    // Those that are told besides are others.
    let told = outcome.stdout.split("FOUND: deadlock").skip(1).map(|told| {
        let mut facts: Vec<&str> = told.lines().filter(|line| line.starts_with("  thread")).collect();
        facts.sort_unstable();
        facts
    });
    let told: Vec<Vec<&str>> = told.collect();
    let mut once = told.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), told.len(), "{}", outcome.stdout);
}

#[test]
fn of_long_runs_that_show_nothing_only_their_checksums_stay() {
    let source = "session/programs/behind_a_count.c";
    let options = ["--max-events", "1000000", "--runs"];
    let (program, outcome) = explore("checksums", source, &[&options[..], &["1"]].concat(), &[]);
    outcome.expect(&[3]).unwrap();
    let runs = program.folder.join("runs");
    let journal = || runs.join("exploration.journal").metadata().unwrap().len();
    let first = runs.join("1.bin").metadata().unwrap().len();
    let before = journal();
    explore_again(&program, &[&options[..], &["2"]].concat())
        .expect(&[3])
        .unwrap();
    assert!(journal() - before < first / 4, "{before} {} {first}", journal());
    // Whatever somebody else has left under the name of a run that showed nothing is none of it.
    std::fs::write(runs.join("2.bin"), "no trace").unwrap();
    let again = explore_again(&program, &[&options[..], &["3"]].concat())
        .expect(&[3])
        .unwrap();
    assert!(again.stderr.contains("goes on after 2 runs"), "{}", again.stderr);
    assert!(!runs.join("2.bin").exists());
    // Nor is it read to its end: a terabyte, none of which is on disk.
    let sparse = std::fs::File::create(runs.join("2.bin")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -v 3000000; exec \"$0\" \"$@\""]);
    shell.args([env!("CARGO_BIN_EXE_witness"), "explore", "-o", "runs"]);
    shell.args(options).args(["3", "--"]).arg(program.file());
    run(&program.folder, &mut shell).unwrap().expect(&[3]).unwrap();
    assert!(!runs.join("2.bin").exists());
}

/// Which runs are made, what is found and said of them, and what is kept.
#[test]
fn long_runs_at_the_same_time_are_the_same() {
    let source = "long/deadlock_lost_end.c";
    let [alone, together] = ["1", "3"].map(|jobs| {
        let name = format!("long-jobs-{jobs}");
        let (program, outcome) = explore_long(&name, source, 1_000, &["--runs", "8", "--jobs", jobs]);
        let outcome = outcome.expect(&[67]).unwrap();
        let runs = std::fs::read_dir(program.folder.join("runs")).unwrap();
        let mut kept: Vec<_> = runs.map(|entry| entry.unwrap().file_name()).collect();
        kept.sort_unstable();
        // What the program is called is in what is said of it.
        (outcome.stdout.replace(&name, "name"), kept)
    });
    assert_eq!(alone, together);
    assert!(
        alone.0.contains("  of 6 further runs, a look showed nothing new"),
        "{}",
        alone.0
    );
}

#[test]
fn a_file_in_place_of_the_folder_is_named_with_the_remedy() {
    let (program, _) = explore("no-folder", "programs/counter_orders.c", &["--runs", "1"], &[]);
    std::fs::write(program.folder.join("file"), "").unwrap();
    let mut command = witness();
    command.args(["explore", "-o", "file", "--"]).arg(program.file());
    let outcome = run(&program.folder, &mut command).unwrap().expect(&[2]).unwrap();
    assert!(
        outcome
            .stderr
            .contains("file is a file, not a folder: name a folder for the traces with --output"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn an_interrupted_search_ends_and_tells_what_was_found() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/programs/independent.c");
    let program = Program::compile("explore-interrupted", &source, &[]);
    let mut command = witness();
    // The cheap search has little to find, the exact one has millions of states.
    command.args(["explore", "--"]).arg(program.file());
    command
        .current_dir(&program.folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let journal = program.folder.join("runs/exploration.journal");
    let size = || journal.metadata().map_or(0, |file| file.len());
    let mut last = 0;
    // Nothing is run any more: it searches.
    while size() == 0 || size() != last {
        last = size();
        sleep(Duration::from_secs(3));
        assert!(child.try_wait().unwrap().is_none(), "it takes much longer");
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(3));
    let stdout = String::from_utf8_lossy(&ended.stdout);
    assert!(
        stdout.contains("the time limit was reached, or it was interrupted"),
        "{stdout}"
    );
}

#[test]
fn what_is_found_is_shortened() {
    let (program, outcome) = explore(
        "shortened-deadlock",
        "session/programs/opposite_locks.c",
        &["--shorten"],
        &[],
    );
    let trace = shown_by(&outcome, "FOUND: deadlock, ");
    let short = trace.replace(".bin", ".short.bin");
    let before = switches(&program.folder.join(&trace));
    let words = format!(" context switches instead of {before}, in {short}");
    let line = outcome.stdout.lines().find(|line| line.contains(&words));
    let line = line.unwrap_or_else(|| panic!("{}", outcome.stdout));
    let told: usize = line.trim().split(' ').nth(2).unwrap().parse().unwrap();
    assert_eq!(told, switches(&program.folder.join(&short)), "{line}");
    assert!(told < before, "{line}");
    assert!(outcome.stdout.contains("waits for mutex"), "{}", outcome.stdout);
    let again = format!("Run it again: witness replay {short} --live --as-recorded");
    assert!(outcome.stdout.contains(&again), "{}", outcome.stdout);
    let mut command = witness();
    command.args(["replay", &short, "--live", "--as-recorded"]);
    let again = run(&program.folder, &mut command).unwrap().expect(&[0]).unwrap();
    assert!(again.stdout.contains("REPRODUCED"), "{}", again.stdout);
    // The first failing run of these has as few changes of threads as there can be.
    for (name, source, options, said) in [
        (
            "output",
            "session/programs/prints.c",
            &["--fails-if", "output=second: [1-9]", "--shorten"][..],
            "FOUND: the program printed what matches second: [1-9], ",
        ),
        (
            "spin",
            "session/programs/spins_sometimes.c",
            &["--max-events", "2000", "--runs", "20", "--shorten"],
            "FOUND: the program was still waiting in a loop",
        ),
    ] {
        let (_, outcome) = explore(&format!("shortened-{name}"), source, options, &[]);
        for said in [said, "no run with fewer than 3 context switches shows it"] {
            assert!(outcome.stdout.contains(said), "{name}: {}", outcome.stdout);
        }
    }
}

/// The context switches of a trace.
fn switches(trace: &Path) -> usize {
    let trace = witness::trace::Trace::open(trace).unwrap();
    witness::replay::live::stretches(&trace).len() - 1
}

#[test]
fn a_failing_run_is_shortened() {
    for (name, title) in [
        ("opposite_locks", "FOUND: deadlock, "),
        ("test_cache", "FOUND: the program was killed by SIGABRT, "),
    ] {
        let (program, outcome) = explore(
            &format!("shorten-{name}"),
            &format!("session/programs/{name}.c"),
            &[],
            &[],
        );
        let trace = shown_by(&outcome, title);
        let replay = |trace: &str, options: &[&str]| {
            let mut command = witness();
            command.args(["replay", trace, "--live", "--as-recorded"]).args(options);
            run(&program.folder, &mut command).unwrap()
        };
        let shortened = replay(&trace, &["--shorten"]).expect(&[0]).unwrap();
        let switches = if name == "opposite_locks" { 2 } else { 4 };
        let words = format!("SHORTENED: {switches} context switches instead of ");
        assert!(shortened.stdout.contains(&words), "{}", shortened.stdout);
        assert!(shortened.stdout.contains("REPRODUCED: "), "{}", shortened.stdout);
        let short = trace.replace(".bin", ".short.bin");
        let again = replay(&short, &["--shorten"]).expect(&[0]).unwrap();
        assert!(again.stdout.contains("NOT SHORTENED: "), "{}", again.stdout);
        let first = replay("runs/1.bin", &["--shorten"]).expect(&[2]).unwrap();
        assert!(first.stderr.contains("did not fail"), "{}", first.stderr);
    }
}

#[test]
fn an_exploration_that_is_ended_with_an_analysis_is_not_exhausted() {
    let (_, outcome) = explore("ended", "session/programs/lengthy.c", &["--memory-limit", "1"], &[]);
    let outcome = outcome.expect(&[2]).unwrap();
    for words in ["out of memory", "NOT EXHAUSTED: ", "the same command goes on from here"] {
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    }
    assert!(!outcome.stderr.contains("witness analyze"), "{}", outcome.stderr);
}
