//! From an access or an acquisition as a report describes it to the places in the trace that it may be.
//!
//! Only the best evidence counts: the instruction (module and offset, with the build id or the source position to show
//! that it is the same build), then file, line and function, then file and line. Line drift (the same function, some
//! lines away) is a guess, and so is a file of the same name in another folder, unless the function agrees. The
//! innermost frames of functions that a tool intercepts (memcpy, free, …) lead up to the caller; frames in system
//! headers, which compilers inline differently, are skipped if they are not found.

use super::frames::{PathFit, agree, is_allocation, is_free, is_intercepted, is_of_the_system, path_fit};
use crate::symbols::{self, Symbols, file_name, same_function};
use crate::trace::{AccessKind, CodePosition, EventId, StackId, Trace};
use crate::warnings::{Frame, Side, Stack};
use hashbrown::{HashMap, HashSet};
use std::rc::Rc;

/// Lines that a position may have moved by, within its function.
const DRIFT: u32 = 30;
/// The same if the function is not known.
const BLIND_DRIFT: u32 = 3;

/// A kind of access, or of using a lock, at an instruction that was reached through a call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Spot {
    pub(super) pc: CodePosition,
    pub(super) stack: StackId,
    pub(super) kind: AccessKind,
}

impl Spot {
    pub(super) fn of(trace: &Trace, event: EventId, kind: AccessKind) -> Spot {
        Spot {
            pc: trace.pc(event),
            stack: trace.stack(event),
            kind,
        }
    }
}

/// How a description was matched, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum How {
    /// By its number.
    Event,
    /// Module and offset.
    Instruction,
    /// File, line and function.
    Line,
    /// File and line; the report names no function, or another one.
    LineAlone,
    /// The function; the report names no line.
    Function,
    /// The variable that it accesses.
    Variable,
    /// Function and file, the nearest line of it in the trace: a guess.
    Drift {
        /// Lines from the one that was asked for, positive if further down.
        by: i32,
    },
    /// It is any access that conflicts with the other side.
    Partner,
}

/// A place of the trace that a description may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// `file:line` as the trace has it; empty for a partner.
    pub at: String,
    /// How it was found.
    pub how: How,
    /// The file is of the same name, but in another folder than the report says, and no function speaks for it.
    pub moved: bool,
    /// The trace has no access of the kind that the report says here; its other accesses here are meant.
    pub other_kind: bool,
}

impl Place {
    /// Whether it may be another place than the one that is meant.
    #[must_use]
    pub fn is_guess(&self) -> bool {
        self.moved || matches!(self.how, How::Drift { .. })
    }
}

/// A place, with what is there in the trace.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) place: Place,
    pub(super) spots: Vec<Spot>,
}

/// All places at which a trace accesses memory, or all at which it takes locks.
pub(super) struct Spots<'a> {
    trace: &'a Trace,
    symbols: &'a Symbols<'a>,
    /// Whether they are of operations that take locks.
    of_locks: bool,
    /// Build ids of the modules, in hexadecimal digits.
    build_ids: HashMap<&'a str, String>,
    all: Vec<(Spot, Rc<[symbols::Frame]>)>,
}

/// Chooses the frame of a spot, given those of its instruction, that is compared with a report's; with its depth.
type Pick<'p> = dyn Fn(&Spot, &[symbols::Frame]) -> Option<(usize, symbols::Frame)> + 'p;

/// A spot that fits a frame of a report.
struct Fit {
    how: How,
    path: Option<PathFit>,
    file: String,
    line: Option<u32>,
    spot: Spot,
    /// Frame of the spot that fits.
    depth: usize,
}

