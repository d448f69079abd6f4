//! File names that mean harm, where a shell or a manual page's folder has them.

use crate::place::Place;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

/// A name that is a command once it stands on a command line as it is.
const NAME: &str = "$(touch planted) *;touch planted";

/// Types into a bash with the completions, at a terminal: a tab behind an option that takes a file, and Return.
#[test]
fn a_completed_name_is_one_word_and_no_command() {
    let place = Place::new("completions");
    let script = place.witness(&["completions", "bash"]).status(0).stdout;
    fs::write(place.path("completions"), script).expect("a file");
    let folder = place.path("folder");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join(NAME), "").expect("a file");
    // What would be run says its words instead.
    let shown = "witness() { printf 'word <%s>\\n' \"$@\"; }";
    let typed = format!("source ../completions\n{shown}\nwitness analyze t.bin --store \t\nexit\n");
    let mut script = Command::new("script");
    script
        .args(["-qec", "bash --norc --noprofile -i", "/dev/null"])
        .current_dir(&folder)
        .env("TERM", "dumb")
        .env_remove("INPUTRC")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut running = script.spawn().expect("script (of util-linux) is needed");
    let mut input = running.stdin.take().expect("a pipe");
    input.write_all(typed.as_bytes()).expect("it reads");
    drop(input);
    let output = running.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains(&format!("word <{NAME}>")), "{said}");
    assert!(!folder.join("planted").exists(), "{said}");
}

#[test]
fn manual_pages_replace_links() {
    let place = Place::new("manual");
    let links = [
        "man/witness.1",
        "man/witness-analyze.1",
        "man/witness-analyze.1.partial",
    ];
    let precious = place.precious(&links);
    place.witness(&["man", "man"]).status(0);
    precious.is_whole();
    for link in &links[..2] {
        assert!(place.path(link).symlink_metadata().expect("a page").is_file(), "{link}");
    }
    // A folder that the user names may be a link.
    symlink(place.path("man"), place.path("elsewhere")).expect("a link");
    fs::remove_file(place.path("man/witness.1")).expect("a page");
    place.witness(&["man", "elsewhere"]).status(0);
    assert!(place.path("man/witness.1").exists());
}
