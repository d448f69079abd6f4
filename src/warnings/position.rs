//! Source positions as reports and people write them: `file:line` or `file:line:column`.

use super::Frame;

/// Splits `file:line:column` into file, line and column, as far as they are there. A line of 0 is none.
pub(super) fn split(text: &str) -> (&str, Option<u32>, Option<u32>) {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u32>().ok()).flatten()
    };
    let last = text
        .rsplit_once(':')
        .and_then(|(rest, last)| Some((rest, number(last)?)));
    let Some((rest, last)) = last else {
        return (text, None, None);
    };
    let some = |number: u32| (number > 0).then_some(number);
    match rest
        .rsplit_once(':')
        .and_then(|(file, line)| Some((file, number(line)?)))
    {
        Some((file, line)) if !file.is_empty() => (file, some(line), some(last)),
        _ => (rest, some(last), None),
    }
}

/// Reads `file:line` or `file:line:column`.
#[must_use]
pub fn parse(text: &str) -> Option<Frame> {
    let (file, line, column) = split(text);
    (!file.is_empty() && line.is_some()).then(|| Frame {
        file: Some(file.to_owned()),
        line,
        column,
        ..Frame::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions() {
        assert_eq!(split("a.c:3"), ("a.c", Some(3), None));
        assert_eq!(split("/x y/a.c:3:14"), ("/x y/a.c", Some(3), Some(14)));
        assert_eq!(split("a.c"), ("a.c", None, None));
        assert_eq!(split("a.c:0"), ("a.c", None, None));
        assert_eq!(split("a.c:99999999999"), ("a.c:99999999999", None, None));
        assert_eq!(split(":3"), ("", Some(3), None));
        assert_eq!(parse(":3"), None);
        assert_eq!(parse("main"), None);
        assert_eq!(parse("a.c:3:1").and_then(|frame| frame.column), Some(1));
    }
}
