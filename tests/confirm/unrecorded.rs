//! Libraries that are not instrumented: what they change, and what they may synchronize.

use crate::command::{said, witness};
use crate::recorded::folder;
use serde_json::Value;
use std::convert::Infallible;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use trace_format::TraceFile;
use witness::analyze::{Decision, Follow, Options, Work, analyze_with};
use witness::candidates::Candidate;
use witness::trace::Trace;
use witness::verdict::{Unknown, Verdict};

/// Writes memory of the caller.
const LABEL: &str = "void copy_label(char *to) { to[0] = 'a'; to[1] = 0; }\n";

/// A lock that nobody sees.
const HOLD: &str = "static int held;
void hold(void) { while (__sync_val_compare_and_swap(&held, 0, 1)) { } }
void let_go(void) { __sync_lock_release(&held); }
void nothing(void) { }
";

const LABELLED: &str = "#include <pthread.h>
void copy_label(char *to);
static char label[4];
static int ready, late;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *writer(void *unused)
{
    copy_label(label);
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
    late = 1;
    return unused;
}
static void *reader(void *unused)
{
    pthread_mutex_lock(&lock);
    int seen = ready;
    pthread_mutex_unlock(&lock);
    if (label[0] == 'a')
        late = 2 + seen;
    return unused;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, writer, 0);
    pthread_create(&b, 0, reader, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

const HELD: &str = "#include <pthread.h>
void hold(void);
void let_go(void);
static int sum;
static void *add(void *unused)
{
    hold();
    sum++;
    let_go();
    return unused;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, add, 0);
    pthread_create(&b, 0, add, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

/// A function that also calls what orders nothing.
const ENTER: &str = "#include <string.h>
__attribute__((noinline)) static void enter(void)
{
    volatile char text[] = \"held\";
    __asm__ volatile(\"\" :: \"r\"(strerror(text[0])));
    hold();
}
static void *add";

/// Calls the library through pointers that are in memory, that only registers hold, and that lead elsewhere.
const THROUGH: &str = "#include <pthread.h>
#include <string.h>
void hold(void);
void let_go(void);
static void quiet(void) { __asm__ volatile(\"\" ::: \"memory\"); }
static int sum;
static void (*volatile before)(void) = HOLD, (*volatile after)(void) = LET_GO;
__attribute__((noinline)) static void between(void (*first)(void), void (*last)(void))
{
    first();
    sum++;
    last();
}
static void *add(void *unused)
{
#if REGISTERS
    between(HOLD, LET_GO);
#else
    before();
    sum++;
    after();
#endif
    return unused;
}
int main(void)
{
    pthread_t a, b;
    hold();
    let_go();
    quiet();
    pthread_create(&a, 0, add, 0);
    pthread_create(&b, 0, add, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

/// A lock of inline assembly, which no compiler instruments.
const ASSEMBLY: &str = "#include <pthread.h>
static int held, sum;
static void hold(void)
{
    int seen;
    do {
        seen = 0;
        __asm__ volatile(\"lock cmpxchgl %2, %1\" : \"+a\"(seen), \"+m\"(held) : \"r\"(1) : \"memory\");
    } while (seen);
}
static void let_go(void)
{
    int one = 1, zero = 0;
    __asm__ volatile(\"lock cmpxchgl %2, %1\" : \"+a\"(one), \"+m\"(held) : \"r\"(zero) : \"memory\");
}
static void *add(void *unused)
{
    hold();
    sum++;
    let_go();
    return unused;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, add, 0);
    pthread_create(&b, 0, add, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

/// The same lock.
const HOLD_IN_ASSEMBLY: &str = ".text
.globl hold
hold:
1:  movl $1, %eax
    xchgl %eax, held(%rip)
    testl %eax, %eax
    jnz 1b
    ret
.globl let_go
let_go:
    movl $0, held(%rip)
    ret
.lcomm held, 4
.section .note.GNU-stack, \"\", @progbits
";

const FLAG: &str = "static int flag;
void raise_it(void) { __atomic_store_n(&flag, 1, __ATOMIC_RELEASE); }
int raised(void) { return __atomic_load_n(&flag, __ATOMIC_ACQUIRE); }
void look(int *seen) { *seen = raised(); }
";

const FLAGGED: &str = "#include <pthread.h>
void raise_it(void);
int raised(void);
void look(int *);
static int data;
static void *write_it(void *unused)
{
    data = 1;
    raise_it();
    return unused;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, write_it, 0);
    WAIT
    data++;
    pthread_join(thread, 0);
    return 0;
}
";

const FILL: &str = "void fill(int *room) { for (int i = 0; i < 4; i++) room[i] = i; }\n";

const CALLS_BACK: &str = "static int held;
void with_lock(void (*then)(void))
{
    while (__sync_val_compare_and_swap(&held, 0, 1)) { }
    then();
    __sync_lock_release(&held);
}
";

const CALLS: &str = "void with_lock(void (*then)(void)) { then(); __asm__ volatile(\"\"); }\n";

const CALLED_BACK: &str = "#include <pthread.h>
void with_lock(void (*)(void));
static int sum;
static void add(void) { sum++; }
static void *work(void *unused)
{
    with_lock(add);
    return unused;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

/// Builds a library without instrumentation and a program with it, records, and returns what `analyze` says, with its
/// status.
fn analyzed(folder: &Path, name: &str, library: &str, program: &str) -> (i32, Value) {
    let file = |suffix: &str| folder.join(format!("{name}{suffix}"));
    let shared = folder.join(format!("lib{name}.so"));
    fs::write(file("_library.c"), library).expect("a source");
    said(
        Command::new("gcc")
            .args(["-g", "-shared", "-fPIC", "-o"])
            .arg(&shared)
            .arg(file("_library.c")),
    )
    .expect(0);
    analyzed_with(folder, name, program, &shared)
}

/// Builds a program with a library, or an object file, that is there; records, and returns what `analyze` says, with its
/// status.
fn analyzed_with(folder: &Path, name: &str, program: &str, library: &Path) -> (i32, Value) {
    let source = folder.join(format!("{name}.c"));
    fs::write(&source, program).expect("a source");
    let mut link = Command::new("gcc");
    link.args(["-g", "-fsanitize=thread", "-pthread", "-o"])
        .arg(folder.join(name))
        .arg(source);
    said(link.arg(library).arg(format!("-Wl,-rpath,{}", folder.display()))).expect(0);
    let (program, trace) = (format!("./{name}"), format!("{name}.bin"));
    witness(folder, &["record", "-o", &trace, "--", &program]).expect(0);
    let said = witness(folder, &["analyze", &trace, "--json"]);
    (said.status, serde_json::from_str(&said.stdout).expect("results"))
}

/// What an analysis tells while it goes on, in case that somebody ends it.
#[derive(Default)]
struct Told {
    decided: AtomicUsize,
    witnessed: AtomicUsize,
}

impl Follow for Told {
    type Error = Infallible;

    fn checked(&self, decision: &Decision) {
        if matches!(decision.pair.verdict, Verdict::Witnessed(_)) {
            self.witnessed.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn begin(&self, _: &[Candidate], _: usize) -> Result<Vec<Decision>, Infallible> {
        Ok(Vec::new())
    }

    fn decided(&self, _: &Decision) -> Result<(), Infallible> {
        self.decided.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Analyzes a trace all of whose witnesses are doubtful, and sees that none is told of before that is known.
fn nobody_is_told_of_a_witness(trace: &Path) {
    let file = TraceFile::open(trace).expect("a trace");
    let trace = Trace::from_file(&file).expect("a good trace");
    for threads in [1, 2] {
        let told = Told::default();
        let work = Work {
            threads: NonZeroUsize::new(threads).expect("a thread"),
            ..Work::default()
        };
        let Ok(analysis) = analyze_with(&trace, &Options::default(), &work, &told);
        let is_doubtful = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(Unknown::Unsynchronized { .. }));
        assert!(analysis.pairs.iter().any(|pair| is_doubtful(&pair.verdict)));
        assert!(told.decided.into_inner() >= analysis.pairs.len());
        assert_eq!(told.witnessed.into_inner(), 0);
    }
}

#[test]
fn what_a_library_changed_refutes_nothing_and_is_named() {
    let folder = folder("unrecorded-label");
    let (status, results) = analyzed(&folder, "label", LABEL, LABELLED);
    let pairs = results["pairs"].as_array().expect("pairs");
    let late = pairs
        .iter()
        .find(|pair| pair["a"]["variable"] == "late")
        .expect("a pair");
    assert_eq!(
        (&late["verdict"], &late["reason"]),
        (&"unknown".into(), &"unrecorded code".into())
    );
    let why = late["explanation"][0].as_str().expect("a reason");
    assert!(why.contains("copy_label of liblabel.so"), "{why}");
    assert_eq!(status, 3);
}

#[test]
fn what_a_library_may_synchronize_is_not_told_as_proven() {
    let folder = folder("unrecorded-hold");
    let (status, results) = analyzed(&folder, "hold", HOLD, HELD);
    let pairs = results["pairs"].as_array().expect("pairs");
    assert_eq!(results["summary"]["witnessed"], 0);
    // The second thread's write comes after it read what the first wrote.
    let open: Vec<&Value> = pairs.iter().filter(|pair| pair["verdict"] != "not-in-trace").collect();
    assert!(!open.is_empty());
    for pair in open {
        let told = (&pair["verdict"], &pair["reason"]);
        assert_eq!(
            told,
            (&"unknown".into(), &"unrecorded synchronization".into()),
            "{pair}"
        );
        let why = pair["explanation"][0].as_str().expect("a reason");
        assert!(why.contains("libhold.so"), "{why}");
    }
    assert_eq!(status, 3);
    nobody_is_told_of_a_witness(&folder.join("hold.bin"));
    // The same behind a function that calls others first; and by a lock that no `cmpxchg` makes.
    let behind = HELD
        .replacen("    hold();", "    enter();", 1)
        .replace("static void *add", ENTER);
    let (_, results) = analyzed(&folder, "behind", HOLD, &behind);
    assert_eq!(results["summary"]["witnessed"], 0, "{results}");
    let exchanges = "static int held; static int swap(int x) { __asm__ volatile(\"xchgl %0, %1\" : \"+r\"(x), \"+m\"(held)); return x; }
        void hold(void) { while (swap(1)) ; } void let_go(void) { swap(0); }";
    let (_, results) = analyzed(&folder, "exchanges", exchanges, HELD);
    assert_eq!(results["summary"]["witnessed"], 0, "{results}");
    // A library that has atomics, and is called where it orders nothing.
    let free = HELD.replace("    hold();\n", "").replace("    let_go();\n", "");
    let called = free.replace("pthread_t a, b;", "pthread_t a, b; hold(); let_go();");
    let (status, results) = analyzed(&folder, "before", HOLD, &called);
    assert_eq!((status, &results["summary"]["unknown"]), (66, &0.into()), "{results}");
}

/// A container without any way to synchronize.
const BOX: &str = "static void *slot; void put(void *item) { slot = item; } void *get(void) { return slot; }";

/// What one thread has written, another one gets out of a container, under the lock of both: nothing but that keeps the
/// second access behind the first. LOCK stands for that of the second.
const THROUGH_A_BOX: &str = "#include <pthread.h>
#include <stdlib.h>
void put(void *item);
void *get(void);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static void *give(void *unused)
{
    int *number = malloc(sizeof *number);
    *number = 7;
    pthread_mutex_lock(&lock);
    put(number);
    pthread_mutex_unlock(&lock);
    return unused;
}
static void *take(void *unused)
{
    int *number = 0;
    while (!number) {
        pthread_mutex_lock(&LOCK);
        number = get();
        pthread_mutex_unlock(&LOCK);
    }
    return *number ? unused : 0;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, give, 0);
    pthread_create(&b, 0, take, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

#[test]
fn what_a_container_carries_is_not_told_as_proven() {
    let folder = folder("unrecorded-box");
    let doubted = vec![("unknown", "unrecorded synchronization")];
    let under = |lock: &str| THROUGH_A_BOX.replace("LOCK", lock);
    let (_, results) = analyzed(&folder, "box", BOX, &under("lock"));
    assert_eq!(open(&results), doubted, "{results}");
    assert!(results["pairs"].to_string().contains("libbox.so"), "{results}");
    // Under another lock, the two calls race themselves.
    let (_, results) = analyzed(&folder, "beside", BOX, &under("other"));
    assert_eq!(open(&results), [("witnessed", "")], "{results}");
    // The C library's own, which has the second thread compare what the first has written.
    let compare = "static void *root;
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
";
    let of_c = under("lock")
        .replace(
            "void put(void *item);\nvoid *get(void);\n",
            &format!("#include <search.h>\n{compare}"),
        )
        .replace("put(number);", "tsearch(number, &root, compare);")
        .replace(
            "number = get();",
            "int wanted = 7; number = tfind(&wanted, &root, compare);",
        );
    let (_, results) = analyzed(&folder, "tree", BOX, &of_c);
    let told = open(&results);
    assert!(
        !told.is_empty() && told.iter().all(|told| *told == doubted[0]),
        "{results}"
    );
}

/// The same with an object file of the program instead of a library, in the language that its source is in: `c`, or `s`
/// for assembly.
fn analyzed_with_part(folder: &Path, name: &str, (language, part): (&str, &str), program: &str) -> (i32, Value) {
    let source = folder.join(format!("{name}_part.{language}"));
    let object = folder.join(format!("{name}_part.o"));
    fs::write(&source, part).expect("a source");
    said(Command::new("gcc").args(["-O1", "-c", "-o"]).arg(&object).arg(source)).expect(0);
    analyzed_with(folder, name, program, &object)
}

#[test]
fn what_a_part_without_instrumentation_may_synchronize_is_not_told_as_proven() {
    let folder = folder("unrecorded-part");
    let doubted = vec![("unknown", "unrecorded synchronization")];
    // A lock that is given back by a plain store, in C and in assembly, of which nobody says where functions end.
    let (_, results) = analyzed_with_part(&folder, "lock", ("c", HOLD), HELD);
    assert_eq!(open(&results), doubted, "{results}");
    let why = results["pairs"].to_string();
    assert!(why.contains("built without -fsanitize=thread"), "{why}");
    let (_, results) = analyzed_with_part(&folder, "assembly_lock", ("s", HOLD_IN_ASSEMBLY), HELD);
    assert_eq!(open(&results), doubted, "{results}");
    // A flag that is stored and loaded by one instruction each; what is loaded comes back by a pointer into the caller's
    // frame, too.
    for (name, wait) in [
        ("flag", "while (!raised()) { }"),
        ("out", "for (int seen = 0; !seen;) look(&seen);"),
    ] {
        let program = FLAGGED.replace("WAIT", wait);
        let (_, results) = analyzed_with_part(&folder, name, ("c", FLAG), &program);
        assert_eq!(open(&results), doubted, "{name}: {results}");
    }
    // A part that has memory of its caller alone.
    let fills = HELD
        .replace("hold();", "fill(room);")
        .replace("let_go();", "fill(room);");
    let fills = fills.replace(
        "    fill(room);\n    sum++",
        "    int room[4];\n    fill(room);\n    sum++",
    );
    let fills = fills.replace("void hold(void);\nvoid let_go(void);", "void fill(int *);");
    let (status, results) = analyzed_with_part(&folder, "fills", ("c", FILL), &fills);
    assert_eq!((status, open(&results)), (66, vec![("witnessed", "")]), "{results}");
}

#[test]
fn what_unrecorded_code_orders_that_calls_back_is_not_told_as_proven() {
    let folder = folder("unrecorded-back");
    let doubted = vec![("unknown", "unrecorded synchronization")];
    let (_, results) = analyzed(&folder, "back", CALLS_BACK, CALLED_BACK);
    assert_eq!(open(&results), doubted, "{results}");
    let (_, results) = analyzed_with_part(&folder, "part_back", ("c", CALLS_BACK), CALLED_BACK);
    assert_eq!(open(&results), doubted, "{results}");
    // What only calls back orders nothing.
    let (status, results) = analyzed_with_part(&folder, "calls", ("c", CALLS), CALLED_BACK);
    assert_eq!((status, open(&results)), (66, vec![("witnessed", "")]), "{results}");
}

/// What is said of the pairs that are not excluded: verdicts and reasons.
fn open(results: &Value) -> Vec<(&str, &str)> {
    let pairs = results["pairs"].as_array().expect("pairs").iter();
    let told = pairs.map(|pair| {
        let reason = pair["reason"].as_str().unwrap_or_default();
        (pair["verdict"].as_str().expect("a verdict"), reason)
    });
    told.filter(|(verdict, _)| !matches!(*verdict, "refuted" | "not-in-trace"))
        .collect()
}

#[test]
fn what_pointers_may_lead_to_and_what_assembly_does_is_not_told_as_proven() {
    let folder = folder("unrecorded-pointers");
    let through = |first: &str, last: &str, registers: &str| {
        let text = THROUGH.replace("LET_GO", last).replace("HOLD", first);
        text.replace("#if REGISTERS", &format!("#if {registers}"))
    };
    let doubted = vec![("unknown", "unrecorded synchronization")];
    for (name, registers) in [("memory", "0"), ("registers", "1")] {
        let (_, results) = analyzed(&folder, name, HOLD, &through("hold", "let_go", registers));
        assert_eq!(open(&results), doubted, "{name}: {results}");
    }
    // The pointers lead to the program's own code.
    let (status, results) = analyzed(&folder, "own", HOLD, &through("quiet", "quiet", "0"));
    assert_eq!((status, open(&results)), (66, vec![("witnessed", "")]), "{results}");
    // Nobody takes a function of the library, so no pointer leads there.
    let untaken = through("quiet", "quiet", "1").replace("    hold();\n    let_go();\n", "");
    let (status, results) = analyzed(&folder, "nobodys", HOLD, &untaken);
    assert_eq!((status, open(&results)), (66, vec![("witnessed", "")]), "{results}");
    // Somebody asks for a function by its name: another one, then one of the library's.
    let ask = |name: &str| {
        let text = untaken.replacen("<pthread.h>", "<pthread.h>\n#include <dlfcn.h>", 1);
        text.replacen("quiet();\n", &format!("(void)dlsym(RTLD_DEFAULT, \"{name}\");\n"), 1)
    };
    let (status, results) = analyzed(&folder, "another", HOLD, &ask("puts"));
    assert_eq!((status, open(&results)), (66, vec![("witnessed", "")]), "{results}");
    let (_, results) = analyzed(&folder, "named", HOLD, &ask("let_go"));
    assert_eq!(open(&results), doubted, "{results}");

    let (_, results) = analyzed(&folder, "assembly", "void nothing(void) { }", ASSEMBLY);
    assert_eq!(open(&results), doubted, "{results}");
    let pairs = results["pairs"].as_array().expect("pairs");
    let told = pairs.iter().find(|pair| pair["verdict"] == "unknown").expect("a pair");
    let why = told["explanation"][0].as_str().expect("a reason");
    assert!(why.contains("assembly in assembly"), "{why}");
}

/// A count under a lock of its own: whoever waits for it cannot wait in vain.
const COUNT: &str = "static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int left = 3;
PART void leave(void)
{
    pthread_mutex_lock(&lock);
    left--;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}
PART void join_all(void)
{
    pthread_mutex_lock(&lock);
    while (left > 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}
";

const COUNTED: &str = "static int data[3];
static void *work(void *mine)
{
    *(int *)mine = 1;
    leave();
    return 0;
}
int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++) {
        pthread_create(&thread, 0, work, &data[i]);
        pthread_detach(thread);
    }
    join_all();
    return data[0] + data[1] + data[2] - 3;
}
";

/// A library synchronizes by locks that are recorded, and by what it keeps under them, which is not; and so does a part of
/// a program. What a thread finds there decides whether it waits.
#[test]
fn what_is_found_under_locks_of_unrecorded_code_is_not_told_as_proven() {
    let folder = folder("unrecorded-count");
    let header = "#include <pthread.h>\n";
    let library = format!("{header}#define PART\n{COUNT}");
    let program = format!("{header}void leave(void);\nvoid join_all(void);\n{COUNTED}");
    let part = "__attribute__((no_sanitize(\"thread\"), noinline)) static";
    let whole = format!("{header}#define PART {part}\n{COUNT}{COUNTED}");
    let recorded = format!("{header}#define PART static\n{COUNT}{COUNTED}");
    for (name, library, program) in [("library", library.as_str(), &program), ("part", "int unused;", &whole)] {
        let (status, results) = analyzed(&folder, name, library, program);
        assert_eq!(results["summary"]["witnessed"], 0, "{name}");
        let [deadlock] = &results["deadlocks"].as_array().expect("deadlocks")[..] else {
            panic!("{name}: not one deadlock");
        };
        let told = (&deadlock["verdict"], &deadlock["reason"]);
        assert_eq!(
            told,
            (&"unknown".into(), &"unrecorded synchronization".into()),
            "{name}"
        );
        let why = deadlock["explanation"][0].as_str().expect("a reason");
        assert!(why.contains("decide") && why.contains(name), "{why}");
        assert_eq!(status, 3, "{name}");
    }
    let (status, results) = analyzed(&folder, "recorded", "int unused;", &recorded);
    assert_eq!((status, open(&results)), (0, Vec::new()), "{results}");
    assert_eq!(results.get("deadlocks"), None);
}

/// What a library may do whose file is another one by now, nobody knows.
#[test]
fn a_library_that_was_replaced_is_suspected() {
    let folder = folder("unrecorded-replaced");
    let quiet = "void hold(void) { } void let_go(void) { }";
    let (_, results) = analyzed(&folder, "replaced", quiet, HELD);
    let witnessed = ("witnessed", "");
    assert!(open(&results).contains(&witnessed), "it orders nothing");
    fs::remove_file(folder.join("libreplaced.so")).expect("the library is removed");
    let said = witness(&folder, &["analyze", "replaced.bin", "--json"]);
    let results: Value = serde_json::from_str(&said.stdout).expect("results");
    let all = open(&results);
    assert!(!all.is_empty() && !all.contains(&witnessed), "{all:?}");
}

#[test]
fn a_live_run_settles_only_what_it_can() {
    let folder = folder("unrecorded-live");
    // The library counts, and orders nothing.
    let counts = "static int n; void hold(void) { __sync_add_and_fetch(&n, 1); } void let_go(void) { hold(); }";
    analyzed(&folder, "counts", counts, HELD);
    let run = witness(&folder, &["run", "-o", "c.bin", "--runs", "2", "--", "./counts"]);
    assert_eq!(run.status, 66, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stdout.contains("confirmed live") && run.stdout.contains(" 0 witnessed only, 0 unknown"),
        "{}",
        run.stdout
    );
    // It is a lock.
    analyzed(&folder, "holds", HOLD, HELD);
    let run = witness(
        &folder,
        &["run", "-o", "h.bin", "--runs", "3", "--attempts", "1", "--", "./holds"],
    );
    assert_eq!(run.status, 3, "{}{}", run.stdout, run.stderr);
    let told = run.stdout.contains("unrecorded synchronization: ") && run.stdout.contains("0 confirmed live");
    assert!(told, "{}", run.stdout);
}
