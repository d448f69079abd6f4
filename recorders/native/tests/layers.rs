//! The runtime's files form layers, one folder each, and a file uses its own layer and those below. Within a layer, no
//! file uses itself through others.

#[path = "../../../tests/layers/arrows.rs"]
mod arrows;

use arrows::{Arrows, arrows, in_circles, upward};
use std::path::Path;

/// The folders of `src`, lowest first.
const LAYERS: [&str; 11] = [
    "platform",
    "scheduling",
    "events",
    "runtime",
    "signals",
    "pthread",
    "libraries",
    "c_library",
    "abi",
    "interface",
    "process",
];

/// A circle that is one idea: a team executes tasks, and its tasks, barriers and settings are those of a team.
const ONE_IDEA: [&str; 7] = [
    "libraries::gomp::barrier",
    "libraries::gomp::depend",
    "libraries::gomp::settings",
    "libraries::gomp::share",
    "libraries::gomp::single",
    "libraries::gomp::tasks",
    "libraries::gomp::team",
];

fn of_runtime() -> Arrows {
    arrows(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

#[test]
fn every_file_uses_its_own_layer_and_those_below() {
    let arrows = of_runtime();
    assert!(arrows.len() > 80, "the runtime has more files than {}", arrows.len());
    let up = upward(&arrows, &LAYERS);
    assert!(up.is_empty(), "upward arrows:\n{}", up.join("\n"));
}

#[test]
fn no_file_uses_itself_through_others() {
    assert_eq!(in_circles(&of_runtime()), ONE_IDEA, "files in circles");
}
