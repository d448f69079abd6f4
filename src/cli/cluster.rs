//! `witness cluster`: one analysis by the workers of a Slurm cluster.
//!
//! Three commands that anybody can give, in jobs: the plan here, an array of workers
//! (`witness analyze --any-shard-of`), and `witness merge` once the array is over. Scripts go to `sbatch` on its
//! standard input, so nothing lies about that could be changed before it runs.

use super::ExitCode;
use super::analyze::AnalysisArgs;
use super::input::InputArgs;
use super::output::{print, say};
use super::plan;
use anyhow::{Context, bail, ensure};
use safe_files::ScratchFolder;
use std::env::current_exe;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::num::NonZeroU32;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf, absolute};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use witness::report::quoted;

/// Shards for each worker, unless the user says how many in all: some take longer than others, and what a worker that
/// is killed has begun is small.
const SHARDS_OF_WORKER: u32 = 16;

/// Time between two looks at a job.
const LOOK: Duration = Duration::from_secs(1);

/// Looks after which a job that the queue does not list any more will leave no status. (A shared folder may show a file
/// somewhat later than its writer.)
const LAST_LOOKS: u32 = 30;

/// Analyze a trace with the workers of a Slurm cluster.
///
/// Plans the analysis, and submits an array of workers and, behind it, the job that merges their shards. Trace and
/// store have to be on a file system that all machines share. A worker that is killed or preempted is continued: its
/// shard by another worker, half a minute later, and all by the same command again. Flags behind `--` are those of
/// `witness merge`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness cluster trace.bin --workers 16
  witness cluster trace.bin --workers 16 --wait -- --report sarif=races.sarif
  witness cluster trace.bin --sbatch=-plong --sbatch=-c8
  witness cluster trace.bin --show

Exit status: 0 submitted; with --wait that of the merged result, as `witness analyze`; 2 what cannot be planned or
submitted.")]
pub struct ClusterArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    analysis: AnalysisArgs,
    /// Workers: tasks of the array.
    #[arg(long, env = "WITNESS_WORKERS", value_name = "N", default_value = "4")]
    workers: NonZeroU32,
    /// Shards that the workers take one after another [default: 16 for each worker].
    #[arg(long, env = "WITNESS_SHARDS", value_name = "N")]
    shards: Option<NonZeroU32>,
    /// Wait for the merged result, print it, and end with its status.
    #[arg(long, env = "WITNESS_WAIT")]
    wait: bool,
    /// An option for `sbatch`, for both jobs; may be repeated.
    #[arg(long, env = "WITNESS_SBATCH", value_name = "OPTION", allow_hyphen_values = true)]
    sbatch: Vec<OsString>,
    /// Print the two jobs' commands and scripts instead of planning and submitting them.
    #[arg(long, env = "WITNESS_SHOW")]
    show: bool,
    /// Flags of `witness merge`.
    #[arg(last = true, value_name = "MERGE FLAG")]
    merge: Vec<OsString>,
}

/// A job to submit.
struct Job {
    options: Vec<OsString>,
    script: String,
}

impl Job {
    /// What a user would type, and the script.
    fn show(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let words: Vec<String> = self.options.iter().map(|word| quoted(Path::new(word))).collect();
        writeln!(out, "sbatch {} <<'EOF'\n{}EOF\n", words.join(" "), self.script)?;
        Ok(())
    }

    /// Submits it; its number.
    fn submit(&self) -> anyhow::Result<String> {
        let mut sbatch = Command::new("sbatch")
            .args(&self.options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context(
                "cannot run sbatch: is this a machine that submits Slurm jobs? (docs/cluster.md has other ways)",
            )?;
        let mut input = sbatch.stdin.take().expect("it is piped");
        // Who does not read it says why.
        let written = input.write_all(self.script.as_bytes());
        drop(input);
        let output = sbatch.wait_with_output().context("sbatch")?;
        ensure!(
            output.status.success(),
            "sbatch did not take the job ({})",
            output.status
        );
        written.context("sbatch did not read its script")?;
        let said = String::from_utf8_lossy(&output.stdout);
        // `NUMBER`, or `NUMBER;CLUSTER`.
        let number = said.trim().split(';').next().unwrap_or_default().to_owned();
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        ensure!(is_number, "sbatch said no job number but {said:?}");
        Ok(number)
    }
}

pub fn cluster(args: &ClusterArgs) -> anyhow::Result<ExitCode> {
    let logs = absolute(args.analysis.folder(&args.input.trace))?.join("cluster");
    args.must_be_flags_of_merge()?;
    ensure!(
        !logs.as_os_str().as_bytes().contains(&b'\\'),
        "{}: Slurm writes no logs to a path with a backslash; name another folder with --store",
        logs.display()
    );
    let of = args.shards.unwrap_or(
        args.workers
            .saturating_mul(NonZeroU32::new(SHARDS_OF_WORKER).expect("more than none")),
    );
    if args.show {
        let workers = args.workers_job(&logs, of)?;
        let merge = args.merge_job(&logs, "ARRAY")?;
        print(|out| {
            workers.show(out)?;
            merge.show(out)
        })?;
        return Ok(ExitCode::Nothing);
    }
    let (count, _) = plan::make(&args.input, &args.analysis)?;
    // New, so that nothing lies there under the names that logs will have, which the numbers of jobs tell before.
    let made = safe_files::make_folder(&logs).and_then(|()| ScratchFolder::new_in(&logs, "jobs"));
    let logs = made.with_context(|| logs.display().to_string())?.keep();
    let workers = args.workers_job(&logs, of)?;
    let array = workers.submit()?;
    let merge = args.merge_job(&logs, &array)?.submit().inspect_err(|_| {
        say!("witness: job {array} works without a job that merges what it finds: `scancel {array}` ends it");
    })?;
    let (workers, logs_of) = (args.workers, logs.display());
    let submitted = format!(
        "{count} pairs to decide, in {of} shards\njob {array}: {workers} workers\njob {merge}: merges their shards; both write to {logs_of}"
    );
    if args.wait {
        // Standard output is for the results.
        submitted.lines().for_each(|line| say!("witness: {line}"));
        return wait(&merge, &logs);
    }
    print(|out| Ok(writeln!(out, "{submitted}")?))?;
    Ok(ExitCode::Nothing)
}

impl ClusterArgs {
    /// A command of a job on the trace, which is called there as it is here: Slurm runs jobs where they were submitted.
    fn command(&self, name: &str) -> anyhow::Result<Vec<OsString>> {
        let mut words = vec![
            current_exe()?.into_os_string(),
            name.into(),
            self.input.trace.clone().into(),
        ];
        if let Some(store) = self.analysis.store() {
            words.extend(["--store".into(), store.into()]);
        }
        words.extend(self.input.flags());
        Ok(words)
    }

