//! Folders, files and environments that mean harm: each test is an attack, and fails without what answers it
//! (docs/safety.md has the table).

mod bombs;
#[path = "../cli/command.rs"]
mod command;
mod environment;
mod links;
mod live;
mod one_room;
mod place;
mod planted;
mod random;
mod sources;
mod store;
mod words;
