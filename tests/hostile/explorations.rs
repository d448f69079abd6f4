//! Folders of explorations, forged: what is said of all schedules is the program's, or nothing.

use crate::command::Outcome;
use crate::place::Place;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Of an exploration in `out`, to its end.
fn explore(place: &Place) -> Outcome {
    place.witness(&["explore", "-o", "out", "--", "./racy"])
}

/// The frames of a journal: length and checksum, then what they hold.
fn frames(journal: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &journal[12..];
    let mut frames = Vec::new();
    while let Some((length, _)) = rest.split_first_chunk::<4>() {
        let (frame, behind) = rest.split_at(8 + u32::from_le_bytes(*length) as usize);
        frames.push(frame.to_vec());
        rest = behind;
    }
    frames
}

/// As a journal has it, with the right length and checksum.
fn framed(content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u32).to_le_bytes();
    [&length[..], &crc32c::crc32c(content).to_le_bytes(), content].concat()
}

#[test]
fn a_journal_that_somebody_has_changed_is_not_believed() {
    let place = Place::new("forged-exploration");
    place.compile(&[]);
    let said = explore(&place).status(66);
    assert!(
        said.stdout.lines().any(|line| line.starts_with("EXHAUSTED")),
        "{said:?}"
    );
    let path = place.path("out/exploration.journal");
    let journal = fs::read(&path).expect("a journal");
    let all = frames(&journal);
    assert!(all.len() > 2, "{} frames", all.len());
    let write = |frames: &[Vec<u8>]| {
        let bytes = [&journal[..12], &frames.concat()].concat();
        fs::write(&path, bytes).expect("a journal");
    };
    // Without the last runs: they are made again.
    for kept in 1..all.len() {
        write(&all[..kept]);
        let again = explore(&place).status(66);
        assert_eq!(statement(&again), statement(&said), "{kept} frames");
    }
    let refused = |what: &str, frames: &[Vec<u8>]| {
        write(frames);
        let outcome = explore(&place).status(2);
        assert!(
            outcome.stderr.contains("not written here by you"),
            "{what}: {outcome:?}"
        );
        assert!(outcome.stdout.is_empty(), "{what}: {outcome:?}");
    };
    for number in 0..all.len() {
        let mut changed = all.clone();
        let mut content = changed[number][8..].to_vec();
        let middle = content.len() / 2;
        content[middle] ^= 1;
        changed[number] = framed(&content);
        refused("a changed byte", &changed);
        // Without its seal.
        content[middle] ^= 1;
        content[..64].fill(b'-');
        changed[number] = framed(&content);
        refused("no seal", &changed);
    }
    let mut changed = all.clone();
    changed.remove(1);
    refused("a run left out", &changed);
    let mut changed = all.clone();
    changed.push(all[1].clone());
    refused("a run twice", &changed);
    let mut changed = all;
    let last = changed.len() - 1;
    changed.swap(1, last);
    refused("another order", &changed);
}

/// Two threads that can wait for each other's lock.
const DEADLOCK: &str = "#include <pthread.h>\n\
    pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;\n\
    static void *work(void *unused) {\n    pthread_mutex_lock(&b);\n    pthread_mutex_lock(&a);\n\
    \x20   pthread_mutex_unlock(&a);\n    pthread_mutex_unlock(&b);\n    return unused;\n}\n\
    int main(void) {\n    pthread_t other;\n    pthread_create(&other, 0, work, 0);\n    pthread_mutex_lock(&a);\n\
    \x20   pthread_mutex_lock(&b);\n    pthread_mutex_unlock(&b);\n    pthread_mutex_unlock(&a);\n\
    \x20   return pthread_join(other, 0);\n}\n";

#[test]
fn traces_in_the_folder_of_an_exploration_are_not_believed() {
    let place = Place::new("forged-exploration-traces");
    fs::write(place.path("waits.c"), DEADLOCK).expect("a source");
    place.gcc(&["-fsanitize=thread", "waits.c", "-o", "racy"]);
    let said = explore(&place);
    assert!(said.stdout.contains("forever"), "{said:?}");
    place
        .witness(&["generate", "-o", "other.bin", "--events", "100"])
        .status(0);
    let mut forged = 0;
    for entry in fs::read_dir(place.path("out")).expect("a folder") {
        let file = entry.expect("an entry").path();
        if file.extension().is_some_and(|extension| extension == "bin") {
            fs::copy(place.path("other.bin"), &file).expect("a trace");
            forged += 1;
        }
    }
    assert!(forged > 1, "{forged}");
    let again = explore(&place).status(said.status);
    assert_eq!(statement(&again), statement(&said));
}

/// What lies under the name of a run may be a pipe that never ends, or a link to what matters.
#[test]
fn what_lies_under_the_name_of_a_run_is_replaced() {
    let place = Place::new("forged-run");
    fs::write(place.path("waits.c"), DEADLOCK).expect("a source");
    place.gcc(&["-fsanitize=thread", "waits.c", "-o", "racy"]);
    let said = explore(&place);
    let runs = fs::read_dir(place.path("out")).expect("a folder");
    let runs = runs.map(|entry| entry.expect("an entry").path());
    let runs: Vec<_> = runs
        .filter(|file| file.extension().is_some_and(|end| end == "bin"))
        .collect();
    assert!(!runs.is_empty());
    let precious = place.precious(&[]);
    for what in ["a pipe", "a link", "a link to nothing"] {
        for run in &runs {
            fs::remove_file(run).expect("a run");
            match what {
                "a pipe" => assert!(Command::new("mkfifo").arg(run).status().expect("mkfifo").success()),
                "a link" => symlink(place.path("precious"), run).expect("a link"),
                _ => symlink(place.path("none"), run).expect("a link"),
            }
        }
        let mut again = place.command(&["explore", "-o", "out", "--", "./racy"]);
        let mut running = again
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("witness runs");
        let begun = Instant::now();
        while running.try_wait().expect("a child").is_none() {
            if begun.elapsed() > Duration::from_secs(60) {
                running.kill().expect("it can be killed");
                panic!("{what}: it waits");
            }
            sleep(Duration::from_millis(10));
        }
        let ended = running.wait_with_output().expect("it ended");
        assert_eq!(ended.status.code(), Some(said.status), "{what}");
        let again = Outcome {
            status: said.status,
            stdout: String::from_utf8_lossy(&ended.stdout).into_owned(),
            stderr: String::new(),
        };
        assert_eq!(statement(&again), statement(&said), "{what}");
        for run in &runs {
            assert!(run.symlink_metadata().expect("a run").is_file(), "{what}");
        }
        precious.is_whole();
        assert!(!place.path("none").exists());
    }
}

/// What is said, but for how long it took and how many runs were made now.
fn statement(outcome: &Outcome) -> String {
    let lines = outcome.stdout.lines().filter(|line| !line.contains(" run"));
    lines.map(|line| format!("{line}\n")).collect()
}
