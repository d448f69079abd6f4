//! Every report ends with the right verdict, and the tools agree once each warning is decided.

use crate::command::witness;
use crate::recorded::{folder, programs, record, reports};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use witness::confirm::{ConfirmResults, WarningResult};

/// All reports, by the program that they are of.
fn all() -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in fs::read_dir(reports()).expect("tests/confirm/reports") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        let program = name.split('.').next().expect("a name").to_owned();
        found.entry(program).or_default().push(name);
    }
    found.values_mut().for_each(|names| names.sort());
    found
}

/// What becomes of the warnings of some reports.
fn confirm(folder: &Path, trace: &str, names: &[String]) -> ConfirmResults {
    let paths: Vec<String> = names
        .iter()
        .map(|name| reports().join(name).display().to_string())
        .collect();
    let mut arguments = vec!["confirm", "--json", trace];
    arguments.extend(paths.iter().map(String::as_str));
    let said = witness(folder, &arguments);
    let results: ConfirmResults =
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {}", said.stderr));
    let related = results
        .warnings
        .iter()
        .filter(|warning| warning.related_race.is_some())
        .count();
    let open = results.summary.unknown + results.summary.not_in_trace;
    let expected = match (results.summary.witnessed + related, open) {
        (1.., _) => 66,
        (0, 1..) => 3,
        (0, 0) => 0,
    };
    assert_eq!(said.status, expected);
    results
}

/// `write holds_b:28 | write holds_a:19`.
fn sides(warning: &WarningResult) -> String {
    let side = |side: &witness::confirm::SideResult| {
        let function = side.function.as_deref().unwrap_or("?");
        let function = function.split('(').next().unwrap_or(function);
        let line = side.line.map_or("?".to_owned(), |line| line.to_string());
        format!(
            "{} {function}:{line} {}",
            side.op.as_deref().unwrap_or("access"),
            side.how.as_deref().unwrap_or("-")
        )
    };
    warning.sides.iter().map(side).collect::<Vec<_>>().join(" | ")
}

/// The verdict that a program's expectation gives to a pair of lines in a recording under `fifo`, if it gives one.
fn expected(program: &str) -> BTreeMap<(u32, u32), &'static str> {
    let expectation = fs::read_to_string(programs().join(format!("{program}.expect"))).expect("an expectation");
    let source = expectation.lines().find_map(|line| line.strip_prefix("source "));
    let source = source.map_or_else(|| format!("{program}.c"), str::to_owned);
    let source = fs::read_to_string(programs().join(&source))
        .or_else(|_| fs::read_to_string(programs().join(format!("{program}.cc"))))
        .expect("a source");
    let line = |mark: &str| {
        let marked = |line: &str| {
            line.split(|c: char| !(c.is_alphanumeric() || "@_".contains(c)))
                .any(|word| word == mark)
        };
        (1..)
            .zip(source.lines())
            .find(|(_, line)| marked(line))
            .map(|(number, _)| number)
    };
    let mut verdicts = BTreeMap::new();
    for statement in expectation.lines() {
        let words: Vec<&str> = statement
            .split_whitespace()
            .filter(|word| !["in", "fifo"].contains(word))
            .collect();
        let [verdict, a, b, ..] = words[..] else { continue };
        let known = ["witnessed", "refuted", "not-in-trace", "unknown"];
        let Some(&verdict) = known.iter().find(|known| **known == verdict) else {
            continue;
        };
        let (Some(a), Some(b)) = (line(a), line(b)) else {
            panic!("{program}: {statement}");
        };
        verdicts.insert((a.min(b), a.max(b)), verdict);
    }
    verdicts
}

