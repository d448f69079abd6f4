//! Reads `tests/programs/NAME.expect`; the format is described in `tests/programs/README.md`.

use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What must be said about a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Witnessed,
    /// Witnessed, and left out of reports because the program says so.
    Hidden,
    Refuted,
    /// Excluded by what this run read alone.
    NotInTrace,
    /// One of these two.
    Excluded,
    /// Not decided.
    Unknown,
    /// Not even a candidate.
    Absent,
    /// Whatever the recorded schedule makes of it.
    Possible,
}

/// One line of the expectation.
#[derive(Debug)]
pub struct Statement {
    pub verdict: Verdict,
    /// Holds for the recording under `fifo` only.
    pub fifo_only: bool,
    /// Source lines, smaller first.
    pub lines: (u64, u64),
    pub because: Option<String>,
    /// Source lines that the explanation must name.
    pub naming: Vec<u64>,
    /// The statement as written, for messages.
    pub text: String,
}

/// One case: a program, how to build and run it, what to expect.
#[derive(Debug)]
pub struct Expectation {
    pub name: String,
    pub source: PathBuf,
    pub cflags: Vec<String>,
    /// A package that it needs and that is not installed.
    pub missing: Option<String>,
    pub seeds: Vec<u64>,
    pub exit: i32,
    pub statements: Vec<Statement>,
    /// The source lines of each deadlock that is predicted from every recording.
    pub deadlocks: Vec<Vec<u64>>,
}

impl Expectation {
    /// Reads one expectation and the markers of the source that it speaks of.
    pub fn read(path: &Path) -> Result<Expectation> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let name = path.file_stem().context("a name")?.to_string_lossy().into_owned();
        let folder = path.parent().context("a folder")?;
        parse(&name, folder, &text).with_context(|| path.display().to_string())
    }

    /// Adds what compiler and linker need to know of libraries.
    fn need(&mut self, packages: &[&str]) {
        let known = Command::new("pkg-config")
            .args(["--cflags", "--libs"])
            .args(packages)
            .output();
        match known {
            Ok(known) if known.status.success() => {
                let flags = String::from_utf8_lossy(&known.stdout).into_owned();
                self.cflags.extend(flags.split_whitespace().map(str::to_owned));
            }
            _ => self.missing = Some(packages.join(" ")),
        }
    }

    /// Whether the program can be built here; says so if not.
    pub fn can_be_built(&self) -> bool {
        if let Some(packages) = &self.missing {
            eprintln!(
                "SKIPPED: {}: {packages} is not installed; scripts/setup installs it",
                self.name
            );
        }
        self.missing.is_none()
    }

    /// The file name of the source, as reports show it.
    pub fn file_name(&self) -> String {
        self.source
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }
}

fn parse(name: &str, folder: &Path, text: &str) -> Result<Expectation> {
    let mut expectation = Expectation {
        name: name.to_owned(),
        source: [format!("{name}.cc"), format!("{name}.c")]
            .map(|file| folder.join(file))
            .into_iter()
            .find(|path| path.exists())
            .unwrap_or_default(),
        cflags: Vec::new(),
        missing: None,
        seeds: vec![1, 2, 3],
        exit: 0,
        statements: Vec::new(),
        deadlocks: Vec::new(),
    };
    let mut statements = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            ["source", file] => expectation.source = folder.join(file),
            ["cflags", flags @ ..] => expectation.cflags = flags.iter().map(|&f| f.to_owned()).collect(),
            ["packages", packages @ ..] => expectation.need(packages),
            ["seeds", "none"] => expectation.seeds.clear(),
            ["seeds", seeds @ ..] => expectation.seeds = seeds.iter().map(|s| s.parse()).collect::<Result<_, _>>()?,
            ["exit", status] => expectation.exit = status.parse()?,
            _ => statements.push(words),
        }
    }
    let source = fs::read_to_string(&expectation.source).with_context(|| expectation.source.display().to_string())?;
    let markers = markers(&source)?;
    for words in statements {
        if let ["deadlock", names @ ..] = &words[..] {
            let line = |name: &&str| {
                markers
                    .get(*name)
                    .copied()
                    .with_context(|| format!("no line is marked {name}"))
            };
            let lines = names.iter().map(line).collect::<Result<_>>()?;
            expectation.deadlocks.push(lines);
            continue;
        }
        let text = words.join(" ");
        expectation
            .statements
            .push(statement(&words, &markers).with_context(|| text)?);
    }
    Ok(expectation)
}

