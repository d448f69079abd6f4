//! A process that ends at once has its status, holds no file any more, and does not wait for its memory.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const MEMORY: usize = 1 << 28;
const HOW: &str = "WITNESS_TEST_LEAVES";
const FILE: &str = "WITNESS_TEST_LOCKED";
const READY: &str = "ready";

/// The process that ends.
fn leave(how: &str) {
    let locked = File::open(std::env::var_os(FILE).expect("a file")).expect("it is there");
    flock(&locked, FlockOperation::NonBlockingLockExclusive).expect("nobody has it");
    let mut memory = vec![0_u8; MEMORY];
    memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    std::hint::black_box(&memory);
    println!("\n{READY}");
    match how {
        "at once" => allocator::exit_at_once(42),
        _ => std::process::exit(42),
    }
}

/// How long it takes until such a process has ended.
fn time_of(how: &str) -> Duration {
    let file = std::env::current_exe().expect("this test");
    let mut command = Command::new(&file);
    command.args(["--exact", "the_end_does_not_wait_for_the_memory", "--nocapture"]);
    command.env(HOW, how).env(FILE, &file).stdout(Stdio::piped());
    let mut process: Child = command.spawn().expect("it starts");
    let mut output = BufReader::new(process.stdout.take().expect("it is piped"));
    let mut line = String::new();
    while line.trim() != READY {
        line.clear();
        assert!(output.read_line(&mut line).expect("it is read") > 0, "it ended early");
    }
    let begun = Instant::now();
    let status = process.wait().expect("a child");
    let taken = begun.elapsed();
    let file = File::open(file).expect("it is there");
    flock(&file, FlockOperation::NonBlockingLockExclusive).expect("its lock is free");
    assert_eq!(status.code(), Some(42));
    let mut rest = String::new();
    output
        .read_to_string(&mut rest)
        .expect("whoever reads comes to the end");
    taken
}

/// Whether a process is there that has the environment of those that end.
fn some_are_left() -> bool {
    let ours = format!("{FILE}=").into_bytes();
    let processes = fs::read_dir("/proc").expect("procfs").flatten();
    let mut environments = processes.filter_map(|process| fs::read(process.path().join("environ")).ok());
    environments.any(|all| all.split(|&byte| byte == 0).any(|one| one.starts_with(&ours)))
}

#[test]
fn the_end_does_not_wait_for_the_memory() {
    if let Ok(how) = std::env::var(HOW) {
        return leave(&how);
    }
    let shortest = |how: &str| (0..3).map(|_| time_of(how)).min().expect("some");
    let (usual, at_once) = (shortest("as usual"), shortest("at once"));
    assert!(2 * at_once < usual, "{at_once:?}, as usual {usual:?}");
    let begun = Instant::now();
    while some_are_left() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the memory is still taken");
        sleep(Duration::from_millis(10));
    }
}
