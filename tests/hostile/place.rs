//! A folder for one attack, with a program that has a race.

use crate::command::{Outcome, command, run};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Two threads that write one variable.
const PROGRAM: &str = "#include <pthread.h>\nint shared;\n\
    static void *work(void *unused) {\n    shared = 1;\n    return unused;\n}\n\
    int main(void) {\n    pthread_t other;\n    pthread_create(&other, 0, work, 0);\n    shared = 2;\n\
    \x20   return pthread_join(other, 0);\n}\n";

/// An empty folder, in which nothing is known of earlier recordings.
pub struct Place(PathBuf);

impl Place {
    pub fn new(attack: &str) -> Place {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile").join(attack);
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("the folder of an earlier run");
        }
        fs::create_dir_all(&folder).expect("a folder");
        Place(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// `witness` in this folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(&self.0);
        command.env("XDG_STATE_HOME", self.path("state")).args(arguments);
        command
    }

    pub fn witness(&self, arguments: &[&str]) -> Outcome {
        run(&mut self.command(arguments))
    }

    /// Compiles the program with the race, as `racy`.
    pub fn compile(&self, flags: &[&str]) {
        fs::write(self.path("racy.c"), PROGRAM).expect("a source");
        self.gcc(&[&["-fsanitize=thread", "racy.c", "-o", "racy"], flags].concat());
    }

    pub fn gcc(&self, arguments: &[&str]) {
        let mut gcc = Command::new("gcc");
        gcc.current_dir(&self.0).args(["-g", "-pthread"]).args(arguments);
        assert!(gcc.status().expect("gcc is needed").success(), "{arguments:?}");
    }

    /// Records it, as `trace.bin`.
    pub fn record(&self) {
        self.compile(&[]);
        self.witness(&["record", "-o", "trace.bin", "--", "./racy"]).status(0);
    }

    /// A file that must not change, and links to it under these names.
    pub fn precious(&self, links: &[&str]) -> Precious {
        let file = self.path("precious");
        fs::write(&file, Precious::TEXT).expect("a file");
        for link in links {
            let link = self.path(link);
            fs::create_dir_all(link.parent().expect("a folder")).expect("a folder");
            symlink(&file, link).expect("a link");
        }
        Precious(file)
    }
}

pub struct Precious(PathBuf);

impl Precious {
    const TEXT: &'static str = "what must not be lost\n";

    #[track_caller]
    pub fn is_whole(&self) {
        assert_eq!(fs::read_to_string(&self.0).expect("the file"), Precious::TEXT);
    }
}
