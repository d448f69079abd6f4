//! Compiling the test programs and recording them.
//! Compiling the test programs and recording them.

use crate::replay::{Recorded, replay};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use trace_format::TraceFile;

/// A compiled program in a folder of its own.
pub struct Program {
    pub path: PathBuf,
    folder: PathBuf,
}

impl Program {
    /// Compiles `<name>.c` or `.cc` of `tests/record/programs` for ThreadSanitizer.
    pub fn instrumented(name: &str, test: &str) -> Program {
        Self::compile(name, test, &["-fsanitize=thread"])
    }

    /// Compiles it with the given flags; `test` names the folder.
    pub fn compile(name: &str, test: &str, flags: &[&str]) -> Program {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("record").join(test);
        fs::create_dir_all(&folder).expect("a folder for the program");
        let path = folder.join(name);
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/record/programs");
        let (c, cpp) = (sources.join(format!("{name}.c")), sources.join(format!("{name}.cc")));
        let (compiler, source) = if cpp.exists() { ("g++", cpp) } else { ("gcc", c) };
        let mut gcc = Command::new(compiler);
        // gcc expands short copies after it has instrumented: nobody would see them.
        gcc.args(["-g", "-O1", "-w", "-pthread", "-fno-builtin"])
            .args(flags)
            .arg(source)
            .arg("-o")
            .arg(&path);
        assert!(
            gcc.status().expect("gcc is needed").success(),
            "{name}.c does not compile"
        );
        Program { path, folder }
    }

    /// Compiles a C program as `witness cc` does, inline assembly and all.
    pub fn by_witness(name: &str, test: &str) -> Program {
        Program::by_witness_with(name, test, &["-O1"])
    }

    /// Compiles a program with `witness cc`, or `witness c++`, and the given flags.
    pub fn by_witness_with(name: &str, test: &str, flags: &[&str]) -> Program {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("record").join(test);
        fs::create_dir_all(&folder).expect("a folder for the program");
        let path = folder.join(name);
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/record/programs");
        let (c, cpp) = (sources.join(format!("{name}.c")), sources.join(format!("{name}.cc")));
        let (language, source) = if cpp.exists() { ("c++", cpp) } else { ("cc", c) };
        let mut compiler = Command::new(env!("CARGO_BIN_EXE_witness"));
        compiler
            .args([language, "-w", "-pthread"])
            .args(flags)
            .arg(source)
            .arg("-o")
            .arg(&path);
        let output = compiler
            .env("WITNESS_CC", "gcc")
            .env("WITNESS_CXX", "g++")
            .output()
            .expect("witness runs");
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{name}.c does not compile: {output:?}"
        );
        Program { path, folder }
    }

    /// Records the program, which has three threads, under so many random schedules, and asserts that all accesses are
    /// free to be reordered: what nobody recorded would pin some.
    #[track_caller]
    pub fn has_no_pins(&self, schedules: u64) {
        for seed in 1..=schedules {
            let seed = format!("--seed={seed}");
            let (mut record, file) = self.recorder(&seed, &["--policy=random", &seed], &[]);
            let output = record.output().expect("witness runs");
            assert_eq!(output.status.code(), Some(0), "{seed}: {output:?}");
            let trace = witness::trace::Trace::open(&file).expect("a trace");
            let pinned: Vec<_> = trace.events().filter(|&event| trace.pin(event).is_some()).collect();
            let path = self.path.display();
            let (count, first) = (pinned.len(), pinned.first());
            assert!(
                trace.threads() == 3 && count == 0,
                "{path}, {seed}: {count} pinned, the first {first:?}"
            );
        }
    }

    /// `witness record` of the program, not started yet, and the trace it will write.
    pub fn recorder(&self, name: &str, flags: &[&str], arguments: &[&str]) -> (Command, PathBuf) {
        let trace = self.folder.join(format!("{name}.bin"));
        let _ = fs::remove_file(&trace);
        let mut witness = Command::new(env!("CARGO_BIN_EXE_witness"));
        witness
            .arg("record")
            .arg("-o")
            .arg(&trace)
            .args(flags)
            .arg("--")
            .arg(&self.path)
            .args(arguments);
        // The program shall find this as it was, whatever words are in the name of a folder.
        for name in ["LD_LIBRARY_PATH", "OWN_LIBRARY_PATH"] {
            witness.env(name, "/nowhere");
        }
        (witness, trace)
    }

    /// Records the program; what it printed, and the trace, which must be an execution.
    pub fn record(&self, name: &str, flags: &[&str], arguments: &[&str]) -> (Output, Recorded) {
        let (mut witness, trace) = self.recorder(name, flags, arguments);
        let output = witness.output().expect("witness runs");
        let file = TraceFile::open(&trace).unwrap_or_else(|error| panic!("{error}\n{output:?}"));
        (output, replay(&file))
    }

    /// Records the program under `fifo` and a few random schedules; it must find nothing wrong.
    pub fn record_often(&self) -> Vec<Recorded> {
        let seeds = (1..=6).map(|seed| format!("--seed={seed}"));
        let mut runs: Vec<Vec<String>> = seeds.map(|seed| vec!["--policy=random".to_owned(), seed]).collect();
        runs.push(vec!["--policy=fifo".to_owned()]);
        let record = |(number, flags): (usize, &Vec<String>)| {
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            let (output, recorded) = self.record(&number.to_string(), &flags, &[]);
            assert_eq!(output.status.code(), Some(0), "{flags:?}: {output:?}");
            recorded
        };
        runs.iter().enumerate().map(record).collect()
    }
}
