//! A program, compiled and recorded in a folder of its own.

use crate::command::{Outcome, run, witness};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How whole programs are recorded that something is to be predicted of: one of these runs may show what another does
/// not.
pub const POLICIES: [&[&str]; 4] = [
    &["--policy", "fifo"],
    &["--policy", "random", "--seed", "1"],
    &["--policy", "random", "--seed", "2"],
    &["--policy", "pos", "--seed", "3"],
];

pub struct Program {
    pub folder: PathBuf,
    source: PathBuf,
    file: PathBuf,
}

impl Program {
    /// Compiles `source` in an empty folder; `name` is the test's.
    pub fn compile(name: &str, source: &Path, flags: &[String]) -> Program {
        let cxx = source.extension().is_some_and(|e| e == "cc" || e == "cpp");
        let mut gcc = Command::new(if cxx { "g++" } else { "gcc" });
        gcc.args(["-g", "-O0", "-fsanitize=thread"]);
        Program::compile_by(gcc, name, source, flags)
    }

    /// The same as `witness cc` does it: what gcc leaves out is recorded as well.
    pub fn by_witness(name: &str, source: &Path, flags: &[String]) -> Program {
        let mut cc = witness();
        cc.arg("cc").env("WITNESS_CC", "gcc");
        Program::compile_by(cc, name, source, flags)
    }

    fn compile_by(mut compiler: Command, name: &str, source: &Path, flags: &[String]) -> Program {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("live").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("program");
        compiler.arg("-pthread").args(flags).arg(source).arg("-o").arg(&file);
        run(&folder, &mut compiler).unwrap().expect(&[0]).unwrap();
        Program {
            folder,
            source: source.to_owned(),
            file,
        }
    }

    /// One of `tests/live/programs`.
    pub fn of(name: &str, source: &str) -> Program {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/programs");
        Program::compile(name, &programs.join(source), &[])
    }

    /// One of the programs of these tests, `tests/TESTS/programs/NAME.c`, for one of them.
    pub fn of_tests(tests: &str, test: &str, name: &str) -> Program {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(tests);
        let source = folder.join("programs").join(format!("{name}.c"));
        Program::compile(&format!("{tests}-{test}-{name}"), &source, &[])
    }

    /// `witness` with these arguments.
    pub fn witness(&self, arguments: &[&str]) -> Outcome {
        run(&self.folder, witness().args(arguments)).unwrap()
    }

    /// The results of an analysis of the recorded run, and its exit status.
    pub fn analyzed(&self) -> (serde_json::Value, i32) {
        let outcome = self.witness(&["analyze", "trace.bin", "--json"]);
        (serde_json::from_str(&outcome.stdout).unwrap(), outcome.status)
    }

    /// The checker accepts the schedule of a witness.
    pub fn check(&self, witness: usize) {
        let schedule = format!("trace.bin.witnesses/{witness}.sched");
        let accepted = self.witness(&["check", "trace.bin", &schedule]);
        assert_eq!(accepted.status, 0, "{}", accepted.stdout);
    }

    /// Records a run into `trace.bin`.
    pub fn record(&self, options: &[&str], arguments: &[&str]) {
        let mut command = witness();
        command.args(["record", "-o", "trace.bin"]).args(options).arg("--");
        command.arg(&self.file).args(arguments);
        run(&self.folder, &mut command).unwrap();
        // Results of an earlier recording would be those of another trace.
        let _ = fs::remove_dir_all(self.folder.join("trace.bin.witnesses"));
    }

    /// `witness replay trace.bin --live`, with further options.
    pub fn live(&self, options: &[&str]) -> Outcome {
        let mut command = witness();
        command.args(["replay", "trace.bin", "--live"]).args(options);
        run(&self.folder, &mut command).unwrap()
    }

    /// As [`live`](Self::live), with other arguments for the program.
    pub fn live_with(&self, options: &[&str], arguments: &[&str]) -> Outcome {
        let mut command = witness();
        command.args(["replay", "trace.bin", "--live"]).args(options).arg("--");
        command.arg(&self.file).args(arguments);
        run(&self.folder, &mut command).unwrap()
    }

    /// `file.c:12` of the line that is marked so.
    pub fn line(&self, mark: &str) -> String {
        let text = fs::read_to_string(&self.source).unwrap();
        let marked = format!("@{mark} ");
        let at = text.lines().position(|line| line.contains(&marked)).unwrap();
        format!("{}:{}", self.source.file_name().unwrap().to_string_lossy(), at + 1)
    }

    /// The program's file.
    pub fn file(&self) -> &Path {
        &self.file
    }
}

/// `file.c:12` of an event in a results object.
pub fn place(event: &serde_json::Value) -> String {
    let file = Path::new(event["file"].as_str().unwrap()).file_name().unwrap();
    format!("{}:{}", file.to_string_lossy(), event["line"])
}

/// The line of a report that starts so, without what it starts with.
pub fn field<'t>(report: &'t str, name: &str) -> &'t str {
    report
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(name))
        .unwrap_or_else(|| panic!("no `{name}` in\n{report}"))
        .trim()
}
