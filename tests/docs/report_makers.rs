//! The table of reports in docs/confirm.md: each is made as it says, and read as what it is.

use crate::command::{shell, there_is};
use crate::page::{Page, folder, root};
use std::fs;
use std::path::Path;

/// The format, what makes the line executable, and how `witness confirm` ends.
const MAKERS: [(&str, &str, &str, i32); 4] = [
    ("tsan", "gcc", "gcc -g -fsanitize=thread -pthread app.c -o app", 66),
    ("helgrind", "valgrind", "gcc -g -pthread app.c -o app", 66),
    ("valgrind-xml", "valgrind", "gcc -g -pthread app.c -o app", 66),
    // No trace has what Go's program does.
    ("go", "go", "rm app.c", 3),
];

/// The file that a line makes.
fn made(line: &str) -> &str {
    let after = |key: &str| line.split(key).nth(1).and_then(|rest| rest.split_whitespace().next());
    after("2> ")
        .or_else(|| after("--xml-file="))
        .unwrap_or_else(|| panic!("`{line}` makes no file"))
}

fn make(folder: &Path, line: &str) -> String {
    // Their own statuses say that there is a race.
    shell(folder, line);
    let read = || fs::read_to_string(folder.join(made(line))).unwrap_or_else(|error| panic!("`{line}`: {error}"));
    // Old runtimes do not start where many bits of addresses are random.
    if read().contains("unexpected memory mapping") {
        shell(folder, &format!("setarch --addr-no-randomize bash -c '{line}'"));
    }
    read()
}

#[test]
fn every_report_is_made_and_read_as_the_page_says() {
    let page = Page::read("docs/confirm.md");
    for (format, program, build, status) in MAKERS {
        let row = page
            .rows
            .iter()
            .find(|row| row[0].code.iter().any(|name| name == format));
        let line = row
            .and_then(|row| row[2].code.first())
            .unwrap_or_else(|| panic!("no line makes {format}"));
        if !there_is(program) {
            eprintln!("SKIPPED: there is no {program}: `{line}` is not executed");
            continue;
        }
        let folder = folder(&format!("make-{format}"));
        for (from, to) in [
            ("tests/programs/wrong_lock.c", "app.c"),
            ("tests/docs/projects/go/go.mod", "go.mod"),
            ("tests/docs/projects/go/main.go", "main.go"),
        ] {
            fs::copy(root().join(from), folder.join(to)).expect("a file");
        }
        let (built, said) = shell(
            &folder,
            &format!("witness cc app.c -o recorded -pthread && witness record -o trace.bin -- ./recorded && {build}"),
        );
        assert_eq!(built, 0, "{said}");
        let report = make(&folder, line);
        if format == "go" && report.contains("-race requires cgo") {
            eprintln!("SKIPPED: go's race detector needs cgo: `{line}` is not executed");
            continue;
        }
        let confirm = format!("witness confirm trace.bin {} --json > answers.json", made(line));
        let (ended, said) = shell(&folder, &confirm);
        assert_eq!(ended, status, "`{line}`, then `{confirm}`: {said}\n{report}");
    }
    // What is left are our own results, and lists.
    let formats = page
        .rows
        .iter()
        .skip_while(|row| row[0].code != ["--format"])
        .skip(1)
        .take_while(|row| row.len() == 3);
    let formats: Vec<&str> = formats.flat_map(|row| row[0].code.iter().map(String::as_str)).collect();
    assert_eq!(
        formats,
        ["tsan", "helgrind", "drd", "valgrind-xml", "go", "witness", "pairs"]
    );
}