#[test]
fn every_report_ends_with_the_right_verdict_and_the_tools_agree() {
    let mut told = String::new();
    let (mut checked, mut compared) = (0, 0);
    // How often each tool was held against another one.
    let mut held: BTreeMap<String, usize> = BTreeMap::new();
    for (program, names) in all() {
        let folder = folder(&format!("real-{program}"));
        let trace = record(&folder, &program);
        let results = confirm(&folder, &trace, &names);
        let expected = expected(&program);
        // By lines and kinds of access, what became of each report's warnings.
        type Verdicts<'r> = BTreeMap<&'r str, BTreeSet<&'r str>>;
        let mut verdicts: BTreeMap<((u32, u32), String), Verdicts<'_>> = BTreeMap::new();
        for warning in &results.warnings {
            let name = Path::new(&warning.report)
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            let reason = warning
                .reason
                .as_ref()
                .map_or_else(String::new, |reason| format!(" ({reason})"));
            let related = if warning.related_race.is_some() {
                ", a related race"
            } else {
                ""
            };
            told += &format!(
                "{name}:{}: {}{reason}{related}: {}\n",
                warning.line,
                warning.verdict,
                sides(warning)
            );
            let [Some(a), Some(b)] = [0, 1].map(|side| warning.sides.get(side)?.line) else {
                continue;
            };
            let mut both: Vec<_> = warning.sides.iter().map(|side| (side.line, side.op.clone())).collect();
            both.sort();
            let by_report = verdicts.entry(((a.min(b), a.max(b)), format!("{both:?}"))).or_default();
            by_report.entry(&warning.report).or_default().insert(&warning.verdict);
        }
        for ((lines, _), by_report) in &verdicts {
            // Where the same lines are reached through different calls, the verdicts may differ, but not by tool.
            let said: BTreeSet<&BTreeSet<&str>> = by_report.values().collect();
            assert_eq!(
                said.len(),
                1,
                "{program}: the tools disagree about {lines:?}: {by_report:?}"
            );
            if by_report.len() > 1 {
                compared += 1;
                for report in by_report.keys() {
                    *held.entry(tool(report)).or_default() += 1;
                }
            }
        }
        for warning in results
            .warnings
            .iter()
            .filter(|warning| warning.tool == "DRD" && warning.verdict != "unknown")
        {
            // DRD names one side: others' warnings of that access must have the same verdict, or one of theirs if they
            // differ.
            let (line, op) = (warning.sides[0].line, warning.sides[0].op.clone());
            let same = |other: &&WarningResult| {
                other.tool != "DRD"
                    && other.verdict != "unknown"
                    && other.sides.iter().any(|side| side.line == line && side.op == op)
            };
            let said: BTreeSet<&str> = results
                .warnings
                .iter()
                .filter(same)
                .map(|other| other.verdict.as_str())
                .collect();
            if !said.is_empty() {
                let agrees = said.contains(warning.verdict.as_str());
                assert!(agrees, "{program}: DRD and others disagree about line {line:?}");
                compared += 1;
                *held.entry(tool(&warning.report)).or_default() += 1;
            }
        }
        for (lines, verdict) in expected {
            let here = verdicts.iter().filter(|((at, _), _)| *at == lines);
            let said: BTreeSet<&str> = here
                .flat_map(|(_, by_report)| by_report.values().flatten().copied())
                .collect();
            // Of several instructions at two lines, one is witnessed, or all are refuted.
            let right = said.is_empty() || said.contains(verdict) && (verdict == "witnessed" || said.len() == 1);
            assert!(right, "{program}: {lines:?} are {said:?}, and not {verdict}");
            checked += usize::from(!said.is_empty());
        }
        for other in &results.others {
            let name = Path::new(&other.report).file_name().expect("a name").to_string_lossy();
            told += &format!("{name}:{}: {}\n", other.line, other.kind);
        }
    }
    assert!(
        checked > 20,
        "only {checked} pairs of lines that an expectation names were warned of"
    );
    assert!(
        compared > 40,
        "only {compared} pairs of lines are in several tools' reports"
    );
    for tool in ["gcc.tsan", "clang.tsan", "helgrind", "helgrind.xml", "drd", "drd.xml"] {
        let times = held.get(tool).copied().unwrap_or_default();
        assert!(
            times > 10,
            "{tool} was compared with another tool only {times} times: {held:?}"
        );
    }
    insta::assert_snapshot!(told);
}

/// `gcc.tsan` of `…/wrong_lock.gcc.tsan`.
fn tool(report: &str) -> String {
    let name = Path::new(report).file_name().expect("a name").to_string_lossy();
    name.split_once('.')
        .map_or_else(|| name.to_string(), |(_, tool)| tool.to_owned())
}

#[test]
fn a_witness_is_replayed_by_its_number_and_its_schedule_is_accepted() {
    let folder = folder("replayed");
    let trace = record(&folder, "wrong_lock");
    let report = reports().join("wrong_lock.helgrind").display().to_string();
    let text = witness(&folder, &["confirm", &trace, &report]).expect(66);
    assert!(
        text.contains("SUMMARY: witness: 1 warning: 1 witnessed, 0 refuted, 0 unknown"),
        "{text}"
    );
    let replay = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("replay: witness "))
        .expect("a command");
    let words: Vec<&str> = replay.split(' ').collect();
    let replayed = witness(&folder, &words).expect(66);
    assert!(
        replayed.contains("wrong_lock.c:28") && replayed.contains("checked:"),
        "{replayed}"
    );
    let schedule = format!("{trace}.confirmed/1.sched");
    witness(&folder, &["check", &trace, &schedule]).expect(0);
    // The results of a whole analysis are elsewhere, and are not touched.
    assert!(!folder.join(format!("{trace}.witnesses")).exists());
}

