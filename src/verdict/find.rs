//! What somebody looks for.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A kind of things to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Data races, unordered ones among them.
    Races,
    /// Threads that wait for each other for ever.
    Deadlocks,
    /// Accesses of what was freed before.
    UseAfterFree,
    /// Accesses of another thread between two that belong together.
    Atomicity,
    /// Reads of memory before it is initialized.
    Order,
    /// Reads of pointers that are followed, and may be null.
    NullPointer,
    /// Reads of pointers that are followed, and may point to what was freed.
    StalePointer,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 7] = [
        Kind::Races,
        Kind::Deadlocks,
        Kind::UseAfterFree,
        Kind::Atomicity,
        Kind::Order,
        Kind::NullPointer,
        Kind::StalePointer,
    ];

    /// The kinds that are looked for if nobody says which.
    pub const DEFAULT: [Kind; 3] = [Kind::Races, Kind::Deadlocks, Kind::UseAfterFree];

    /// As the command line and results have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Races => "races",
            Kind::Deadlocks => "deadlocks",
            Kind::UseAfterFree => "use-after-free",
            Kind::Atomicity => "atomicity",
            Kind::Order => "order",
            Kind::NullPointer => "null-pointer",
            Kind::StalePointer => "stale-pointer",
        }
    }
}

/// The kinds of things that are looked for. What is not among them costs nothing, and nothing is said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Find(u8);

impl Default for Find {
    fn default() -> Find {
        Find::of(&Kind::DEFAULT)
    }
}

impl Find {
    /// These kinds.
    #[must_use]
    pub const fn of(kinds: &[Kind]) -> Find {
        let (mut bits, mut at) = (0, 0);
        while at < kinds.len() {
            bits |= 1 << kinds[at] as u8;
            at += 1;
        }
        Find(bits)
    }

    /// Whether this kind is among them.
    #[must_use]
    pub const fn has(self, kind: Kind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }

    /// The kinds, in the order of [`Kind::ALL`].
    pub fn kinds(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |&kind| self.has(kind))
    }

    /// Whether pairs of accesses are asked about at all.
    #[must_use]
    pub const fn pairs(self) -> bool {
        self.has(Kind::Races) || self.has(Kind::UseAfterFree)
    }

    /// Whether these are the kinds that are looked for if nobody says which.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Find::default()
    }
}

impl Serialize for Find {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.kinds())
    }
}

impl<'de> Deserialize<'de> for Find {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Find, D::Error> {
        Vec::<Kind>::deserialize(deserializer).map(|kinds| Find::of(&kinds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_kept_and_written_in_one_order() {
        let find = Find::of(&[Kind::UseAfterFree, Kind::Races]);
        assert_eq!(find.kinds().collect::<Vec<_>>(), [Kind::Races, Kind::UseAfterFree]);
        assert!(!find.has(Kind::Deadlocks) && !find.is_default());
        let json = serde_json::to_string(&find).unwrap();
        assert_eq!(json, r#"["races","use-after-free"]"#);
        assert_eq!(serde_json::from_str::<Find>(&json).unwrap(), find);
    }

    #[test]
    fn names_are_those_of_results() {
        for kind in Kind::ALL {
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("{:?}", kind.name()));
        }
    }
}
