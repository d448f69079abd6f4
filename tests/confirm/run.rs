//! `--run`, and `witness run`: the program is recorded until each warning, or all that is found, is witnessed.

use crate::command::witness;
use crate::recorded::{compile, folder, reports};
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

/// A write, and a read that comes only after another thread has counted: no schedule brings them together.
const ORDERED: &str = "
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int n, data;
static int count(void)
{
    pthread_mutex_lock(&lock);
    int now = ++n;
    pthread_mutex_unlock(&lock);
    return now;
}
static void *writer(void *unused)
{
    data = 1;
    count();
    return unused;
}
static void *reader(void *unused)
{
    if (count() == 2)
        return data ? unused : 0;
    return unused;
}
int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, writer, 0);
    pthread_create(&threads[1], 0, reader, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}";

#[test]
fn what_no_schedule_shows_is_refuted_once_all_are_covered() {
    let folder = folder("run-all-schedules");
    std::fs::write(folder.join("ordered.c"), &ORDERED[1..]).expect("a file");
    witness(&folder, &["cc", "-pthread", "ordered.c", "-o", "ordered"]).expect(0);
    std::fs::write(folder.join("pairs"), "ordered.c:13 ordered.c:20\n").expect("a file");
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

/// Two semaphores for locks, taken in both orders: anybody may post, so no single trace tells that nobody will.
const SEMAPHORES: &str = "
#include <pthread.h>
#include <semaphore.h>
static sem_t first, second;
static void *forwards(void *unused)
{
    sem_wait(&first);
    sem_wait(&second);
    sem_post(&second);
    sem_post(&first);
    return unused;
}
static void *backwards(void *unused)
{
    sem_wait(&second);
    sem_wait(&first);
    sem_post(&first);
    sem_post(&second);
    return unused;
}
int main(void)
{
    pthread_t threads[2];
    sem_init(&first, 0, 1);
    sem_init(&second, 0, 1);
    pthread_create(&threads[0], 0, forwards, 0);
    pthread_create(&threads[1], 0, backwards, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}";

#[test]
fn runs_are_chosen_so_that_they_fail() {
    let folder = folder("run-chosen");
    std::fs::write(folder.join("locks.c"), &SEMAPHORES[1..]).expect("a file");
    witness(&folder, &["cc", "-pthread", "locks.c", "-o", "locks"]).expect(0);
    let run = |runs: &str| witness(&folder, &["run", "--runs", runs, "-o", "r.bin", "--", "./locks"]);
    run("1").expect(0);
    let chosen = run("3");
    assert_eq!(chosen.status, 67, "{}{}", chosen.stdout, chosen.stderr);
    assert!(chosen.stderr.contains("run 2 (chosen)"), "{}", chosen.stderr);
    assert!(chosen.stderr.contains("deadlock: thread "), "{}", chosen.stderr);
}

/// A race behind the third value of a counter that changes thousands of times.
const LONG: &str = "
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int n, data;
static unsigned char buffer[1 << 10];
static void *counter(void *unused)
{
    data = 1;
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&lock);
        n++;
        pthread_mutex_unlock(&lock);
        for (int j = 0; j < 30; j++)
            buffer[(i + j) & 1023]++;
        if (i == 2)
            data = 2;
    }
    return unused;
}
static void *reader(void *unused)
{
    pthread_mutex_lock(&lock);
    int seen = n;
    pthread_mutex_unlock(&lock);
    return seen == 2 && data ? unused : 0;
}
int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, counter, 0);
    pthread_create(&threads[1], 0, reader, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}";

#[test]
fn long_runs_are_made_again_with_one_delay() {
    let folder = folder("run-delayed");
    std::fs::write(folder.join("long.c"), &LONG[1..]).expect("a file");
    witness(&folder, &["cc", "-pthread", "long.c", "-o", "long"]).expect(0);
    std::fs::write(folder.join("pairs"), "long.c:15 long.c:24\n").expect("a file");
    let limits = [
        "confirm", "--run", "--runs", "8", "-o", "c.bin", "pairs", "--", "./long",
    ];
    let asked = witness(&folder, &limits);
    assert_eq!(asked.status, 66, "{}{}", asked.stdout, asked.stderr);
    // The first delay is at the counter's first value, the second at the one that it takes.
    let chosen = asked
        .stderr
        .lines()
        .find(|line| line.contains(" 1 of 1 warnings witnessed"));
    assert!(
        chosen.is_some_and(|line| line.contains("run 4 (chosen)")),
        "{}",
        asked.stderr
    );
}
