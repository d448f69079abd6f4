//! Commands of the user's around each run of a program: one that makes the place ready before it, and one that runs
//! beside it, such as the client of a server.

use super::error::RunError;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The variable that tells the command beside a program the number of the program's process.
pub const PROCESS: &str = "WITNESS_PROCESS";

/// What to run around a program, each by `sh -c`, in the program's directory.
#[derive(Clone, Debug, Default)]
pub struct Companions {
    /// Runs to its end before the program starts.
    pub setup: Option<OsString>,
    /// Starts with the program, and is ended with it.
    pub with: Option<OsString>,
}

/// A command beside a program: it and all that it started in its process group end when this is dropped.
#[derive(Debug)]
pub struct Beside(Child);

impl Companions {
    /// Makes the place ready.
    ///
    /// # Errors
    /// [`RunError::Setup`], if the command does not run or fails.
    pub fn prepare(&self, directory: Option<&Path>) -> Result<(), RunError> {
        let Some(command) = &self.setup else { return Ok(()) };
        let failed = |why| RunError::Setup {
            command: command.clone(),
            why,
        };
        let status = shell(command, directory)
            .stdin(Stdio::null())
            .status()
            .map_err(|error| failed(error.to_string()))?;
        if status.success() {
            Ok(())
        } else {
            Err(failed(format!("it ended with {status}")))
        }
    }

    /// Starts what is to run beside the program whose process has this number.
    ///
    /// # Errors
    /// [`RunError::Setup`], if it does not start.
    pub fn accompany(&self, directory: Option<&Path>, process: u32) -> Result<Option<Beside>, RunError> {
        let Some(command) = &self.with else { return Ok(None) };
        let child = shell(command, directory)
            .env(PROCESS, process.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        let child = child.map_err(|error| RunError::Setup {
            command: command.clone(),
            why: error.to_string(),
        })?;
        Ok(Some(Beside(child)))
    }
}

fn shell(command: &OsStr, directory: Option<&Path>) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command);
    if let Some(directory) = directory.filter(|directory| !directory.as_os_str().is_empty()) {
        shell.current_dir(directory);
    }
    shell
}

impl Drop for Beside {
    fn drop(&mut self) {
        // It may have ended by itself; what it started may not.
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_setup_that_fails_is_an_error_that_names_it() {
        let setup = |line: &str| Companions {
            setup: Some(line.into()),
            with: None,
        };
        setup("true").prepare(None).expect("it succeeds");
        let error = setup("exit 7").prepare(None).expect_err("it fails").to_string();
        assert!(error.contains("exit 7") && error.contains("7"), "{error}");
    }

    #[test]
    fn what_runs_beside_a_program_ends_with_it() {
        let folder = std::env::temp_dir().join(format!("companions-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let with = Companions {
            setup: None,
            with: Some("sleep 600 & echo $! $WITNESS_PROCESS > started; wait".into()),
        };
        let beside = with
            .accompany(Some(&folder), 4711)
            .expect("it starts")
            .expect("there is one");
        let deadline = Instant::now() + Duration::from_secs(60);
        let told = loop {
            let told = std::fs::read_to_string(folder.join("started")).unwrap_or_default();
            if told.ends_with('\n') || Instant::now() > deadline {
                break told;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let words: Vec<&str> = told.split_whitespace().collect();
        assert_eq!(words.get(1), Some(&"4711"), "{told:?}");
        drop(beside);
        let stat = format!("/proc/{}/stat", words[0]);
        // Gone, or dead and not waited for yet by whoever adopts it.
        let gone = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
        while !gone() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(gone());
        let _ = std::fs::remove_dir_all(&folder);
    }
}
