//! `witness confirm` and `witness explain`, on reports that the stock tools made of the programs under
//! `tests/programs`.
//!
//! `reports` holds what gcc 12, clang 14 and Valgrind 3.19 said (`scripts/stock-reports` makes them). The traces are
//! made by the tests: the programs are compiled and recorded, in another folder than the reports', by one
//! compiler, and without the tools.

mod command;
mod explain;
mod exports;
mod real;
mod recorded;
mod run;
mod suppressed;
mod unrecorded;
