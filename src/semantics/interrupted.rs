//! Which three accesses are an atomicity violation if the second comes between the others (`docs/SEMANTICS.md`,
//! section 3).

use crate::trace::AccessKind;

/// What an access does to a byte; at least one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// It sees the value.
    pub reads: bool,
    /// It leaves a value.
    pub writes: bool,
}

impl Part {
    /// What an access does; `None` of those that neither see nor leave a value.
    #[must_use]
    pub fn of(kind: AccessKind) -> Option<Part> {
        let part = Part {
            reads: kind.reads(),
            writes: kind.writes_value(),
        };
        (part.reads || part.writes).then_some(part)
    }
}

/// Whether three accesses of one byte, the second by another thread, are unserializable in this order.
#[must_use]
pub fn is_pattern(first: Part, between: Part, second: Part) -> bool {
    match between.writes {
        // What it leaves is read in the place of what was seen or left before, or is lost between a read and the write
        // that followed from it.
        true if second.reads || (first.reads && second.writes) => true,
        // It sees what is not to be seen: what the second then replaces.
        _ => first.writes && between.reads && second.writes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_patterns_are_unserializable() {
        let (read, write) = (
            Part {
                reads: true,
                writes: false,
            },
            Part {
                reads: false,
                writes: true,
            },
        );
        let mut found = Vec::new();
        for (letters, parts) in [("R", read), ("W", write)]
            .iter()
            .flat_map(|a| [("R", read), ("W", write)].map(|b| (a, b)))
            .flat_map(|(a, b)| [("R", read), ("W", write)].map(|c| ([a.0, b.0, c.0], [a.1, b.1, c.1])))
        {
            if is_pattern(parts[0], parts[1], parts[2]) {
                found.push(letters.concat());
            }
        }
        assert_eq!(found, ["RWR", "RWW", "WRW", "WWR"]);
    }

    #[test]
    fn what_reads_and_writes_counts_as_either() {
        let both = Part::of(AccessKind::AtomicRmw).expect("both");
        let read = Part::of(AccessKind::Read).expect("a read");
        assert!(is_pattern(both, both, both));
        assert!(is_pattern(both, read, both));
        assert!(!is_pattern(both, read, read));
        assert_eq!(Part::of(AccessKind::Use), None);
        assert_eq!(Part::of(AccessKind::Free), None);
    }
}
