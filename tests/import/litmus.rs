//! The situations of `tests/litmus`, each with exactly the races that its `.races` file lists.
//!
//! A line of that file is a pair of positions that races; a line with `#` says why. Every other
//! pair of positions with conflicting accesses has to be refuted. Exhaustive search has the last word
//! on what the file says.

use crate::brute_force;
use crate::execution::Execution;
use crate::files;
use crate::verdicts::racing;
use std::collections::BTreeSet;
use std::fs;
use witness::check::validate;
use witness::import::open;
use witness::symbols::Symbols;
use witness::trace::Trace;

#[test]
fn published_situations_have_exactly_their_races() {
    for path in files::of("litmus", "races") {
        let name = path.display();
        let opened = open(&path, None, false).unwrap_or_else(|error| panic!("{error}"));
        let trace = Trace::from_file(&opened.file).expect("it can be loaded");
        validate(&trace).unwrap_or_else(|violation| panic!("{name}: {violation}"));
        let text = fs::read_to_string(path.with_extension("races")).expect("an expectation beside it");
        assert!(text.starts_with('#'), "{name}: the expectation says why");
        let pairs = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let expected: BTreeSet<(String, String)> = pairs
            .map(|line| line.split_once(' ').unwrap_or_else(|| panic!("{name}: {line}")))
            .map(|(a, b)| (a.min(b).to_owned(), a.max(b).to_owned()))
            .collect();
        let events: Vec<_> = opened.file.events().map(|event| event.expect("an event")).collect();
        let execution = Execution::new(trace.tables(), &events);
        let found =
            brute_force::search(&execution, 1_000_000).unwrap_or_else(|| panic!("{name} is too large to enumerate"));
        let symbols = Symbols::new(trace.tables());
        let place = |event| symbols.place(trace.pc(event));
        let enumerated: BTreeSet<(String, String)> = found
            .races
            .union(&found.after_free)
            .map(|&(a, b)| (place(a).min(place(b)), place(a).max(place(b))))
            .collect();
        assert_eq!(enumerated, expected, "{name}: exhaustive search");
        assert_eq!(racing(&trace).0, expected, "{name}: analysis");
    }
}
