//! A plain list of suspected pairs, for static analysers, papers and people: one `file:line file:line` per line; for
//! traces of other tools two locations as these tools number or name them; or two names of functions or variables.
//!
//! Blanks separate the two, or a comma or a tab if a path has blanks. `#` starts a comment.

use super::{Format, Frame, Kind, ReadError, Side, Stack, Warning, position};

/// The two texts of a line; `None` if it is not two.
fn halves(line: &str) -> Option<(&str, &str)> {
    for separator in ['\t', ','] {
        if let Some((a, b)) = line.split_once(separator) {
            return Some((a.trim(), b.trim()));
        }
    }
    let mut words = line.split_whitespace();
    let both = (words.next()?, words.next()?);
    words.next().is_none().then_some(both)
}

fn pair(line: &str) -> Result<[Frame; 2], String> {
    let (a, b) = halves(line).ok_or("not two positions")?;
    let read = |text: &str| position::parse(text).ok_or_else(|| format!("'{text}' is not file:line"));
    if !a.contains(':') && !b.contains(':') {
        return Ok([a, b].map(name));
    }
    Ok([read(a)?, read(b)?])
}

/// A location without a file, a function or a variable: which of these, the trace says.
fn name(text: &str) -> Frame {
    Frame {
        function: Some(text.to_owned()),
        ..Frame::default()
    }
}

fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let rows = (1..).zip(text.lines());
    rows.map(|(number, line)| (number, line.split(" #").next().unwrap_or_default().trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Whether the first line that is no comment is a pair.
pub(super) fn is_list(text: &str) -> bool {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_certain = |frame: Frame| frame.file.is_some() || frame.function.as_deref().is_some_and(is_number);
    rows(text)
        .next()
        .is_some_and(|(_, line)| pair(line).is_ok_and(|frames| frames.into_iter().all(is_certain)))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Warning>, ReadError> {
    let warnings = rows(text).map(|(number, line)| {
        let frames = pair(line).map_err(|reason| ReadError::Pair {
            file: name.to_owned(),
            line: number,
            reason,
        })?;
        Ok(Warning {
            report: name.to_owned(),
            line: number,
            format: Format::Pairs,
            title: "suspected race".to_owned(),
            kind: Kind::Race,
            sides: frames
                .map(|frame| Side {
                    stack: Stack::Frames(vec![frame]),
                    ..Side::default()
                })
                .into(),
            location: None,
            stacks: Vec::new(),
        })
    });
    warnings.collect()
}
