//! The programs: C files whose first comment says what to expect of them.
//!
//! `Verdict:`, `Kind:` and `Shows as:` end with a full stop; `Threads: 3, 10.` makes one program for each number,
//! compiled with `-DTHREADS=`.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program, compiled for the recorder.
pub struct Program {
    /// The name of its file, and its number of threads if there are several.
    pub name: String,
    /// What its comment says.
    pub comment: String,
    /// The executable.
    pub path: PathBuf,
}

impl Program {
    /// What its comment says after this word and a colon.
    pub fn says(&self, word: &str) -> Result<&str> {
        said(&self.comment, word).with_context(|| format!("{} does not say: {word}", self.name))
    }
}

fn said<'c>(comment: &'c str, word: &str) -> Option<&'c str> {
    let (_, after) = comment.split_once(&format!("{word}: "))?;
    Some(after.split_once('.')?.0)
}

/// Compiles the programs of a folder beside this file.
pub fn compile(set: &str, folder: &Path, wants: impl Fn(&str) -> bool) -> Result<Vec<Program>> {
    compile_with(set, folder, wants, &[])
}

/// The same, with these options for the compiler, too.
pub fn compile_with(
    set: &str,
    folder: &Path,
    wants: impl Fn(&str) -> bool,
    defines: &[String],
) -> Result<Vec<Program>> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/explore").join(set);
    let mut paths: Vec<PathBuf> = fs::read_dir(&sources)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    paths.sort();
    let mut programs = Vec::new();
    for source in paths {
        let text = fs::read_to_string(&source)?;
        let comment = text.split_once("*/").map_or("", |(comment, _)| comment);
        let comment = comment.replace("\n *", "");
        let stem = source
            .file_stem()
            .context("a C file has a name")?
            .to_string_lossy()
            .into_owned();
        let threads = said(&comment, "Threads").unwrap_or_default();
        let variants: Vec<&str> = threads.split(", ").collect();
        for threads in variants {
            let name = match threads {
                "" => stem.clone(),
                _ => format!("{stem}, {threads}"),
            };
            if !wants(&name) {
                continue;
            }
            let path = folder.join(name.replace(", ", "_"));
            let mut gcc = Command::new("gcc");
            gcc.args(["-g", "-O0", "-fsanitize=thread", "-pthread", "-o"])
                .arg(&path)
                .arg(&source)
                .args(defines);
            if !threads.is_empty() {
                gcc.arg(format!("-DTHREADS={threads}"));
            }
            ensure!(
                gcc.status().context("cannot start gcc")?.success(),
                "gcc fails on {}",
                source.display()
            );
            let comment = comment.clone();
            programs.push(Program { name, comment, path });
        }
    }
    ensure!(!programs.is_empty(), "no such program in {}", sources.display());
    Ok(programs)
}
