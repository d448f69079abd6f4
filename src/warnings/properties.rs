//! Damaged reports are read, or refused with their line; they never end the program.

use super::{Format, read};
use proptest::prelude::*;

/// A report of each dialect.
const REPORTS: [(Format, &str); 9] = [
    (
        Format::Tsan,
        include_str!("../../tests/confirm/reports/wrong_lock.clang.tsan"),
    ),
    (
        Format::Helgrind,
        include_str!("../../tests/confirm/reports/wrong_lock.helgrind"),
    ),
    (Format::Drd, include_str!("../../tests/confirm/reports/wrong_lock.drd")),
    (
        Format::ValgrindXml,
        include_str!("../../tests/confirm/reports/wrong_lock.drd.xml"),
    ),
    (
        Format::Go,
        "WARNING: DATA RACE\nWrite at 0x1 by goroutine 7:\n  f()\n      a.go:1 +0x4\n\n",
    ),
    (
        Format::Tsan,
        include_str!("../../tests/confirm/suppressed/misuse.gcc.tsan"),
    ),
    (
        Format::Helgrind,
        include_str!("../../tests/confirm/suppressed/misuse.helgrind"),
    ),
    (
        Format::ValgrindXml,
        include_str!("../../tests/confirm/suppressed/misuse.helgrind.xml"),
    ),
    (Format::Pairs, "a.c:1 b.c:2\n# x\na.c:1, b.c:2\n"),
];

/// A change: at this part of the text, so many bytes are replaced by others.
fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, Vec<u8>)>> {
    let inserted = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..4),
        prop::sample::select(vec![
            " (", ")", ":", "==", "\n", "#", "0x", " by ", "<", "+0x", "\u{1b}["
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    prop::collection::vec((any::<prop::sample::Index>(), 0..40_usize, inserted), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn damaged_reports(report in 0..REPORTS.len(), changes in changes(), forced in any::<bool>()) {
        let (format, text) = REPORTS[report];
        let mut bytes = text.as_bytes().to_vec();
        for (at, removed, inserted) in changes {
            let from = at.index(bytes.len() + 1);
            let to = (from + removed).min(bytes.len());
            bytes.splice(from..to, inserted);
        }
        let lines = String::from_utf8_lossy(&bytes).lines().count();
        match read("in", &bytes, forced.then_some(format)) {
            Ok(warnings) => for warning in warnings {
                prop_assert!((1..=lines).contains(&warning.line));
            },
            Err(error) => {
                let error = error.to_string();
                prop_assert!(error.starts_with("in:") || error.starts_with("in has no "), "{}", error);
            }
        }
    }
}
