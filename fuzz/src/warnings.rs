//! What must hold of every report of another tool.

use witness::warnings::{Format, Stack, read};

/// Reads a report: each warning is on one of its lines, and no stack that is given is empty. What is refused is
/// refused by the report's name, in one line.
pub fn read_as(bytes: &[u8], format: Option<Format>) {
    match read("fuzz", bytes, format) {
        Ok(warnings) => {
            let lines = String::from_utf8_lossy(bytes).lines().count();
            for warning in warnings {
                assert!((1..=lines).contains(&warning.line), "line {} of {lines}", warning.line);
                for side in &warning.sides {
                    assert!(!matches!(&side.stack, Stack::Frames(frames) if frames.is_empty()));
                }
            }
        }
        Err(error) => assert!(error.to_string().starts_with("fuzz"), "{error}"),
    }
}
