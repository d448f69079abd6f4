//! What whoever plans an analysis has worked out for its workers, beside the plan.
//!
//! The first line is a seal ([`Binding`]) over the plan and all that follows: the edges in flat arrays of little-endian
//! numbers, then the decisions as JSON. What this user has not sealed for this plan, or what does not fit the trace,
//! counts for nothing: each worker then works it out for itself.

use super::{Binding, LARGEST, PlanId, StoreError, at, remove, write};
use crate::analyze::{Decision, Prepared};
use crate::prune::Edge;
use crate::trace::{EventId, Trace};
use safe_files::make_folder;
use std::path::{Path, PathBuf};

/// What it is sealed as.
const PURPOSE: &str = "prepared";
/// Stands for no list of edges.
const NONE: u32 = u32::MAX;

fn path(folder: &Path) -> PathBuf {
    folder.join("plan.prepared")
}

/// Writes what is prepared for a plan to its folder, in place of what was there.
///
/// # Errors
/// [`StoreError::Io`].
pub fn save_prepared(
    folder: &Path,
    plan: &PlanId,
    prepared: Option<&Prepared>,
    binding: &Binding,
) -> Result<(), StoreError> {
    at(folder, make_folder(folder))?;
    let path = path(folder);
    let Some(prepared) = prepared else {
        return remove(&path);
    };
    let content = to_bytes(prepared);
    let mut bytes = binding
        .seal(PURPOSE, &[plan.to_string().as_bytes(), &content])
        .into_bytes();
    bytes.push(b'\n');
    bytes.extend(content);
    write(&path, &bytes)
}

/// Reads what is prepared for a plan of a trace with so many candidates; `None` if this user has not prepared it.
#[must_use]
pub fn load_prepared(
    folder: &Path,
    plan: &PlanId,
    trace: &Trace,
    candidates: usize,
    binding: &Binding,
) -> Option<Prepared> {
    let bytes = safe_files::read(&path(folder), LARGEST).ok()?;
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let (seal, content) = (std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]);
    if !binding.has_sealed(seal, PURPOSE, &[plan.to_string().as_bytes(), content]) {
        return None;
    }
    from_bytes(content).filter(|prepared| prepared.fits(trace, candidates))
}

fn to_bytes(prepared: &Prepared) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut put = |number: u32| bytes.extend(number.to_le_bytes());
    for edges in [Some(&prepared.needed), prepared.unpinned.as_ref()] {
        put(edges.map_or(NONE, |edges| edges.len() as u32));
        for edge in edges.into_iter().flatten() {
            put(edge.to.0);
            put(edge.from.0);
        }
    }
    bytes.extend(serde_json::to_vec(&prepared.near).expect("a decision has string keys only"));
    bytes
}

fn from_bytes(content: &[u8]) -> Option<Prepared> {
    let mut left = content;
    let needed = edges(&mut left)??;
    let unpinned = edges(&mut left)?;
    let near: Vec<Decision> = serde_json::from_slice(left).ok()?;
    Some(Prepared { needed, unpinned, near })
}

/// The edges that come next, or that there is no list of them; `None` if the bytes end before.
fn edges(left: &mut &[u8]) -> Option<Option<Vec<Edge>>> {
    let count = number(left)?;
    if count == NONE {
        return Some(None);
    }
    let (numbers, rest) = left.split_at_checked((count as usize).checked_mul(8)?)?;
    *left = rest;
    let edge = |mut bytes: &[u8]| {
        let (to, from) = (number(&mut bytes)?, number(&mut bytes)?);
        Some(Edge {
            to: EventId(to),
            from: EventId(from),
        })
    };
    numbers
        .chunks_exact(8)
        .map(edge)
        .collect::<Option<Vec<Edge>>>()
        .map(Some)
}

fn number(left: &mut &[u8]) -> Option<u32> {
    let (bytes, rest) = left.split_first_chunk()?;
    *left = rest;
    Some(u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(to: u32, from: u32) -> Edge {
        Edge {
            to: EventId(to),
            from: EventId(from),
        }
    }

    #[test]
    fn what_is_written_is_read_and_what_is_cut_is_not() {
        for unpinned in [None, Some(Vec::new()), Some(vec![edge(7, 2)])] {
            let prepared = Prepared {
                needed: vec![edge(3, 1), edge(9, 4)],
                unpinned,
                near: Vec::new(),
            };
            let bytes = to_bytes(&prepared);
            let read = from_bytes(&bytes).expect("it is whole");
            assert_eq!((&read.needed, &read.unpinned), (&prepared.needed, &prepared.unpinned));
            assert!((0..bytes.len()).all(|end| from_bytes(&bytes[..end]).is_none()));
        }
    }
}
