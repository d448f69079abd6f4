//! `--run`, and `witness run`: the program is recorded until each warning, or all that is found, is witnessed.

use crate::command::witness;
use crate::recorded::{compile, compile_own, folder, reports};
use witness::confirm::ConfirmResults;

#[test]
fn runs_are_recorded_until_the_places_meet() {
    let folder = folder("run");
    compile(&folder, "figure2", &[]);
    let report = reports().join("figure2.helgrind").display().to_string();
    let said = witness(
        &folder,
        &["confirm", "--run", "--json", "-o", "t.bin", &report, "--", "./figure2"],
    );
    assert_eq!(said.status, 66, "{}", said.stderr);
    assert!(said.stderr.contains("run 1 (fifo)"), "{}", said.stderr);
    let results: ConfirmResults = serde_json::from_str(&said.stdout).expect("results");
    assert_eq!(results.summary.witnessed, 2);
    assert!(folder.join("t.bin").exists());
}

#[test]
fn traces_that_show_nothing_more_are_not_kept() {
    let folder = folder("run-unmatched");
    compile(&folder, "wrong_lock", &[]);
    std::fs::write(
        folder.join("pairs"),
        "wrong_lock.c:19 wrong_lock.c:28\nnowhere.c:1 wrong_lock.c:28\n",
    )
    .expect("a file");
    let said = witness(
        &folder,
        &[
            "confirm",
            "--run",
            "--runs",
            "3",
            "--json",
            "-o",
            "t.bin",
            "pairs",
            "--",
            "./wrong_lock",
        ],
    );
    assert_eq!(said.status, 66, "{}", said.stderr);
    assert!(said.stderr.contains("run 3 (chosen)"), "{}", said.stderr);
    let results: ConfirmResults = serde_json::from_str(&said.stdout).expect("results");
    assert_eq!((results.summary.witnessed, results.summary.unknown), (1, 1));
    assert_eq!(results.traces.len(), 1);
    assert!(folder.join("t.bin").exists() && !folder.join("t.run2.bin").exists());
}

#[test]
fn what_the_first_run_excludes_by_a_value_is_witnessed_by_another() {
    let folder = folder("run-counter");
    compile(&folder, "counter_orders", &[]);
    let source = std::fs::read_to_string(crate::recorded::programs().join("counter_orders.c")).expect("the source");
    let line = |mark: &str| {
        1 + source
            .lines()
            .position(|line| line.contains(mark))
            .expect("a marked line")
    };
    let pair = format!(
        "counter_orders.c:{} counter_orders.c:{}\n",
        line("@write */"),
        line("@read */")
    );
    std::fs::write(folder.join("pairs"), pair).expect("a file");
    let asked = |runs: &str| {
        let limits = ["confirm", "--run", "--runs", runs, "--json", "-o", "c.bin", "pairs"];
        witness(&folder, &[&limits[..], &["--", "./counter_orders"]].concat())
    };
    let once = asked("1");
    assert_eq!(once.status, 3, "{}", once.stderr);
    let results: ConfirmResults = serde_json::from_str(&once.stdout).expect("results");
    assert_eq!(results.warnings[0].verdict, "not-in-trace");
    assert_eq!(results.summary.not_in_trace, 1);
    let often = asked("10");
    assert_eq!(often.status, 66, "{}", often.stderr);

    let run = |runs: &str, file: &str| {
        let limits = ["run", "--runs", runs, "--report", file, "-o", "r.bin"];
        witness(&folder, &[&limits[..], &["--", "./counter_orders"]].concat())
    };
    let once = run("1", "text");
    assert_eq!(once.status, 0, "{}", once.stderr);
    assert!(
        once.stdout.contains("1 not in this trace, 0 unknown"),
        "{}",
        once.stdout
    );
    let often = run("10", "text");
    assert_eq!(often.status, 66, "{}", often.stderr);
    let summaries = often.stdout.matches("witnessed, ").count();
    assert_eq!(summaries, 1, "one report of all runs: {}", often.stdout);
    let shown = (2..=10)
        .map(|run| folder.join(format!("r.run{run}.bin")))
        .filter(|path| path.exists());
    let shown: Vec<_> = shown.collect();
    assert_eq!(shown.len(), 1, "the trace that shows it is kept: {shown:?}");
    let json = run("10", "json");
    let json: serde_json::Value = serde_json::from_str(&json.stdout).expect("one object");
    assert_eq!(json["summary"]["witnessed"], 1);
    assert_eq!(json["summary"]["not_in_trace"], 0, "the witness speaks for it");
    let trace = json["races"][0]["trace"].as_str().expect("a trace");
    assert_eq!(json["further_traces"][0]["path"], trace);
}

