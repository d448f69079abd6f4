//! To which user and trace something stored belongs.
//!
//! A witness proves itself: the checker executes it again. That a race is refuted, or nothing was found, can only be
//! believed. So what is stored bears a seal ([`crate::own`]) over its content and over the trace, which only this user
//! can make.

use crate::own::{Own, Seal};
use std::path::Path;

/// Stands where nothing can be sealed.
pub(super) const UNSEALED: &str = "-";

/// The user who runs this, and a trace.
#[derive(Clone, Copy, Debug)]
pub struct Binding(Option<(&'static Own, Seal)>);

impl Binding {
    /// To the trace in a file.
    #[must_use]
    pub fn of(trace: &Path) -> Binding {
        Binding(Own::of_user().and_then(|own| Some((own, own.seal_of_trace(trace).ok()?))))
    }

    /// The seal of some content, for one purpose.
    pub(super) fn seal(&self, purpose: &str, parts: &[&[u8]]) -> String {
        let Some((own, trace)) = &self.0 else {
            return UNSEALED.to_owned();
        };
        let trace = trace.to_string();
        let parts: Vec<&[u8]> = [trace.as_bytes()].into_iter().chain(parts.iter().copied()).collect();
        own.seal(purpose, &parts).to_string()
    }

    /// Whether this user has sealed it.
    pub(super) fn has_sealed(&self, seal: &str, purpose: &str, parts: &[&[u8]]) -> bool {
        self.0.is_some() && self.seal(purpose, parts) == seal
    }
}
