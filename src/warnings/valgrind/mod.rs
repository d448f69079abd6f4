//! Reports of Valgrind's thread checkers, Helgrind and DRD. What they say is the same in text and in XML.
//!
//! Helgrind gives both accesses with their stacks, unless it was told to keep no history. DRD gives one; of the other
//! it knows only the segment of its thread in which it happened.

pub(super) mod text;
pub(super) mod xml;

use super::{Kind, Location, Side, Stack, lines};

/// What a line of a report says.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    /// A race is reported: its first access.
    Race(Side),
    /// The other access of the race before.
    Other(Side),
    /// What the race is about.
    Location(Location),
}

/// The meaning of a sentence of Helgrind or DRD; `None` if it is about nothing that has to do with a race.
fn said(text: &str) -> Option<Said> {
    if let Some(rest) = text.strip_prefix("Possible data race during ") {
        return access(rest).map(Said::Race);
    }
    if let Some(rest) = text.strip_prefix("This conflicts with a previous ") {
        return access(rest).map(Said::Other);
    }
    if let Some(rest) = text.strip_prefix("Conflicting ") {
        return access(rest).map(Said::Race);
    }
    location(text).map(Said::Location)
}

/// `write of size 4 at 0x10C0CC by thread #3`, `store by thread 3 at 0x0010c0cc size 4`.
fn access(text: &str) -> Option<Side> {
    let writes = match text.split_whitespace().next()? {
        "write" | "store" => true,
        "read" | "load" => false,
        _ => return None,
    };
    Some(Side {
        acquires: false,
        writes: Some(writes),
        // Neither knows which accesses are atomic.
        atomic: None,
        size: lines::word_after(text, "size ").and_then(lines::number),
        thread: lines::word_after(text, "thread ").map(|number| format!("thread {number}")),
        stack: Stack::NotGiven,
    })
}

/// `Address 0x10c0cc is 0 bytes inside data symbol "nested"`, `Location 0x… is 0 bytes inside global var "x"`.
fn location(text: &str) -> Option<Location> {
    let global = ["data symbol \"", "global var \""];
    if let Some(name) = global.iter().find_map(|key| lines::quoted_after(text, key)) {
        return Some(Location::Global { name: name.to_owned() });
    }
    if text.contains("is on thread ") && text.contains("stack") || text.contains("local var \"") {
        return Some(Location::ThreadStack);
    }
    let heap =
        text.contains("inside a block of size ") || text.contains("Allocation context:") && text.contains("offset");
    heap.then(|| Location::Heap { stack: Vec::new() })
}

/// Whether a sentence begins the stack of the acquisition that completes an order of locks: that which would wait.
fn completes_order(text: &str) -> bool {
    text.contains("followed by a later acquisition of lock")
}

/// The kind of what is no race, by its first sentence.
fn kind(title: &str) -> Kind {
    let title = title.to_lowercase();
    let has = |word: &str| title.contains(word);
    if has("lock order") {
        Kind::LockOrder
    } else if ["mutex", "lock", "rwlock", "semaphore", "barrier", "cond"]
        .iter()
        .any(|word| has(word))
    {
        Kind::LockMisuse
    } else {
        Kind::Other
    }
}

/// Whether a sentence says where a thread, a lock or a block comes from, and not what was done wrong.
fn explains(text: &str) -> bool {
    let words = ["was created", "was first observed", "Other segment", "Block was alloc"];
    words.iter().any(|words| text.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences() {
        let Some(Said::Race(side)) = said("Possible data race during write of size 4 at 0x10C0CC by thread #3") else {
            panic!("a race");
        };
        assert_eq!(
            (side.writes, side.size, side.thread.as_deref()),
            (Some(true), Some(4), Some("thread #3"))
        );
        let Some(Said::Other(side)) = said("This conflicts with a previous read of size 8 by thread #1") else {
            panic!("the other access");
        };
        assert_eq!((side.writes, side.size), (Some(false), Some(8)));
        let Some(Said::Race(side)) = said("Conflicting load by thread 3 at 0x0010c0cc size 2") else {
            panic!("a race");
        };
        assert_eq!(
            (side.writes, side.size, side.thread.as_deref()),
            (Some(false), Some(2), Some("thread 3"))
        );
        let global = Said::Location(Location::Global { name: "x".to_owned() });
        assert_eq!(
            said("Address 0x1 is 0 bytes inside data symbol \"x\""),
            Some(global.clone())
        );
        assert_eq!(said("Location 0x1 is 0 bytes inside global var \"x\""), Some(global));
        assert_eq!(
            said("Address 0x1 is on thread #2's stack"),
            Some(Said::Location(Location::ThreadStack))
        );
        assert_eq!(said("Locks held: none"), None);
        assert_eq!(
            kind("Thread #2: lock order \"0x1 before 0x2\" violated"),
            Kind::LockOrder
        );
        assert_eq!(kind("Mutex still locked at destruction: mutex 0x1"), Kind::LockMisuse);
        assert_eq!(kind("Exiting thread"), Kind::Other);
    }
}