/// The lines of the comments `/* @name */`.
fn markers(source: &str) -> Result<BTreeMap<String, u64>> {
    let mut markers = BTreeMap::new();
    for (number, line) in (1..).zip(source.lines()) {
        for (_, rest) in line
            .match_indices("/* @")
            .map(|(at, opening)| (at, &line[at + opening.len() - 1..]))
        {
            let name = rest.split_whitespace().next().unwrap_or_default();
            let former = markers.insert(name.to_owned(), number);
            ensure!(former.is_none(), "{name} marks two lines, {former:?} and {number}");
        }
    }
    Ok(markers)
}

fn statement(words: &[&str], markers: &BTreeMap<String, u64>) -> Result<Statement> {
    let line = |name: &str| {
        markers
            .get(name)
            .copied()
            .with_context(|| format!("no line is marked {name}"))
    };
    let (verdict, rest) = match words {
        ["witnessed", rest @ ..] => (Verdict::Witnessed, rest),
        ["hidden", rest @ ..] => (Verdict::Hidden, rest),
        ["refuted", rest @ ..] => (Verdict::Refuted, rest),
        ["not-in-trace", rest @ ..] => (Verdict::NotInTrace, rest),
        ["excluded", rest @ ..] => (Verdict::Excluded, rest),
        ["unknown", rest @ ..] => (Verdict::Unknown, rest),
        ["absent", rest @ ..] => (Verdict::Absent, rest),
        ["possible", rest @ ..] => (Verdict::Possible, rest),
        _ => bail!("not a statement"),
    };
    let (fifo_only, rest) = match rest {
        ["in", "fifo", rest @ ..] => (true, rest),
        _ => (false, rest),
    };
    let [a, b, rest @ ..] = rest else {
        bail!("two positions are wanted")
    };
    let (a, b) = (line(a)?, line(b)?);
    let at = rest.iter().position(|&word| word == "naming").unwrap_or(rest.len());
    let (because, naming) = rest.split_at(at);
    let because = match because {
        [] => None,
        ["because", reason @ ..] if !reason.is_empty() => Some(reason.join(" ")),
        _ => bail!("`because REASON` or `naming POSITION` is wanted after the positions"),
    };
    let naming: Vec<u64> = naming.iter().skip(1).map(|name| line(name)).collect::<Result<_>>()?;
    ensure!(
        !matches!(
            verdict,
            Verdict::Witnessed | Verdict::Hidden | Verdict::Absent | Verdict::Possible
        ) || (because.is_none() && naming.is_empty()),
        "only what is not witnessed has a reason"
    );
    Ok(Statement {
        verdict,
        fifo_only,
        lines: (a.min(b), a.max(b)),
        because,
        naming,
        text: words.join(" "),
    })
}

/// A mistake in an expectation must not pass as an expectation that holds.
pub fn mistakes_are_noticed() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let read = |text: &str| parse("hidden_race", &folder, text);
    read("witnessed @write @read # why\nrefuted in fifo @write @read because lock history naming @read\nexit 3\n")?;
    for wrong in [
        "witnesed @write @read",
        "witnessed @write",
        "witnessed @write @nowhere",
        "witnessed @write @read because lockset",
        "refuted @write @read because",
        "refuted @write @read lockset",
        "refuted in lifo @write @read",
        "seeds one",
        "source missing.c",
    ] {
        ensure!(read(wrong).is_err(), "{wrong:?} was taken for an expectation");
    }
    ensure!(
        markers("x; /* @a */\ny; /* @a */\n").is_err(),
        "a marker on two lines was accepted"
    );
    Ok(())
}
