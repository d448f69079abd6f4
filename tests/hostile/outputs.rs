//! Folders that traces, explorations and the jobs of a cluster go to, in which somebody has prepared something.

use crate::command::run;
use crate::place::Place;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

fn pipe(path: &std::path::Path) {
    let made = Command::new("mkfifo").arg(path).status().expect("mkfifo");
    assert!(made.success());
}

/// What `record` and `run` write lies under names that the trace's tells.
#[test]
fn recordings_write_through_no_link_and_wait_for_no_pipe() {
    let place = Place::new("linked-recordings");
    place.compile(&[]);
    let names = [
        "t.bin",
        "t.bin.partial",
        "t.bin.ring",
        "t.run2.bin",
        "t.run2.bin.partial",
    ];
    let precious = place.precious(&names);
    let run_it = ["run", "--runs", "2", "-o", "t.bin", "--", "./racy"];
    place.witness(&run_it).status(66);
    precious.is_whole();
    for name in names {
        let path = place.path(name);
        let _ = fs::remove_file(&path);
        pipe(&path);
    }
    place.witness(&run_it).status(66);
    assert!(place.path("t.bin").symlink_metadata().expect("the trace").is_file());
    // A lock that is a link, a pipe, or somebody else's file.
    symlink(place.path("precious"), place.path("l.bin.lock")).expect("a link");
    pipe(&place.path("p.bin.lock"));
    fs::hard_link(place.path("precious"), place.path("h.bin.lock")).expect("a link");
    fs::write(place.path("f.bin.lock"), "[[package]]\n").expect("a file");
    for name in ["l", "p", "h", "f"] {
        let output = format!("{name}.bin");
        place.witness(&["record", "-o", &output, "--", "./racy"]).status(2);
        assert!(!place.path(&output).exists(), "{name}");
    }
    assert_eq!(
        fs::read_to_string(place.path("f.bin.lock")).expect("a file"),
        "[[package]]\n"
    );
    precious.is_whole();
}

/// The folder of a suite: the list of its programs, and their traces.
#[test]
fn a_suite_writes_through_no_link_and_waits_for_no_pipe() {
    for kind in ["link", "pipe"] {
        let place = Place::new(&format!("suite-{kind}"));
        place.compile(&[]);
        let names = [
            "traces/processes.jsonl",
            "traces/processes.jsonl.partial",
            "traces/racy-2.bin.partial",
            "traces/racy.bin",
            "traces/racy.bin.partial",
            "traces/racy.bin.ring",
        ];
        let precious = match kind {
            "link" => place.precious(&names),
            _ => {
                fs::create_dir(place.path("traces")).expect("a folder");
                names.iter().for_each(|name| pipe(&place.path(name)));
                place.precious(&[])
            }
        };
        let outcome = place.witness(&["test", "--traces", "traces", "--keep", "--", "./racy"]);
        precious.is_whole();
        assert_eq!(outcome.status, 66, "{kind}: {outcome:?}");
        // Another's traces in a folder without a list are not removed.
        let other = Place::new(&format!("suite-{kind}-of-others"));
        other.compile(&[]);
        fs::create_dir(other.path("traces")).expect("a folder");
        match kind {
            "link" => symlink(other.path("none"), other.path("traces/mine.bin")).expect("a link"),
            _ => pipe(&other.path("traces/mine.bin")),
        }
        other.witness(&["test", "--traces", "traces", "--", "./racy"]).status(2);
        assert!(other.path("traces/mine.bin").symlink_metadata().is_ok(), "{kind}");
    }
}

#[test]
fn an_exploration_uses_neither_a_linked_folder_nor_the_journal_of_another_user() {
    let place = Place::new("explored-elsewhere");
    place.compile(&[]);
    fs::create_dir(place.path("mine")).expect("a folder");
    symlink(place.path("mine"), place.path("out")).expect("a link");
    let explore = ["explore", "-o", "out", "--", "./racy"];
    let outcome = place.witness(&explore).status(2);
    assert!(outcome.stderr.contains("symbolic link"), "{outcome:?}");
    assert_eq!(fs::read_dir(place.path("mine")).expect("a folder").count(), 0);
    fs::remove_file(place.path("out")).expect("a link");
    fs::create_dir(place.path("out")).expect("a folder");
    let journal = place.path("out/exploration.journal");
    pipe(&journal);
    place.witness(&explore).status(2);
    fs::remove_file(&journal).expect("a pipe");
    fs::write(&journal, "").expect("a journal");
    if std::os::unix::fs::chown(&journal, Some(12_345), None).is_ok() {
        let outcome = place.witness(&explore).status(2);
        assert!(outcome.stderr.contains("another user"), "{outcome:?}");
        fs::remove_file(&journal).expect("a journal");
    }
    // A run's trace that takes 1 TiB, without a byte on disk.
    place.witness(&explore).status(66);
    let runs = fs::read_dir(place.path("out")).expect("a folder").flatten();
    for run in runs
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "bin"))
    {
        fs::File::create(&run)
            .and_then(|file| file.set_len(1 << 40))
            .expect("a sparse file");
    }
    let witness = place.command(&[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -v 3000000; exec \"$0\" \"$@\""]);
    shell
        .arg(witness.get_program())
        .args(explore)
        .env("XDG_STATE_HOME", place.path("state"));
    run(shell.current_dir(place.path("."))).status(66);
}

/// An `sbatch` that writes down what it is told, in place of Slurm's.
const SBATCH: &str = "#!/bin/sh\nprintf '%s\\n' \"$@\" >> told\ncat >> told\necho 4711\n";

