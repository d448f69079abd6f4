//! Reports of Go's race detector.
//!
//! The detector is ThreadSanitizer's run-time library with a report of its own: each frame takes two lines, the
//! function and, indented further, `file:line +0xoffset` (the offset in the function).

use super::{Format, Frame, Kind, Side, Stack, Warning, lines, position};

const HEADER: &str = "WARNING: DATA RACE";

pub(super) fn read(name: &str, text: &str) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    // Whether the report goes on, which of its sides frames belong to, and how far its lines are set in.
    let (mut inside, mut side, mut width) = (false, None::<usize>, 0);
    let mut sides = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let line = lines::plain(line);
        if let Some(at) = line.find(HEADER) {
            width = line[..at].chars().count();
            (inside, side, sides) = (true, None, 0);
            warnings.push(Warning {
                report: name.to_owned(),
                line: number,
                format: Format::Go,
                title: "data race".to_owned(),
                kind: Kind::Race,
                sides: Kind::Race.unknown_sides(),
                location: None,
                stacks: Vec::new(),
            });
            continue;
        }
        let line = lines::after(&line, width);
        let Some(warning) = warnings.last_mut().filter(|_| inside) else {
            continue;
        };
        let text = line.trim();
        if text.starts_with("====") {
            inside = false;
        } else if text.is_empty() {
            side = None;
        } else if let Some(access) = heading(text) {
            side = (sides < 2).then_some(sides);
            if let Some(side) = side {
                warning.sides[side] = access;
                sides += 1;
            }
        } else if !line.starts_with(char::is_whitespace) {
            side = None;
        } else if let Some(side) = side {
            frame(&mut warning.sides[side], text);
        }
    }
    warnings
}

/// `Previous atomic write at 0x… by goroutine 7:`.
fn heading(text: &str) -> Option<Side> {
    let (access, rest) = text.split_once(" at 0x")?;
    let (_, thread) = rest.split_once(" by ")?;
    let mut words = access.split_whitespace().map(str::to_lowercase).peekable();
    words.next_if(|word| word == "previous");
    let atomic = words.next_if(|word| word == "atomic").is_some();
    let writes = match words.next()?.as_str() {
        "write" => true,
        "read" => false,
        _ => return None,
    };
    words.next().is_none().then(|| Side {
        acquires: false,
        writes: Some(writes),
        atomic: Some(atomic),
        size: None,
        thread: Some(thread.trim_end_matches(':').to_owned()),
        stack: Stack::NotGiven,
    })
}

/// A function, or the place in the function before.
fn frame(side: &mut Side, text: &str) {
    if text == "[failed to restore the stack]" {
        side.stack = Stack::NotRestored;
        return;
    }
    if !matches!(side.stack, Stack::Frames(_)) {
        side.stack = Stack::Frames(Vec::new());
    }
    let Stack::Frames(frames) = &mut side.stack else {
        return;
    };
    let place = text.rsplit_once(" +0x").map_or(text, |(place, _)| place);
    match (position::parse(place), frames.last_mut()) {
        (Some(place), Some(last)) if last.file.is_none() => {
            (last.file, last.line) = (place.file, place.line);
        }
        (Some(place), _) => frames.push(place),
        (None, _) => frames.push(Frame {
            function: Some(text.trim_end_matches("()").to_owned()),
            ..Frame::default()
        }),
    }
}
