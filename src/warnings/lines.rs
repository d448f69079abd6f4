//! Lines of a log, without what a terminal or a log collector has added.

/// A line without the escape sequences that color it.
pub(super) fn plain(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut letters = line.trim_end_matches('\r').chars();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            plain.push(letter);
            continue;
        }
        // CSI sequences end with a letter; others are two characters long.
        if letters.next() == Some('[') {
            letters.by_ref().find(|letter| letter.is_ascii_alphabetic());
        }
    }
    plain
}

/// A line without its first `width` characters: what a log collector writes before each line.
pub(super) fn after(line: &str, width: usize) -> &str {
    line.char_indices().nth(width).map_or("", |(at, _)| &line[at..])
}

/// A number as reports write it: decimal, or hexadecimal with `0x`.
pub(super) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The word after `key`.
pub(super) fn word_after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(key)?;
    rest.split_whitespace().next()
}

/// The text between `key` and the next double quote.
pub(super) fn quoted_after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(key)?;
    rest.split_once('"').map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_removed_wherever_they_end() {
        assert_eq!(plain("\u{1b}[1m\u{1b}[31mWARNING\u{1b}[0m: x"), "WARNING: x");
        assert_eq!(plain("cut \u{1b}["), "cut ");
        assert_eq!(plain("cut \u{1b}"), "cut ");
        assert_eq!(plain("line\r"), "line");
    }

    #[test]
    fn prefixes_are_counted_in_characters() {
        assert_eq!(after("äöü  #0 f", 3), "  #0 f");
        assert_eq!(after("ab", 3), "");
    }
}
