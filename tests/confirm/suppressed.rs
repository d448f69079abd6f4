//! Suppressions hide the warnings that ThreadSanitizer would not have written with them.
//!
//! `suppressed/table` says what its runtime no longer says of `suppressed/misuse.c` under each of some suppressions.

use crate::command::witness;
use crate::recorded::{folder, record, reports};
use std::fs;
use std::path::{Path, PathBuf};
use witness::confirm::ConfirmResults;

fn stock(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/confirm/suppressed")
        .join(name)
}

/// The answers under one suppression, and whether it is said to hide nothing.
fn confirm(folder: &Path, trace: &str, report: &Path, suppressions: &str) -> (ConfirmResults, bool) {
    fs::write(folder.join("supp"), suppressions).expect("a file");
    let report = report.display().to_string();
    let said = witness(folder, &["confirm", trace, &report, "--suppressions", "supp", "--json"]);
    let unused = said
        .stderr
        .contains(&format!("this suppression hides nothing: supp:1: {suppressions}"));
    let results = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {}", said.stderr));
    (results, unused)
}

/// The titles of what is hidden, in the order of the report.
fn hidden(results: &ConfirmResults) -> Vec<&str> {
    let others = results
        .others
        .iter()
        .map(|other| (other.line, &other.title, &other.suppressed));
    let decided = results
        .warnings
        .iter()
        .map(|warning| (warning.line, &warning.title, &warning.suppressed));
    let mut hidden: Vec<_> = others.chain(decided).filter(|(.., by)| by.is_some()).collect();
    hidden.sort_unstable();
    hidden.into_iter().map(|(_, title, _)| title.as_str()).collect()
}

#[test]
fn the_same_warnings_are_hidden_as_by_thread_sanitizer() {
    let folder = folder("suppressed-table");
    let trace = record(&folder, "single_thread");
    let table = fs::read_to_string(stock("table")).expect("a table");
    for compiler in ["gcc", "clang"] {
        let report = stock(&format!("misuse.{compiler}.tsan"));
        for row in table.lines() {
            let (suppression, titles) = row.split_once('\t').expect("two columns");
            // clang puts the runtime into the program.
            if compiler == "clang" && suppression.ends_with("libtsan") {
                continue;
            }
            let (results, unused) = confirm(&folder, &trace, &report, suppression);
            let expected: Vec<&str> = titles.split(';').filter(|title| !title.is_empty()).collect();
            assert_eq!(hidden(&results), expected, "{compiler}: {suppression}");
            assert_eq!(unused, expected.is_empty(), "{compiler}: {suppression}");
            assert_eq!((results.warnings.len(), results.others.len()), (1, 5));
        }
    }
}

#[test]
fn valgrinds_warnings_are_hidden_by_what_they_are() {
    let folder = folder("suppressed-valgrind");
    let trace = record(&folder, "single_thread");
    let told = |report: &str| {
        let (results, _) = confirm(&folder, &trace, &stock(report), "race:nothing");
        let kinds = results.others.iter().map(|other| other.kind.clone());
        (results.warnings.len(), kinds.collect::<Vec<_>>())
    };
    let misuses = ["lock-misuse"; 3].map(str::to_owned);
    assert_eq!(told("misuse.helgrind"), (1, misuses.into()));
    assert_eq!(told("misuse.helgrind"), told("misuse.helgrind.xml"));
    assert_eq!(told("misuse.drd"), told("misuse.drd.xml"));
    for (suppression, helgrind, drd) in [
        ("deadlock:take_second_then_first", 1, 0),
        // Which order was the first one stands in a paragraph of its own.
        ("deadlock:take_first_then_second", 1, 0),
        ("mutex:unlock_what_is_free", 1, 1),
        ("mutex:_what_is_", 3, 2),
        ("deadlock:_what_is_", 0, 0),
        ("thread:main", 0, 0),
    ] {
        for (name, count) in [("helgrind", helgrind), ("drd", drd)] {
            for report in [format!("misuse.{name}"), format!("misuse.{name}.xml")] {
                let (results, unused) = confirm(&folder, &trace, &stock(&report), suppression);
                assert_eq!(hidden(&results).len(), count, "{report}: {suppression}");
                assert_eq!(unused, count == 0, "{report}: {suppression}");
            }
        }
    }
}

#[test]
fn suppressed_warnings_are_counted_and_not_listed() {
    let folder = folder("suppressed-text");
    let trace = record(&folder, "single_thread");
    fs::write(folder.join("supp"), "mutex:*\nsignal:*\ndeadlock:*\n").expect("a file");
    let report = stock("misuse.gcc.tsan").display().to_string();
    let text = witness(&folder, &["confirm", &trace, &report, "--suppressions", "supp"]).expect(0);
    assert!(
        text.contains("Not decided: 1 thread leak, 4 suppressed\n") && text.contains("0 warnings: 0 witnessed"),
        "{text}"
    );
    assert!(text.contains("thread leak\n") && !text.contains("unlock of"), "{text}");
}

#[test]
fn a_race_is_hidden_by_the_words_of_its_report() {
    let folder = folder("suppressed-races");
    let trace = record(&folder, "wrong_lock");
    let (confirmed, elsewhere) = (
        reports().join("wrong_lock.gcc.tsan"),
        reports().join("figure1.gcc.tsan"),
    );
    let hides = |report: &Path, suppression: &str| {
        let (results, unused) = confirm(&folder, &trace, report, suppression);
        let hidden = results.warnings.iter().filter(|warning| warning.suppressed.is_some());
        let hidden = hidden.count();
        assert_eq!(unused, hidden == 0, "{suppression}");
        assert_eq!(
            results.summary.witnessed + results.summary.unknown,
            results.warnings.len() - hidden
        );
        hidden == results.warnings.len()
    };
    assert!(hides(&confirmed, "race:holds_b") && hides(&confirmed, "race_top:holds_a"));
    assert!(!hides(&confirmed, "race:pthread_create") && !hides(&confirmed, "mutex:holds_b"));
    // What is in no trace is known by its report alone.
    assert!(hides(&elsewhere, "race:figure1.c") && !hides(&elsewhere, "race:wrong_lock"));
    // Then no form of the report has it.
    fs::write(folder.join("supp"), "race:figure1.c\nrace:nested\nrace:plain\n").expect("a file");
    let [confirmed, elsewhere] = [confirmed, elsewhere].map(|path| path.display().to_string());
    let arguments = ["confirm", &trace, &confirmed, &elsewhere, "--suppressions", "supp"];
    let quiet = witness(&folder, &[&arguments[..], &["--report", "junit"]].concat()).expect(0);
    assert!(!quiet.contains("<failure") && !quiet.contains("figure1.c:"), "{quiet}");
    let github = witness(&folder, &[&arguments[..], &["--report", "github"]].concat()).expect(0);
    assert_eq!(github, "");
}
