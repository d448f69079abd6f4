//! Detects the dialect of a report, by text that only this dialect has.

use super::{Format, lines, pairs, valgrind};

/// The dialect; `None` if there is nothing in it that is known.
pub(super) fn detect(text: &str) -> Option<Format> {
    let head = text.trim_start_matches('\u{feff}').trim_start();
    // What a program prints may begin with a `<`, too.
    if head.starts_with("<?xml") || head.starts_with("<valgrindoutput") {
        return Some(Format::ValgrindXml);
    }
    if head.starts_with('{') && head.contains("\"witness-results/") {
        return Some(Format::Witness);
    }
    let marked = text.lines().find_map(|line| {
        let line = lines::plain(line);
        if line.contains("ThreadSanitizer: ") {
            return Some(Format::Tsan);
        }
        if line.contains("WARNING: DATA RACE") {
            return Some(Format::Go);
        }
        valgrind::text::tool(&line)
    });
    marked.or_else(|| pairs::is_list(text).then_some(Format::Pairs))
}
