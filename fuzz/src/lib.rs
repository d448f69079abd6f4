//! What the fuzz targets ask of whatever they read: the properties, one place for each.
//!
//! A target turns its input into a trace or a schedule; what has to hold of it stands here, so that
//! a property that is added holds for every format.

pub mod analysis;
pub mod commands;
pub mod foreign;
pub mod native;
pub mod rings;
pub mod store;
pub mod warnings;
