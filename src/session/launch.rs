//! What is run, and how it is started.

use super::companions::{Beside, Companions};
use super::error::RunError;
use super::fork_chain::Descent;
use super::input::StandardInput;
use super::{environment, inspect, runtime};
use recorder_ring::layout::{RECORDER_VARIABLE, SUITE_VARIABLE};
use recorder_ring::{Ring, addresses};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use trace_format::Meta;

/// For how long nothing may happen along a plan, unless something else is said.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// What traces that are recorded say of who wrote them.
pub(crate) const PRODUCER: &str = concat!("witness ", env!("CARGO_PKG_VERSION"));

/// What to run, and where.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program; looked up in `PATH` if it is a bare name.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What the program finds as its own name, if that is not its path: then it has loaded the runtime, and is not
    /// looked at.
    pub arg0: Option<OsString>,
    /// Where it runs, if that is not where this process does. Of a program that was recorded before, so that it is
    /// looked up as it was then.
    pub directory: Option<PathBuf>,
    /// Its environment; that of this process if there is none.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// The variables of it whose values a trace keeps, beside those that it keeps anyway.
    pub keep_env: Vec<String>,
    /// Whether what it prints is shown.
    pub output: bool,
    /// Whether the kernel is asked to place everything where it was in the recorded run.
    pub same_addresses: bool,
    /// Along a plan, for how long nothing may happen before the run is given up.
    pub patience: Duration,
    /// The build id that the program has to have; empty if any will do.
    pub build_id: Vec<u8>,
    /// From where each run reads its input.
    pub input: StandardInput,
    /// Which process of the program follows the plan, if it is one that was forked.
    pub descent: Option<Descent>,
    /// What the user wants to run before and beside it.
    pub companions: Companions,
}

/// A program that can be started any number of times.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    launch: Launch,
    /// As seen from the directory.
    program: PathBuf,
    /// Where the runtime is.
    folder: PathBuf,
}

/// A process of a program, and what runs beside it.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) process: Child,
    pub(crate) beside: Option<Beside>,
}

/// Says that programs may print backtraces.
pub const BACKTRACES: &str = "WITNESS_BACKTRACES";
/// Has Rust programs print them.
const OF_BACKTRACES: [&str; 2] = ["RUST_BACKTRACE", "RUST_LIB_BACKTRACE"];

impl Launch {
    /// Of a program that runs here, with this environment, and prints.
    #[must_use]
    pub fn here(program: OsString, arguments: Vec<OsString>) -> Launch {
        Launch {
            program,
            arguments,
            arg0: None,
            directory: None,
            environment: None,
            keep_env: Vec::new(),
            output: true,
            same_addresses: true,
            patience: PATIENCE,
            build_id: Vec::new(),
            input: StandardInput::default(),
            descent: None,
            companions: Companions::default(),
        }
    }

    /// Finds the program and sees whether it can be recorded; unpacks the runtime.
    ///
    /// # Errors
    /// [`RunError::NotRecordable`], [`RunError::Unpack`], [`RunError::NoRuntime`].
    pub(crate) fn prepare(&self) -> Result<Ready, RunError> {
        let program = match &self.directory {
            Some(directory) => inspect::find_again(&self.program, directory, self.variable("PATH"))?,
            None => inspect::find(&self.program)?,
        };
        let file = self.directory.as_deref().unwrap_or(Path::new("")).join(&program);
        if !self.has_runtime() {
            inspect::check(&file)?;
        }
        inspect::check_build(&file, &self.build_id)?;
        Ok(Ready {
            launch: self.clone(),
            program,
            folder: runtime::unpack()?,
        })
    }

