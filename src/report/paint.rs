//! Colors for terminals.

use std::fmt;

/// Whether to color, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paint {
    /// Whether colors are on.
    pub on: bool,
}

/// Text in one style.
pub struct Painted<T> {
    text: T,
    style: Option<&'static str>,
}

impl Paint {
    fn with<T>(self, style: &'static str, text: T) -> Painted<T> {
        let style = self.on.then_some(style);
        Painted { text, style }
    }

    /// A warning's headline.
    pub fn warning<T>(self, text: T) -> Painted<T> {
        self.with("1;31", text)
    }

    /// What the eye should find: accesses, the race.
    pub fn access<T>(self, text: T) -> Painted<T> {
        self.with("1", text)
    }

    /// A context switch.
    pub fn switch<T>(self, text: T) -> Painted<T> {
        self.with("36", text)
    }

    /// What is there for completeness.
    pub fn faint<T>(self, text: T) -> Painted<T> {
        self.with("2", text)
    }

    /// The last line of a report, by the worst that it has.
    pub fn summary<T>(self, witnessed: bool, unknown: bool, text: T) -> Painted<T> {
        match (witnessed, unknown) {
            (true, _) => self.warning(text),
            (false, true) => self.access(text),
            (false, false) => self.good(text),
        }
    }

    /// A verdict that clears.
    pub fn good<T>(self, text: T) -> Painted<T> {
        self.with("32", text)
    }
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.style {
            Some(style) => write!(f, "\x1b[{style}m{}\x1b[0m", self.text),
            None => self.text.fmt(f),
        }
    }
}