#[test]
fn a_refutation_is_told_with_source_lines() {
    let folder = folder("refuted");
    let trace = record(&folder, "bank_account");
    let report = reports().join("bank_account.clang.tsan").display().to_string();
    // The related race is one.
    let text = witness(&folder, &["confirm", &trace, &report]).expect(66);
    assert!(text.contains("NOT IN THIS TRACE: "), "{text}");
    let reason = "bank_account.c:26, which only the write of thread 1 at ";
    assert!(
        text.contains("core: thread 2 can only reach ") && text.contains(reason),
        "{text}"
    );
}

#[test]
fn our_own_results_are_read_as_warnings() {
    let folder = folder("own");
    let trace = record(&folder, "figure2");
    let results = witness(&folder, &["analyze", &trace, "--json"]).expect(66);
    fs::write(folder.join("results.json"), &results).expect("the results are written");
    let results: Value = serde_json::from_str(&results).expect("results");
    let confirmed = witness(&folder, &["confirm", &trace, "results.json", "--json"]).expect(66);
    let confirmed: ConfirmResults = serde_json::from_str(&confirmed).expect("results");
    assert_eq!(
        Value::from(confirmed.summary.witnessed),
        results["summary"]["witnessed"]
    );
    assert!(
        confirmed
            .warnings
            .iter()
            .all(|warning| warning.sides[0].how.as_deref() == Some("instruction"))
    );
}

#[test]
fn lists_are_read_from_standard_input_and_lines_that_moved_are_guesses() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let folder = folder("lists");
    let trace = record(&folder, "wrong_lock");
    let ask = |list: &str| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_witness"))
            .current_dir(&folder)
            .args(["confirm", &trace, "-", "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("witness starts");
        child
            .stdin
            .take()
            .expect("a pipe")
            .write_all(list.as_bytes())
            .expect("the list is taken");
        let output = child.wait_with_output().expect("witness ends");
        serde_json::from_slice::<ConfirmResults>(&output.stdout).expect("results")
    };
    let results = ask(
        "wrong_lock.c:19 wrong_lock.c:28\nwrong_lock.c:22 wrong_lock.c:28\nwrong_lock.c:400 wrong_lock.c:28\nother.c:19 wrong_lock.c:28\n",
    );
    let told: Vec<(&str, bool)> = results.warnings.iter().map(|w| (w.verdict.as_str(), w.guess)).collect();
    assert_eq!(
        told,
        [
            ("witnessed", false),
            ("witnessed", true),
            ("unknown", false),
            ("unknown", false)
        ]
    );
    assert!(
        results.warnings[1].notes[0].starts_with("a guess: "),
        "{:?}",
        results.warnings[1].notes
    );
    assert!(
        results.warnings[2].explanation[0].contains("wrong_lock.c:400"),
        "{:?}",
        results.warnings[2]
    );
    assert_eq!(results.warnings[2].reason.as_deref(), Some("not in this trace"));
}

#[test]
fn what_cannot_be_read_ends_in_status_2_with_file_line_and_remedy() {
    let folder = folder("errors");
    let trace = record(&folder, "single_thread");
    fs::write(folder.join("noise.txt"), "this is no report\n").expect("a file");
    fs::write(folder.join("cut.xml"), "<?xml version=\"1.0\"?>\n<valgrindoutput>\n").expect("a file");
    let refused = |arguments: &[&str], words: &str| {
        let said = witness(&folder, arguments);
        assert_eq!(said.status, 2, "{}", said.stdout);
        assert!(said.stderr.contains(words), "{}", said.stderr);
    };
    refused(
        &["confirm", &trace, "noise.txt"],
        "noise.txt has no report that is known",
    );
    refused(&["confirm", &trace, "cut.xml"], "cut.xml:2: not well-formed XML");
    refused(
        &["confirm", &trace, "noise.txt", "--format", "pairs"],
        "noise.txt:1: not two positions",
    );
    refused(&["confirm", &trace, "none.txt"], "cannot read none.txt");
    refused(&["confirm", &trace], "no report is given");
    refused(&["confirm", "--run", "noise.txt"], "PROGRAM");
}

