//! `witness` is killed at random moments of whatever it does, and what it began is continued: the results are those of
//! a run that nobody has killed, and nothing is missing.
//!
//! A few kills by default; docs/safety.md says what came of 1,000 of each:
//!
//! ```sh
//! WITNESS_KILLS=1000 cargo test --release --test kills -- --nocapture
//! ```

mod analyze;
mod gaps;
mod record;

use fastrand::Rng;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often to kill, unless `WITNESS_KILLS` says so.
const KILLS: u32 = 12;

fn number(variable: &str, otherwise: u32) -> u32 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().expect("a number"))
}

/// The moments at which to kill what takes so long.
struct Moments {
    rng: Rng,
    duration: Duration,
}

impl Moments {
    /// The command is run a few times: a moment lies anywhere up to the longest, and a bit more.
    fn of(mut run: impl FnMut()) -> Moments {
        let times = (0..5).map(|_| {
            let begun = Instant::now();
            run();
            begun.elapsed()
        });
        let longest = times.max().expect("some");
        Moments {
            rng: Rng::with_seed(number("WITNESS_KILLS_SEED", 1).into()),
            duration: longest.mul_f64(1.1),
        }
    }

    /// Kills the process at the next moment, unless it has ended by itself; whether it had.
    fn kill(&mut self, running: &mut Child) -> bool {
        thread::sleep(self.duration.mul_f64(self.rng.f64()));
        let ended = running.try_wait().expect("a child").is_some();
        running.kill().expect("it can be killed");
        running.wait().expect("it ends");
        ended
    }
}

/// A new folder.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kills").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the folder of an earlier run");
    }
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// `witness` in the folder, told nothing by the environment of the tests.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_witness"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("WITNESS_") {
            command.env_remove(name);
        }
    }
    command
        .env("XDG_STATE_HOME", folder.join("state"))
        .env_remove("NO_COLOR")
        .current_dir(folder)
        .stdin(Stdio::null())
        .args(arguments);
    command
}

/// Runs it to its end: what it prints. It ends with one of these statuses.
#[track_caller]
fn witness(folder: &Path, arguments: &[&str], statuses: &[i32]) -> String {
    let output = command(folder, arguments).output().expect("witness starts");
    let status = output.status.code();
    assert!(
        status.is_some_and(|status| statuses.contains(&status)),
        "{arguments:?}: {output:?}"
    );
    String::from_utf8(output.stdout).expect("text")
}