#[test]
fn logs_of_a_cluster_lie_where_nobody_could_prepare_a_link() {
    let place = Place::new("cluster-logs");
    place.record();
    fs::create_dir(place.path("programs")).expect("a folder");
    fs::write(place.path("programs/sbatch"), SBATCH).expect("a program");
    fs::set_permissions(place.path("programs/sbatch"), Permissions::from_mode(0o755)).expect("its mode");
    let path = std::env::join_paths(
        [place.path("programs")]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let path = path.expect("a path");
    let submit = || {
        run(place
            .command(&["cluster", "trace.bin", "--workers", "2"])
            .env("PATH", &path))
    };
    // Names that the numbers of jobs tell.
    let precious = place.precious(&[
        "trace.bin.witnesses/cluster/4711_1.out",
        "trace.bin.witnesses/cluster/4711_1.err",
        "trace.bin.witnesses/cluster/merge-4711.out",
        "trace.bin.witnesses/cluster/merge-4711.status",
    ]);
    let mut folders = Vec::new();
    for _ in 0..2 {
        submit().status(0);
        let told = fs::read_to_string(place.path("told")).expect("it was told something");
        let logs = told
            .lines()
            .filter_map(|line| line.strip_prefix("--output=").or(line.strip_prefix("--error=")));
        let logs: Vec<&str> = logs.collect();
        assert_eq!(logs.len(), 4, "{told}");
        let folder = std::path::Path::new(logs[0]).parent().expect("a folder").to_owned();
        assert!(
            logs.iter()
                .all(|log| std::path::Path::new(log).parent() == Some(&folder)),
            "{told}"
        );
        let about = folder.symlink_metadata().expect("a folder");
        assert!(about.is_dir() && about.permissions().mode() & 0o077 == 0, "{folder:?}");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0, "{folder:?}");
        assert!(!folders.contains(&folder), "{folder:?}");
        folders.push(folder);
        fs::remove_file(place.path("told")).expect("a file");
    }
    precious.is_whole();
    // The folder of the logs itself.
    fs::remove_dir_all(place.path("trace.bin.witnesses/cluster")).expect("a folder");
    fs::create_dir(place.path("mine")).expect("a folder");
    symlink(place.path("mine"), place.path("trace.bin.witnesses/cluster")).expect("a link");
    let outcome = submit().status(2);
    assert!(outcome.stderr.contains("symbolic link"), "{outcome:?}");
    assert!(!place.path("told").exists());
    assert_eq!(fs::read_dir(place.path("mine")).expect("a folder").count(), 0);
}

/// Leases that nobody has taken: they keep a worker waiting as long as a lease lasts, or its own time limit.
#[test]
fn forged_leases_keep_nobody_from_work() {
    for what in [
        "a folder",
        "a full folder",
        "a link",
        "a link to nothing",
        "a pipe",
        "from the future",
    ] {
        let place = Place::new("leases");
        place.record();
        place.witness(&["plan", "trace.bin"]).status(0);
        let shards = place.path("trace.bin.witnesses/shards");
        fs::create_dir(&shards).expect("a folder");
        let precious = place.precious(&[]);
        for shard in ["1-of-2.lease", "2-of-2.lease"] {
            let lease = shards.join(shard);
            match what {
                "a folder" => fs::create_dir(&lease).expect("a folder"),
                "a full folder" => fs::create_dir_all(lease.join("full")).expect("a folder"),
                "a link" => symlink(place.path("precious"), &lease).expect("a link"),
                "a link to nothing" => symlink(place.path("none"), &lease).expect("a link"),
                "a pipe" => pipe(&lease),
                _ => {
                    fs::write(&lease, "").expect("a lease");
                    let touched = Command::new("touch").args(["-d", "2100-01-01"]).arg(&lease).status();
                    assert!(touched.expect("touch").success());
                }
            }
        }
        place
            .witness(&[
                "analyze",
                "trace.bin",
                "--any-shard-of",
                "2",
                "--lease",
                "1",
                "--time-limit",
                "60",
            ])
            .status(0);
        place.witness(&["merge", "trace.bin"]).status(66);
        precious.is_whole();
        assert!(!place.path("none").exists(), "{what}");
    }
}

/// Of however many traces a report is: it lists no more than that of one trace may, and says how many are left out.
#[test]
fn a_report_of_many_traces_is_bounded() {
    let place = Place::new("many-traces");
    place.compile(&[]);
    let source = fs::read_to_string(place.path("racy.c")).expect("a source");
    let other = source.replace("shared", "another").replace("work", "labor");
    fs::write(place.path("other.c"), other).expect("a source");
    place.gcc(&["-fsanitize=thread", "other.c", "-o", "other"]);
    let test = |more: &[&str]| {
        let suite = ["--", "sh", "-c", "./racy; ./other"];
        place
            .witness(&[&["test", "--traces", "traces"], more, &suite].concat())
            .status(66)
    };
    let all = test(&[]);
    assert!(
        all.stdout.contains("2 data races witnessed") && !all.stderr.contains("left out"),
        "{all:?}"
    );
    let one = test(&["--max-pairs", "1", "--report", "json=races.json"]);
    assert!(one.stderr.contains("1 of the findings are left out"), "{one:?}");
    for part in ["1 data race witnessed", "1 unknown (1 beyond --max-pairs)"] {
        assert!(one.stdout.contains(part), "{part}: {one:?}");
    }
    let json = fs::read_to_string(place.path("races.json")).expect("a report");
    assert_eq!(json.matches("\"verdict\": \"witnessed\"").count(), 1, "{json}");
    assert!(json.contains("\"unlisted\": 1"), "{json}");
}
