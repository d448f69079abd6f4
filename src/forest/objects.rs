//! Synchronization objects, by where they are.

use super::operation::{ObjectId, Place};
use super::run::RunObjectKind;
use hashbrown::HashMap;

/// An object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub kind: RunObjectKind,
    /// Where it is.
    pub at: Place,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    rows: Vec<Object>,
    ids: HashMap<(u8, Place), ObjectId>,
}

impl Objects {
    pub(crate) fn get(&self, id: ObjectId) -> &Object {
        &self.rows[id.index()]
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The object of this kind at this place. The number of a barrier's threads may become known later.
    pub(crate) fn intern(&mut self, kind: RunObjectKind, at: Place) -> ObjectId {
        let class = match kind {
            RunObjectKind::Lock { .. } => 0,
            RunObjectKind::Condition => 1,
            RunObjectKind::Barrier { .. } => 2,
            RunObjectKind::Semaphore { .. } => 3,
            RunObjectKind::Once => 4,
            RunObjectKind::Source => 5,
        };
        let id = *self.ids.entry((class, at)).or_insert_with(|| {
            self.rows.push(Object { kind, at });
            ObjectId(self.rows.len() as u32 - 1)
        });
        if let (RunObjectKind::Barrier { parties }, RunObjectKind::Barrier { parties: Some(known) }) =
            (&mut self.rows[id.index()].kind, kind)
        {
            *parties = Some(known);
        }
        id
    }
}
