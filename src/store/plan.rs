//! The plan of an analysis: the trace, the options, and the candidates in their order. Several shards can carry it out,
//! on machines that share nothing but the trace and the plan.

use super::{Binding, LARGEST, StoreError, at, write};
use crate::analyze::Shard;
use crate::candidates::Candidate;
use crate::results::{Options, tool};
use crate::trace::TraceId;
use safe_files::make_folder;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The value of [`Plan::schema`].
pub const PLAN_SCHEMA: &str = "witness-plan/1";
/// What plans are sealed as: what they do not look for is not found.
const PURPOSE: &str = "plan";

/// A plan: two that are equal have equal results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`PLAN_SCHEMA`].
    pub schema: String,
    /// Name and version of what decides.
    pub tool: String,
    /// The identity of the trace, 32 hexadecimal digits.
    pub trace: String,
    /// The options that verdicts depend on.
    pub options: Options,
    /// The candidates, in the order of their first conflict in the trace.
    pub candidates: Vec<PlannedPair>,
    /// How many further pairs nobody decides: there are more than the options allow.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unlisted: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// As it lies in a file.
#[derive(Serialize, Deserialize)]
struct Sealed {
    #[serde(flatten)]
    plan: Plan,
    /// That of whoever wrote it.
    #[serde(default)]
    seal: String,
}

/// One candidate of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedPair {
    /// The two code positions, hexadecimal.
    pub positions: (String, String),
    /// Conflicting pairs of events there, counted per cell.
    pub instances: u64,
}

/// The digest of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanId(String);

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Plan {
    /// The plan to decide `candidates` of a trace, and not so many others.
    #[must_use]
    pub fn new(trace: TraceId, options: Options, candidates: &[Candidate], unlisted: usize) -> Plan {
        let planned = |candidate: &Candidate| PlannedPair {
            positions: (
                format!("{:x}", candidate.positions.0),
                format!("{:x}", candidate.positions.1),
            ),
            instances: candidate.total,
        };
        Plan {
            schema: PLAN_SCHEMA.to_owned(),
            tool: tool(),
            trace: trace.to_string(),
            options,
            candidates: candidates.iter().map(planned).collect(),
            unlisted,
        }
    }

    /// Its digest.
    #[must_use]
    pub fn id(&self) -> PlanId {
        let json = serde_json::to_vec(self).expect("a plan has string keys only");
        // No other plan has it, whoever makes one.
        PlanId(blake3::hash(&json).to_hex()[..32].to_owned())
    }

    /// How many of its candidates are in a shard.
    #[must_use]
    pub fn share(&self, shard: Shard) -> usize {
        let all = self.candidates.len() as u32;
        (0..all).filter(|&number| shard.has(number, all)).count()
    }

    /// The file of a plan in a folder.
    #[must_use]
    pub fn path(folder: &Path) -> PathBuf {
        folder.join("plan.json")
    }

    /// Writes the plan to a folder, in place of what was there.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn save(&self, folder: &Path, binding: &Binding) -> Result<PathBuf, StoreError> {
        at(folder, make_folder(folder))?;
        let path = Plan::path(folder);
        let sealed = Sealed {
            plan: self.clone(),
            seal: binding.seal(PURPOSE, &[self.id().0.as_bytes()]),
        };
        let mut json = serde_json::to_vec_pretty(&sealed).expect("a plan has string keys only");
        json.push(b'\n');
        write(&path, &json)?;
        Ok(path)
    }

    /// Reads the plan of a trace from a folder, and whether this user has written it.
    ///
    /// # Errors
    /// [`StoreError`] if there is none, or it is malformed, or one of another trace or version.
    pub fn load(folder: &Path, trace: TraceId, binding: &Binding) -> Result<(Plan, bool), StoreError> {
        let path = Plan::path(folder);
        let json = match safe_files::read(&path, LARGEST) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(StoreError::NoPlan { path }),
            read => at(&path, read)?,
        };
        let Sealed { plan, seal } = match serde_json::from_slice(&json) {
            Ok(sealed) => sealed,
            Err(source) => return Err(StoreError::MalformedPlan { path, source }),
        };
        let other = [
            (plan.schema == PLAN_SCHEMA, "schema"),
            (plan.tool == tool(), "version of witness"),
            (plan.trace == trace.to_string(), "trace"),
        ];
        match other.into_iter().find(|&(same, _)| !same) {
            None => {
                let is_ours = binding.has_sealed(&seal, PURPOSE, &[plan.id().0.as_bytes()]);
                Ok((plan, is_ours))
            }
            Some((_, what)) => Err(StoreError::OtherPlan { path, what }),
        }
    }
}
