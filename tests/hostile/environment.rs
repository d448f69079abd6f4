//! What a trace tells of the one who recorded it.

use crate::command::run;
use crate::place::Place;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use trace_format::TraceFile;

#[test]
fn a_trace_keeps_no_secrets_and_only_its_owner_reads_it() {
    let place = Place::new("environment");
    place.compile(&[]);
    let record = |more: &[&str]| {
        let arguments = [&["record", "-o", "trace.bin"], more, &["--", "./racy"]].concat();
        let mut command = place.command(&arguments);
        command
            .env("GITHUB_TOKEN", "hunter2")
            .env("APP_MODE", "hunter2")
            .env("OMP_NUM_THREADS", "3");
        run(&mut command).status(0);
        let file = TraceFile::open(&place.path("trace.bin")).expect("a trace");
        file.tables().meta.environment.clone()
    };
    let kept = record(&[]);
    let has = |kept: &[String], entry: &str| kept.iter().any(|kept| kept == entry);
    assert!(
        has(&kept, "OMP_NUM_THREADS=3") && has(&kept, "GITHUB_TOKEN") && has(&kept, "APP_MODE"),
        "{kept:?}"
    );
    assert!(kept.iter().all(|entry| !entry.contains("hunter2")), "{kept:?}");
    let kept = record(&["--keep-env", "APP_MODE,OTHER"]);
    assert!(has(&kept, "APP_MODE=hunter2") && has(&kept, "GITHUB_TOKEN"), "{kept:?}");
    let mode = fs::metadata(place.path("trace.bin"))
        .expect("the trace")
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0);
}

#[test]
fn a_live_run_has_what_the_trace_does_not_keep() {
    let place = Place::new("environment-live");
    // Whether there is a race depends on a variable that traces do not keep.
    let program = "#include <pthread.h>\n#include <stdlib.h>\nint shared;\n\
        static void *work(void *mode) {\n    if (mode) shared = 1;\n    return 0;\n}\n\
        int main(void) {\n    pthread_t other;\n    pthread_create(&other, 0, work, getenv(\"APP_MODE\"));\n\
        \x20   shared = 2;\n    return pthread_join(other, 0);\n}\n";
    fs::write(place.path("mode.c"), program).expect("a source");
    place.gcc(&["-fsanitize=thread", "mode.c", "-o", "mode"]);
    let with_mode = |arguments: &[&str]| run(place.command(arguments).env("APP_MODE", "1"));
    with_mode(&["record", "-o", "trace.bin", "--", "./mode"]).status(0);
    with_mode(&["replay", "trace.bin", "--live"]).status(66);
    let without = place.witness(&["replay", "trace.bin", "--live"]);
    assert_ne!(without.status, 66, "{without:?}");
    assert!(
        without
            .stderr
            .contains("APP_MODE was set when this was recorded, and is not now"),
        "{without:?}"
    );
}
