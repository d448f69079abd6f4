//! Cheap arguments that a pair of accesses cannot race.
//!
//! Pruners may only drop pairs that have no witness; they may keep pairs that have none either.
//! Must-happen-before and lock acquisition histories are the two analyses of Said, Wang, Yang,
//! Sakallah (NFM 2011, section 5); the plain lockset is their special case and told apart because
//! people know it by that name.

mod clocks;
mod conditional_waits;
mod ending;
mod forced_posts;
mod grounds;
mod guarded;
mod handed_on;
mod histories;
mod lock_history;
mod lockset;
mod must_happen_before;
mod needed_by_all;
mod sums;
mod unique_writers;
mod variable_locks;
mod words;

pub use clocks::{Clocks, Places};
pub use ending::Ending;
pub use forced_posts::Semaphores;
pub use grounds::Grounds;
pub use handed_on::handed_on;
pub use histories::{Histories, HistoryId};
pub use lock_history::{HistoryClash, history_clash};
pub use lockset::{Hold, InAll, LockContext, LockContextId, LockContexts, held_at};
pub use must_happen_before::{Edge, MustHappenBefore};
pub use unique_writers::Needs;
pub use variable_locks::VariableLocks;
pub use words::{Done, Since, Steps as WordSteps, Word, Words};
