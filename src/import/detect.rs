//! Detects the format of a content.
//!
//! No format is mistaken for another: each has something that no other has. Native files begin with their magic,
//! RV-Predict's with `LZ4Block`, JSON lines with a brace; RoadRunner's events begin with `@`; STD has an event in its
//! first line that is no comment; a RapidBin header gives the file's length.

use super::Format;
use super::record::lines;
use super::{rapid_bin, roadrunner, rv_predict, std_text};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The bytes that a trace of our own begins with.
const MAGIC: &[u8] = b"\x89WITNESS";
/// How much of a text is looked at.
const HEAD: usize = 64 * 1024;

/// Whether a file begins as ours do. One that is shorter than the magic, but begins like it, does.
pub(super) fn file_is_native(path: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut head)?;
    Ok(is_native(&head))
}

fn is_native(bytes: &[u8]) -> bool {
    let known = bytes.len().min(MAGIC.len());
    bytes[..known] == MAGIC[..known]
}

/// The format of a content; `None` if it is like none. Nothing at all is a native file that was cut.
pub(super) fn detect(bytes: &[u8]) -> Option<Format> {
    if is_native(bytes) {
        return Some(Format::Native);
    }
    if rv_predict::fits(bytes) {
        return Some(Format::RvPredict);
    }
    if rapid_bin::fits(bytes) {
        return Some(Format::RapidBin);
    }
    let head = &bytes[..bytes.len().min(HEAD)];
    let mut first = None;
    for (_, text) in lines(head) {
        let text = text.trim();
        if roadrunner::is_event(text) {
            return Some(Format::RoadRunner);
        }
        if first.is_none() && !text.is_empty() && !text.starts_with('#') && !text.starts_with("//") {
            first = Some(if text.starts_with('{') {
                Some(Format::JsonLines)
            } else {
                std_text::is_event(text).then_some(Format::Std)
            });
        }
        if let Some(Some(format)) = first {
            return Some(format);
        }
    }
    None
}