    /// The job that merges would refuse others, but only when all workers are done.
    fn must_be_flags_of_merge(&self) -> anyhow::Result<()> {
        let mut words = self.command("merge")?;
        words.extend(self.merge.iter().cloned());
        match super::definitions().try_get_matches_from(words) {
            Ok(_) => Ok(()),
            Err(error) => bail!(
                "behind `--` stand flags of `witness merge`\n{}",
                error.to_string().trim_end()
            ),
        }
    }

    fn workers_job(&self, logs: &Path, of: NonZeroU32) -> anyhow::Result<Job> {
        let mut words = self.command("analyze")?;
        words.extend(["--any-shard-of".into(), of.to_string().into()]);
        words.extend(self.analysis.machine_flags());
        Ok(Job {
            options: self.options(
                [
                    "--job-name=witness".into(),
                    format!("--array=1-{}", self.workers).into(),
                    // Whom somebody more important has displaced begins again, and goes on from the journal.
                    "--requeue".into(),
                    "--open-mode=append".into(),
                ],
                &logs.join("%A_%a"),
            ),
            script: format!("#!/bin/sh\nexec {}\n", line(&words)),
        })
    }

    fn merge_job(&self, logs: &Path, array: &str) -> anyhow::Result<Job> {
        let mut words = self.command("merge")?;
        words.extend(self.merge.iter().cloned());
        let status = quoted(&logs.join("merge-"));
        // Its status appears as a whole.
        let script = format!(
            "#!/bin/sh\n{}\nstatus=$?\necho $status > {status}$SLURM_JOB_ID.new &&\n    mv {status}$SLURM_JOB_ID.new {status}$SLURM_JOB_ID.status\nexit $status\n",
            line(&words)
        );
        Ok(Job {
            options: self.options(
                [
                    "--job-name=witness-merge".into(),
                    // Also if some of the workers have failed: the others may have done what they left.
                    format!("--dependency=afterany:{array}").into(),
                    "--requeue".into(),
                    "--open-mode=truncate".into(),
                ],
                &logs.join("merge-%A"),
            ),
            script,
        })
    }

    /// Those of a job, what the user wants last.
    fn options(&self, own: [OsString; 4], log: &Path) -> Vec<OsString> {
        let file = |option: &str, end: &str| -> OsString {
            let folder = log.parent().expect("logs are in a folder");
            // There, what begins with a percent sign is replaced.
            let folder = folder
                .as_os_str()
                .as_bytes()
                .split(|&byte| byte == b'%')
                .collect::<Vec<_>>()
                .join(&b"%%"[..]);
            let mut file = OsString::from(option);
            file.push(Path::new(OsStr::from_bytes(&folder)).join(log.file_name().expect("it is a file")));
            file.push(end);
            file
        };
        let logs = [file("--output=", ".out"), file("--error=", ".err")];
        let user = self.sbatch.iter().cloned();
        ["--parsable".into()]
            .into_iter()
            .chain(own)
            .chain(logs)
            .chain(user)
            .collect()
    }
}

/// A command as a shell takes it.
fn line(words: &[OsString]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(Path::new(word))).collect();
    words.join(" ")
}

/// Waits for the job that merges, prints what it printed, and ends as it did.
fn wait(job: &str, logs: &Path) -> anyhow::Result<ExitCode> {
    let file = |end: &str| -> PathBuf { logs.join(format!("merge-{job}.{end}")) };
    let mut looks_left = LAST_LOOKS;
    let status = loop {
        if let Ok(status) = fs::read_to_string(file("status")) {
            break status;
        }
        let queue = Command::new("squeue").args(["--noheader", "--jobs", job]).output();
        let queue = queue.context("cannot run squeue")?;
        if queue.status.success() && queue.stdout.iter().any(|byte| !byte.is_ascii_whitespace()) {
            looks_left = LAST_LOOKS;
        } else if looks_left == 0 {
            bail!(
                "job {job} ended without a result (was it cancelled?); see {}",
                file("err").display()
            );
        }
        looks_left -= 1;
        thread::sleep(LOOK);
    };
    // Both were escaped when they were written.
    std::io::stderr().write_all(&fs::read(file("err")).unwrap_or_default())?;
    std::io::stdout().write_all(&fs::read(file("out")).unwrap_or_default())?;
    let status: u8 = status.trim().parse().context("the status of the job that merges")?;
    ExitCode::of_status(status).with_context(|| format!("job {job} ended with status {status}"))
}
