//! Pages and `--help` know the same commands and options.

use crate::command::shell;
use crate::page::{self, Page, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Options of other programs that pages mention.
const OTHERS: [&str; 16] = [
    // cargo's
    "--bench",
    "--locked",
    "--path",
    "--release",
    "--test",
    "--workspace",
    // of a benchmark
    "--seeds",
    // Slurm's
    "--array",
    "--dependency",
    "--parsable",
    "--requeue",
    "--wrap",
    // RV-Predict's
    "--log",
    // Valgrind's
    "--tool",
    "--xml",
    "--xml-file",
];

/// The long options in a text.
fn options(text: &str) -> BTreeSet<String> {
    let letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let words = text.split(|end: char| !letter(end));
    let options = words.filter(|word| {
        word.strip_prefix("--")
            .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
    });
    options.map(str::to_owned).collect()
}

/// Each command and the long options of its help.
fn commands() -> BTreeMap<String, BTreeSet<String>> {
    let (status, help) = shell(Path::new("."), "witness --help");
    assert_eq!(status, 0, "{help}");
    let rows = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let rows = rows
        .take_while(|line| !line.is_empty())
        .filter(|row| !row.starts_with("   "));
    let names: Vec<&str> = rows.filter_map(|row| row.split_whitespace().next()).collect();
    assert!(names.len() > 15, "{names:?}");
    let options_of = |name: &&str| {
        let (status, help) = shell(Path::new("."), &format!("witness help {name}"));
        assert_eq!(status, 0, "{help}");
        let offered = help.lines().filter(|line| line.trim_start().starts_with('-'));
        let offered: Vec<&str> = offered
            .filter_map(|line| line.trim_start().split("  ").next())
            .collect();
        ((*name).to_owned(), options(&offered.join("\n")))
    };
    names.iter().filter(|name| **name != "help").map(options_of).collect()
}

#[test]
fn every_command_and_every_option_is_documented() {
    let text: String = page::all()
        .iter()
        .map(|name| fs::read_to_string(root().join(name)).expect("a page"))
        .collect();
    let documented = options(&text);
    for (command, offered) in commands() {
        assert!(
            text.contains(&format!("witness {command}")),
            "`witness {command}` is on no page"
        );
        let missing: Vec<&String> = offered
            .difference(&documented)
            .filter(|option| *option != "--help")
            .collect();
        assert!(
            missing.is_empty(),
            "`witness {command}` has options that no page mentions: {missing:?}"
        );
    }
}

#[test]
fn every_option_that_a_page_mentions_is_there() {
    let commands = commands();
    let all: BTreeSet<&String> = commands.values().flatten().collect();
    for name in page::all() {
        let page = Page::read(&name);
        let lines = page
            .commands
            .iter()
            .map(|command| (command.place.clone(), command.text().to_owned()));
        let spans = page
            .spans
            .iter()
            .map(|(line, span)| (format!("{name}:{line}"), span.clone()));
        for (place, code) in lines.chain(spans) {
            for option in options(&code) {
                let known = all.contains(&option) || OTHERS.contains(&option.as_str());
                assert!(known, "{place}: {option} is no option: {code}");
            }
            // What stands behind `--` is of the program that is run.
            for part in code.split("witness ").skip(1) {
                let own = part.split(" -- ").next().unwrap_or_default();
                let own = own.split([';', '|', '&']).next().unwrap_or_default();
                let command = own.split_whitespace().next().unwrap_or_default();
                // These pass on what they do not know.
                let passes_on = ["cc", "c++", "cargo"].contains(&command);
                let Some(offered) = commands.get(command).filter(|_| !passes_on) else {
                    continue;
                };
                for option in options(own) {
                    assert!(
                        offered.contains(&option),
                        "{place}: {option} is no option of it: {code}"
                    );
                }
            }
        }
    }
}