#[test]
fn a_race_beside_a_refuted_warning_is_told() {
    let folder = folder("beside");
    let trace = record(&folder, "bank_account");
    // Both writes cannot meet, since one thread's read before its write saw the other's last; that read races.
    for (report, excluded) in [
        ("bank_account.clang.tsan", 1),
        ("bank_account.helgrind", 1),
        ("bank_account.drd.xml", 1),
    ] {
        let path = reports().join(report).display().to_string();
        let said = witness(
            &folder,
            &["confirm", &trace, &path, "--json", "--report", "text=told.txt"],
        );
        assert_eq!(said.status, 66, "{report}: {}", said.stderr);
        let results: ConfirmResults = serde_json::from_str(&said.stdout).expect("results");
        assert_eq!(results.summary.not_in_trace, excluded, "{report}");
        let warning = results
            .warnings
            .iter()
            .find(|warning| warning.verdict == "not-in-trace")
            .expect("one");
        let related = warning.related_race.as_ref().expect("a related race");
        assert!(
            related.places.iter().any(|place| place.ends_with("bank_account.c:26")),
            "{report}: {related:?}"
        );
        let told = fs::read_to_string(folder.join("told.txt")).expect("the text");
        assert!(told.contains("But these functions race on that memory"), "{told}");
        let counted = told.contains("; also 1 related race witnessed");
        assert_eq!(counted, results.summary.witnessed == 0, "{report}: {told}");
        let schedule = related.schedule.clone().expect("a file");
        witness(&folder, &["check", &trace, &schedule]).expect(0);
    }
    // Suppressed, it is nobody's business.
    fs::write(folder.join("supp"), "race:charge_fee\n").expect("a file");
    let path = reports().join("bank_account.clang.tsan").display().to_string();
    witness(&folder, &["confirm", &trace, &path, "--suppressions", "supp"]).expect(0);
    // Where nothing races, there is no related race.
    let trace = record(&folder, "signal_orders");
    let path = reports().join("signal_orders.gcc.tsan").display().to_string();
    let told = witness(&folder, &["confirm", &trace, &path]).expect(3);
    assert!(
        told.contains("1 not in this trace") && !told.contains("related race"),
        "{told}"
    );
}

#[test]
fn what_was_warned_of_often_is_decided_once() {
    let folder = folder("often");
    let trace = record(&folder, "wrong_lock");
    fs::write(
        folder.join("pairs"),
        "wrong_lock.c:19 wrong_lock.c:28\n".repeat(100_000),
    )
    .expect("a list");
    let started = std::time::Instant::now();
    let told = witness(&folder, &["confirm", &trace, "pairs"]).expect(66);
    assert!(
        told.contains("100000 warnings: 100000 witnessed, 0 refuted, 0 unknown"),
        "{}",
        told.lines().last().unwrap_or_default()
    );
    // One by one they take minutes.
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn mistaken_arguments_are_said_to_be_mistaken() {
    let folder = folder("mistaken");
    let trace = record(&folder, "wrong_lock");
    let report = reports().join("wrong_lock.gcc.tsan").display().to_string();
    let refused = |arguments: &[&str], words: &str| {
        let said = witness(&folder, arguments);
        assert_eq!(said.status, 2, "{}", said.stdout);
        assert!(said.stderr.contains(words), "{}", said.stderr);
    };
    for format in ["drd", "go"] {
        refused(
            &["confirm", &trace, &report, "--format", format],
            "and is a report of ThreadSanitizer: leave out --format",
        );
    }
    refused(
        &["confirm", &report, &trace],
        "wrong_lock.bin is a trace, not a report; the trace comes first",
    );
    // A log in which nothing was found, if it is said to be one.
    fs::write(folder.join("clean.log"), "all is well\n").expect("a file");
    refused(&["confirm", &trace, "clean.log"], "name its kind with --format");
    witness(&folder, &["confirm", &trace, "clean.log", "--format", "tsan"]).expect(0);
}

#[test]
fn files_may_have_any_name() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt;
    use std::process::Command;
    let folder = folder("names");
    let recorded = record(&folder, "wrong_lock");
    let name = |bytes: &[u8]| OsString::from(OsStr::from_bytes(bytes));
    let (trace, report, page) = (
        name(b"tr\xff ace.bin"),
        name(b"it's \xfe.log"),
        name(b"html=p\xfd.html"),
    );
    fs::rename(folder.join(recorded), folder.join(&trace)).expect("renamed");
    fs::copy(reports().join("wrong_lock.gcc.tsan"), folder.join(&report)).expect("copied");
    let said = crate::command::said(Command::new(env!("CARGO_BIN_EXE_witness")).current_dir(&folder).args([
        OsStr::new("confirm"),
        &trace,
        &report,
        OsStr::new("--report"),
        &page,
    ]));
    let told = said.expect(66);
    assert!(folder.join(name(b"p\xfd.html")).exists());
    // The command that shows it again is one that a shell takes.
    let replay = told
        .lines()
        .find_map(|line| line.trim().strip_prefix("replay: witness "))
        .expect("a command");
    let line = format!("'{}' {replay}", env!("CARGO_BIN_EXE_witness"));
    crate::command::said(Command::new("bash").current_dir(&folder).args(["-c", &line])).expect(66);
}