#[test]
fn what_no_schedule_shows_is_refuted_once_all_are_covered() {
    let folder = folder("run-all-schedules");
    compile_own(&folder, "ordered");
    std::fs::write(folder.join("pairs"), "ordered.c:14 ordered.c:21\n").expect("a file");
    let asked = |runs: &str, more: &[&str]| {
        let limits = ["confirm", "--run", "--runs", runs, "-o", "c.bin"];
        witness(&folder, &[&limits[..], more, &["pairs", "--", "./ordered"]].concat())
    };
    let once = asked("1", &[]).expect(3);
    assert!(
        once.contains("NOT IN THIS TRACE") && !once.contains("EXHAUSTED"),
        "{once}"
    );
    let all = asked("10", &[]).expect(0);
    assert!(all.contains("\nREFUTED: pairs:1"), "{all}");
    assert!(
        all.contains("all schedules: every schedule of this input was covered, "),
        "{all}"
    );
    assert!(all.contains("\nEXHAUSTED: "), "{all}");
    let json = asked("10", &["--json"]).expect(0);
    let results: ConfirmResults = serde_json::from_str(&json).expect("results");
    assert_eq!(results.warnings[0].verdict, "refuted");
    assert_eq!((results.summary.refuted, results.summary.not_in_trace), (1, 0));
    assert!(results.exploration.expect("all schedules").exhausted);

    let run = witness(&folder, &["run", "-o", "r.bin", "--", "./ordered"]).expect(0);
    assert!(
        run.contains("\nEXHAUSTED: ") && run.contains("; no race, deadlock or failure ("),
        "{run}"
    );
}

#[test]
fn runs_are_chosen_so_that_they_fail() {
    let folder = folder("run-chosen");
    compile_own(&folder, "nested_monitor");
    let run = |runs: &str| {
        witness(
            &folder,
            &["run", "--runs", runs, "-o", "r.bin", "--", "./nested_monitor"],
        )
    };
    run("1").expect(0);
    let chosen = run("3");
    assert_eq!(chosen.status, 67, "{}{}", chosen.stdout, chosen.stderr);
    assert!(chosen.stderr.contains("run 2 (chosen)"), "{}", chosen.stderr);
    assert!(chosen.stderr.contains("deadlock: thread "), "{}", chosen.stderr);
}

/// The main thread waits until the other one has slept, and fails if no time has passed.
const ELAPSED: &str = "
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;
static long now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
static void *sleeper(void *unused)
{
    usleep(60000);
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void)
{
    long begun = now();
    pthread_t thread;
    pthread_create(&thread, 0, sleeper, 0);
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
    long passed = now() - begun;
    return passed < 50 || passed > LATEST;
}";

/// What a thread has slept has passed for the one that it wakes, in chosen runs, too; and not more.
#[test]
fn a_chosen_run_does_not_fail_by_its_clocks() {
    let folder = folder("run-elapsed");
    std::fs::write(folder.join("elapsed.c"), &ELAPSED[1..]).expect("a file");
    for (latest, status) in [(100, 0), (55, 68)] {
        let latest = format!("-DLATEST={latest}");
        witness(&folder, &["cc", "-pthread", &latest, "elapsed.c", "-o", "elapsed"]).expect(0);
        let run = witness(&folder, &["run", "--runs", "3", "-o", "r.bin", "--", "./elapsed"]);
        assert_eq!(run.status, status, "{}{}", run.stdout, run.stderr);
        let says_why = run
            .stderr
            .contains("witness: run 2: the program exited with status 1; in that run time passed only where threads");
        assert_eq!(says_why, status != 0, "{}", run.stderr);
    }
}

#[test]
fn long_runs_are_made_again_with_one_delay() {
    let folder = folder("run-delayed");
    compile_own(&folder, "long");
    std::fs::write(folder.join("pairs"), "long.c:16 long.c:25\n").expect("a file");
    let limits = [
        "confirm", "--run", "--runs", "8", "-o", "c.bin", "pairs", "--", "./long",
    ];
    let asked = witness(&folder, &limits);
    assert_eq!(asked.status, 66, "{}{}", asked.stdout, asked.stderr);
    // The first delay is at the counter's first value, the second at the one that it takes. Runs by chance come
    // between.
    let chosen = asked
        .stderr
        .lines()
        .find(|line| line.contains(" 1 of 1 warnings witnessed"));
    assert!(chosen.is_some_and(|line| line.contains("(chosen)")), "{}", asked.stderr);
}
