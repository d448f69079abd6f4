//! The command line on traces written by hand: exit statuses, messages, reports.

mod bad_input;
mod command;
mod exports;
mod limits;
mod noise;
mod other_values;
mod page;
mod parts;
mod reports;
mod setup;
mod stored;
mod traces;
