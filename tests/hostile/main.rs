//! Folders, files and environments that mean harm: each test is an attack, and fails without what answers it
//! (docs/safety.md has the table).

#[path = "../../fuzz/src/analysis.rs"]
mod analysis;
mod bombs;
#[path = "../cli/command.rs"]
mod command;
#[path = "../../fuzz/src/commands.rs"]
mod commands;
mod environment;
mod explorations;
mod imports;
mod links;
mod live;
#[path = "../../fuzz/src/native.rs"]
mod native;
mod one_room;
mod outputs;
mod place;
mod planted;
mod random;
mod shell;
mod sources;
mod store;
mod words;
