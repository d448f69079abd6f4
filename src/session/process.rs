//! Processes that are not our children, as the kernel shows them.

use super::environment;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::ffi::OsString;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use trace_format::Meta;

/// How long to wait for what may never come: a child that was killed before it could ask.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// A process that is there, even if its number is given to another one later.
pub(crate) fn open(process: u32) -> Option<Arc<OwnedFd>> {
    let pid = Pid::from_raw(i32::try_from(process).ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok().map(Arc::new)
}

/// Whether a process has not ended.
pub(crate) fn is_running(process: u32) -> bool {
    open(process).is_some_and(|process| !is_over(&process))
}

/// Whether a process has ended.
pub(crate) fn is_over(process: &OwnedFd) -> bool {
    let mut file = [PollFd::new(process, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut file, Some(&now)).is_ok_and(|ready| ready > 0)
}

/// Waits until a process has ended, or so long.
pub(crate) fn wait_for(process: &OwnedFd, time: Duration) {
    let mut file = [PollFd::new(process, PollFlags::IN)];
    let time = Timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: time.subsec_nanos().into(),
    };
    // An interrupted wait is a short one.
    let _ = poll(&mut file, Some(&time));
}

/// Waits until a process has ended.
pub(super) fn wait(process: &OwnedFd) {
    let mut file = [PollFd::new(process, PollFlags::IN)];
    // An interrupted wait is none.
    while poll(&mut file, None).is_err() {}
}

/// The status of a process that has ended and was not waited for.
pub(crate) fn status_of_zombie(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // `number (name) state …`: the name may hold anything, also parentheses. The last field is the status.
    let fields = stat.rsplit_once(')')?.1.trim();
    let status = fields.rsplit(' ').next().filter(|_| fields.starts_with('Z'));
    status?.parse().ok()
}

/// Describes a process that has executed a program, as far as the kernel tells. The folder is that of the runtime.
/// Of its environment, the values of the variables `keep_env` are kept, beside those that are kept anyway.
pub(crate) fn describe(process: u32, folder_of_runtime: &Path, keep_env: &[String], meta: &mut Meta) {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let strings = |file: &str| -> Option<Vec<String>> {
        let bytes = fs::read(folder.join(file)).ok()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some(bytes.split(|&byte| byte == 0).map(text).collect())
    };
    let link = |file: &str| -> Option<OsString> { Some(fs::read_link(folder.join(file)).ok()?.into_os_string()) };
    if let (Some(mut command), Some(program)) = (strings("cmdline"), link("exe")) {
        // Behind the last end of a string.
        command.pop();
        if let Some(first) = command.first_mut() {
            *first = program.to_string_lossy().into_owned();
        }
        meta.command = command;
    }
    if let Some(directory) = link("cwd") {
        meta.directory = directory.to_string_lossy().into_owned();
    }
    if let Some(mut entries) = strings("environ") {
        let own = |entry: &String| entry.starts_with(recorder_ring::layout::RING_VARIABLE);
        entries.retain(|entry| entry.contains('=') && !own(entry));
        meta.environment = entries
            .into_iter()
            .filter_map(|entry| without_runtime(entry, folder_of_runtime))
            .map(|entry| match entry.split_once('=') {
                Some((name, value)) => environment::entry(name, value, keep_env),
                None => entry,
            })
            .collect();
    }
}

/// An entry of an environment without the folder that only the runtime is found in, if the kernel still shows it.
fn without_runtime(entry: String, folder: &Path) -> Option<String> {
    let Some(paths) = entry.strip_prefix("LD_LIBRARY_PATH=") else {
        return Some(entry);
    };
    let (first, rest) = match paths.split_once(':') {
        Some((first, rest)) => (first, Some(rest)),
        None => (paths, None),
    };
    if Path::new(first) != folder {
        return Some(entry);
    }
    rest.map(|rest| format!("LD_LIBRARY_PATH={rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn the_end_of_a_process_is_seen_before_anybody_waits() {
        let mut child = std::process::Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
        let process = open(child.id()).unwrap();
        while !is_over(&process) {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(status_of_zombie(child.id()), Some(7 << 8));
        child.wait().unwrap();
        assert_eq!(status_of_zombie(child.id()), None);
    }

    #[test]
    fn the_folder_of_the_runtime_is_no_part_of_a_program_s_environment() {
        let folder = Path::new("/a/runtime");
        let left = |entry: &str| without_runtime(entry.to_owned(), folder);
        assert_eq!(left("LD_LIBRARY_PATH=/a/runtime"), None);
        assert_eq!(
            left("LD_LIBRARY_PATH=/a/runtime:/b").as_deref(),
            Some("LD_LIBRARY_PATH=/b")
        );
        for other in ["LD_LIBRARY_PATH=/b:/a/runtime", "A=/a/runtime"] {
            assert_eq!(left(other).as_deref(), Some(other));
        }
    }
}
