//! The documentation: its commands are executed, page by page, its links lead somewhere, and it knows every option.
//!
//! In a block of the language `console`, each line that begins with `$ ` is a command; it has to end with status 0, or
//! 66 for a race, or with the one that its comment `# exits with N` names. The lines below it have to be in its output,
//! in their order; each is a beginning, and numbers and folders may be others. In a block of the language `sh` each
//! line is a command; in one of `yaml` each line of a script. `<!-- with FILE as NAME -->` puts a file of the
//! repository into the folder of a page, `<!-- run COMMAND -->` executes what the page takes for granted. What cannot
//! be executed stands in `elsewhere`, with the reason.

mod build_systems;
mod command;
mod elsewhere;
mod links;
mod options;
mod page;
mod recipe;
mod report_makers;

use elsewhere::ELSEWHERE;
use page::Page;

/// The pages that have commands, each with its test.
macro_rules! pages {
    ($($test:ident: $page:literal,)*) => {
        const EXECUTED: &[&str] = &[$($page),*];

        $(#[test]
        fn $test() {
            execute($page);
        })*
    };
}

pages! {
    readme: "README.md",
    ci: "docs/ci.md",
    cluster: "docs/cluster.md",
    commands: "docs/commands.md",
    confirm: "docs/confirm.md",
    after_free: "docs/after_free.md",
    atomicity: "docs/atomicity.md",
    deadlocks: "docs/deadlocks.md",
    explore: "docs/explore.md",
    flaky: "docs/flaky.md",
    formats: "docs/formats.md",
    live: "docs/live.md",
    lock_sets: "docs/lock_sets.md",
    order: "docs/order.md",
    recording: "docs/recording.md",
    reports: "docs/reports.md",
    suites: "docs/suites.md",
    tutorial: "docs/tutorial.md",
}

fn is_elsewhere(page: &str, command: &str) -> bool {
    ELSEWHERE.iter().any(|row| (row.0, row.1) == (page, command))
}

fn execute(name: &str) {
    let page = Page::read(name);
    let folder = page.folder();
    let mut executed = 0;
    for command in &page.commands {
        if !is_elsewhere(name, command.text()) {
            command.run(&folder);
            executed += 1;
        }
    }
    assert!(executed > 0, "{name} has no commands");
    for file in &page.collected {
        assert!(
            folder.join(file).exists(),
            "{name}: a recipe collects {file}, and nothing made it"
        );
    }
}

#[test]
fn every_command_is_executed_here_or_elsewhere_for_a_reason() {
    let mut seen = Vec::new();
    for name in page::all() {
        let page = Page::read(&name);
        let executed = EXECUTED.contains(&name.as_str());
        for command in &page.commands {
            let known = executed || is_elsewhere(&name, command.text());
            assert!(
                known,
                "{}: `{}` is not executed: add the page to `pages!`",
                command.place,
                command.text()
            );
            seen.push((name.clone(), command.text().to_owned()));
        }
    }
    for (page, command, reason) in ELSEWHERE {
        let there = seen.iter().any(|(on, text)| on == page && text == command);
        assert!(there && !reason.is_empty(), "{page} does not have `{command}` any more");
    }
}