    /// Describes a run of it, but for how that is scheduled.
    pub(crate) fn describe(&self) -> Meta {
        let text = |text: &OsStr| text.to_string_lossy().into_owned();
        let here = || std::env::current_dir().unwrap_or_default();
        let directory = self.directory.clone().unwrap_or_else(here);
        Meta {
            producer: PRODUCER.to_owned(),
            command: [&self.program]
                .into_iter()
                .chain(&self.arguments)
                .map(|word| text(word))
                .collect(),
            directory: directory.display().to_string(),
            environment: self
                .variables()
                .iter()
                .map(|(name, value)| {
                    // What is started along the trace is not of the suite any more; but where arguments lie depends on
                    // the length of the environment.
                    let name = match text(name) {
                        name if name == SUITE_VARIABLE || name == RECORDER_VARIABLE => name.to_lowercase(),
                        name => name,
                    };
                    environment::entry(&name, &text(value), &self.keep_env)
                })
                .collect(),
            ..Meta::default()
        }
    }

    /// Whether the program need not be linked against the runtime, since it was seen with it.
    fn has_runtime(&self) -> bool {
        let was_preloaded = || {
            let libraries = self
                .variable("LD_PRELOAD")
                .filter(|_| self.directory.is_some() || self.environment.is_some());
            libraries.is_some_and(|libraries| inspect::names_runtime(&libraries))
        };
        self.arg0.is_some() || was_preloaded()
    }

    /// The program's environment.
    fn variables(&self) -> Vec<(OsString, OsString)> {
        let own = || std::env::vars_os().collect();
        self.environment.clone().unwrap_or_else(own)
    }

    /// A variable of it.
    fn variable(&self, name: &str) -> Option<OsString> {
        let Some(environment) = &self.environment else {
            return std::env::var_os(name);
        };
        let own = environment.iter().find(|(known, _)| known == name);
        own.map(|(_, value)| value.clone())
    }
}

impl Ready {
    /// Makes the place ready for a run.
    ///
    /// # Errors
    /// [`RunError::Setup`].
    pub(crate) fn make_place(&self) -> Result<(), RunError> {
        self.launch.input.rewind();
        self.launch.companions.prepare(self.launch.directory.as_deref())
    }

    /// Starts the program, which finds its rings there. What it prints goes to this file, if there is one.
    ///
    /// # Errors
    /// [`RunError::Start`]; [`RunError::Setup`], if what is to run beside it does not start.
    pub(crate) fn start(&self, ring: &Ring, to: Option<&File>) -> Result<Started, RunError> {
        let launch = &self.launch;
        let directory = launch.directory.as_deref();
        let mut command = Command::new(&self.program);
        command.args(&launch.arguments);
        if let Some(arg0) = &launch.arg0 {
            command.arg0(arg0);
        }
        if let Some(directory) = directory {
            command.current_dir(directory);
        }
        if let Some(environment) = &launch.environment {
            command.env_clear().envs(environment.iter().cloned());
        }
        // For one backtrace, an instrumented standard library of Rust's reads all debug information of the program, in some
        // hundred million events: whatever comes behind a failed assertion is lost to the limits of the run.
        if launch.variable(BACKTRACES).is_none() {
            for name in OF_BACKTRACES.into_iter().filter(|name| launch.variable(name).is_some()) {
                command.env(name, "0");
            }
        }
        let start = |source| RunError::Start {
            program: self.program.clone(),
            source,
        };
        if let Some(file) = to {
            let copy = || file.try_clone().map_err(start);
            command.stdout(copy()?).stderr(copy()?);
        } else if !launch.output {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        runtime::put_in_place(&mut command, &self.folder, ring, &launch.variables());
        if launch.same_addresses {
            addresses::keep_in_place();
        }
        let mut process = command.spawn().map_err(start)?;
        let beside = launch.companions.accompany(directory, process.id()).inspect_err(|_| {
            // It may have ended.
            let _ = process.kill();
            let _ = process.wait();
        })?;
        Ok(Started { process, beside })
    }

    /// As [`Launch::describe`].
    pub(crate) fn describe(&self) -> Meta {
        self.launch.describe()
    }

    /// Which process follows the plan, if it is not the first one.
    pub(super) fn descent(&self) -> Option<Descent> {
        self.launch.descent.clone()
    }

    /// The program's file.
    pub(crate) fn program(&self) -> PathBuf {
        self.launch
            .directory
            .as_deref()
            .unwrap_or(Path::new(""))
            .join(&self.program)
    }

    /// Where the runtime is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}