impl<'a> Spots<'a> {
    /// Where memory is accessed.
    pub(super) fn of_accesses(trace: &'a Trace, symbols: &'a Symbols<'a>) -> Spots<'a> {
        let spots = trace
            .accesses()
            .map(|access| Spot::of(trace, access.event, access.kind));
        Spots::of(trace, symbols, false, spots)
    }

    /// Where these operations take locks.
    pub(super) fn of_acquisitions(trace: &'a Trace, symbols: &'a Symbols<'a>, acquisitions: &[EventId]) -> Spots<'a> {
        let spots = acquisitions
            .iter()
            .map(|&event| Spot::of(trace, event, AccessKind::Use));
        Spots::of_waits(trace, symbols, spots)
    }

    /// Where locks are waited for.
    pub(super) fn of_waits(trace: &'a Trace, symbols: &'a Symbols<'a>, waits: impl Iterator<Item = Spot>) -> Spots<'a> {
        Spots::of(trace, symbols, true, waits)
    }

    fn of(trace: &'a Trace, symbols: &'a Symbols<'a>, of_locks: bool, spots: impl Iterator<Item = Spot>) -> Spots<'a> {
        let spots: HashSet<Spot> = spots.collect();
        let mut all: Vec<_> = spots.into_iter().map(|spot| (spot, symbols.frames(spot.pc))).collect();
        all.sort_unstable_by_key(|(spot, _)| *spot);
        let modules = trace
            .tables()
            .modules
            .iter()
            .filter(|module| !module.build_id.is_empty());
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Spots {
            trace,
            symbols,
            of_locks,
            build_ids: modules
                .map(|module| (module.path.as_str(), hex(&module.build_id)))
                .collect(),
            all,
        }
    }

    /// The places that a description may mean, one for each file it may be in; none if it is not in the trace.
    pub(super) fn find(&self, side: &Side) -> Vec<Choice> {
        let Stack::Frames(frames) = &side.stack else {
            return vec![Choice {
                place: Place {
                    at: String::new(),
                    how: How::Partner,
                    moved: false,
                    other_kind: false,
                },
                spots: Vec::new(),
            }];
        };
        let Some(first) = frames.iter().position(|frame| !is_intercepted(frame)) else {
            return Vec::new();
        };
        if is_allocation(frames) {
            return Vec::new();
        }
        let own = |frame: &Frame| frame.file.as_deref().is_some_and(|file| !is_of_the_system(file));
        let innermost = self.fits(&frames[first], &|_, frames| Some((0, frames[0].clone())));
        let mut best = self.best(innermost, side, &frames[first + 1..]);
        if best.is_empty()
            && let Some(at) = frames.iter().skip(first).position(own)
        {
            // The innermost frame outside of the system's headers, on both sides.
            let frame = &frames[first + at];
            let fits = self.fits(frame, &|spot, _| {
                let stack = self.symbols.stack(spot.pc, spot.stack);
                let own = |frame: &symbols::Frame| frame.file.as_deref().is_some_and(|file| !is_of_the_system(file));
                let at = stack.iter().position(own)?;
                Some((at, stack[at].clone()))
            });
            best = self.best(fits, side, &frames[first + at + 1..]);
        }
        best
    }

    /// The spots whose frame, as `pick` picks it, fits `theirs`.
    fn fits(&self, theirs: &Frame, pick: &Pick<'_>) -> Vec<Fit> {
        let fit = |(spot, frames): &(Spot, Rc<[symbols::Frame]>)| {
            let (depth, ours) = pick(spot, frames)?;
            let (how, path) = self.how(theirs, &ours)?;
            Some(Fit {
                how,
                path,
                file: ours.file.clone().unwrap_or_default(),
                line: ours.line,
                spot: *spot,
                depth,
            })
        };
        self.all.iter().filter_map(fit).collect()
    }

    /// How a frame of the trace fits one of a report.
    fn how(&self, theirs: &Frame, ours: &symbols::Frame) -> Option<(How, Option<PathFit>)> {
        let path = match (&theirs.file, &ours.file) {
            (Some(a), Some(b)) => path_fit(a, b),
            _ => None,
        };
        if self.is_instruction(theirs, ours) {
            return Some((How::Instruction, path));
        }
        let named = match (&theirs.function, &ours.function) {
            (Some(a), Some(b)) => Some(same_function(a, b)),
            _ => None,
        };
        if theirs.file.is_none() {
            // A location that is no line of a file, as traces of other tools have them.
            if ours.line.is_none() && ours.file.is_some() && ours.file == theirs.function {
                return Some((How::LineAlone, None));
            }
            return (named == Some(true)).then_some((How::Function, None));
        }
        path?;
        match (theirs.line, ours.line) {
            (Some(a), Some(b)) if a == b => {
                let how = if named == Some(true) { How::Line } else { How::LineAlone };
                Some((how, path))
            }
            (Some(a), Some(b)) => {
                let limit = match named {
                    Some(true) => DRIFT,
                    Some(false) => return None,
                    None => BLIND_DRIFT,
                };
                (a.abs_diff(b) <= limit).then_some((
                    How::Drift {
                        by: b as i32 - a as i32,
                    },
                    path,
                ))
            }
            (None, _) if named == Some(true) => Some((How::Function, path)),
            _ => None,
        }
    }

    fn is_instruction(&self, theirs: &Frame, ours: &symbols::Frame) -> bool {
        let (Some(module), Some(offset), Some((path, at))) = (&theirs.module, theirs.offset, &ours.module) else {
            return false;
        };
        if offset != *at || file_name(module) != file_name(path) {
            return false;
        }
        match (&theirs.build_id, self.build_ids.get(path.as_str())) {
            (Some(a), Some(b)) => a.eq_ignore_ascii_case(b),
            // Without the id of the build, the source position has to speak for it.
            _ => theirs.line.is_some() && ours.line.is_some() && agree(theirs, ours),
        }
    }

    /// The best of the fits, one choice for each place.
    fn best(&self, fits: Vec<Fit>, side: &Side, outer: &[Frame]) -> Vec<Choice> {
        let drifted = |fit: &Fit| matches!(fit.how, How::Drift { .. });
        // The kind of access speaks against a line that has moved, but not against one that has not: compilers
        // leave out reads before writes. Nor has an access moved to where a lock is used; and next to
        // a line that takes a lock is often one that takes another.
        let may_drift = |fit: &Fit| !self.of_locks && has_kind(side, fit.spot.kind) && fit.spot.kind != AccessKind::Use;
        let fits: Vec<Fit> = fits.into_iter().filter(|fit| !drifted(fit) || may_drift(fit)).collect();
        let rank = |fit: &Fit| {
            let distance = match fit.how {
                How::Drift { by } => by.unsigned_abs(),
                _ => 0,
            };
            let class = match fit.how {
                How::Drift { .. } => How::Drift { by: 0 },
                how => how,
            };
            let common = fit.path.map_or(0, |path| path.common);
            (class, distance, std::cmp::Reverse(common))
        };
        let Some(best) = fits.iter().map(rank).min() else {
            return Vec::new();
        };
        let mut places: Vec<(String, Option<u32>, Vec<Fit>)> = Vec::new();
        for fit in fits.into_iter().filter(|fit| rank(fit) == best) {
            let key = |place: &&mut (String, Option<u32>, Vec<Fit>)| {
                place.0 == fit.file && (place.1 == fit.line || fit.how == How::Function)
            };
            match places.iter_mut().find(key) {
                Some((.., fits)) => fits.push(fit),
                None => places.push((fit.file.clone(), fit.line, vec![fit])),
            }
        }
        places
            .into_iter()
            .filter_map(|(.., fits)| self.choice(fits, side, outer))
            .collect()
    }

    /// What is meant of the spots of one place; `None` if it is the end of a block, and the trace has none there: whatever
    /// else is there says nothing of that.
    fn choice(&self, fits: Vec<Fit>, side: &Side, outer: &[Frame]) -> Option<Choice> {
        let (how, path) = (fits[0].how, fits[0].path);
        let at = match (how, fits[0].line) {
            (How::Function, _) | (_, None) => fits[0].file.clone(),
            (_, Some(line)) => format!("{}:{line}", fits[0].file),
        };
        // A function that is the same is evidence enough for the file.
        let moved = how == How::LineAlone && path.is_some_and(|path| !path.whole);
        let frees = matches!(&side.stack, Stack::Frames(frames) if is_free(frames));
        let is_meant = |fit: &Fit| match frees {
            true => fit.spot.kind == AccessKind::Free,
            false => has_kind(side, fit.spot.kind),
        };
        let (kept, others): (Vec<Fit>, Vec<Fit>) = fits.into_iter().partition(is_meant);
        let other_kind = kept.is_empty();
        if other_kind && frees {
            return None;
        }
        let kept = if other_kind { others } else { kept };
        let scores: Vec<usize> = kept.iter().map(|fit| self.common_calls(outer, fit)).collect();
        let most = scores.iter().max().copied().unwrap_or(0);
        let spots = kept.iter().zip(scores).filter(|(_, score)| *score == most);
        Some(Choice {
            place: Place {
                at,
                how,
                moved,
                other_kind,
            },
            spots: spots.map(|(fit, _)| fit.spot).collect(),
        })
    }

    /// How many calls of the report's stack, from the innermost on, are also the trace's.
    fn common_calls(&self, outer: &[Frame], fit: &Fit) -> usize {
        let named = outer
            .iter()
            .filter(|frame| frame.function.is_some() && !is_intercepted(frame));
        let stack = self.symbols.stack(fit.spot.pc, fit.spot.stack);
        let ours = stack
            .iter()
            .skip(fit.depth + 1)
            .filter(|frame| frame.function.is_some());
        named.zip(ours).take_while(|(theirs, ours)| agree(theirs, ours)).count()
    }

    pub(super) fn trace(&self) -> &'a Trace {
        self.trace
    }
}

/// Whether an access in the trace is of the kind that a report says.
fn has_kind(side: &Side, kind: AccessKind) -> bool {
    let same_kind = side.writes.is_none_or(|writes| {
        if writes {
            kind.writes()
        } else {
            !kind.writes() || kind.reads()
        }
    });
    // A tool that does not tell atomic accesses means either.
    same_kind && side.atomic.is_none_or(|atomic| atomic == kind.is_atomic())
}
