//! Places that the command line names: file:line, a function or a variable.

use witness::warnings::{Frame, Side, Stack, parse_position};

/// The access that a text describes.
pub fn side(text: &str) -> Side {
    let frame = parse_position(text).unwrap_or_else(|| Frame {
        function: Some(text.to_owned()),
        ..Frame::default()
    });
    Side {
        stack: Stack::Frames(vec![frame]),
        ..Side::default()
    }
}
