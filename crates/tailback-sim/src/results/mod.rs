//! The results of a run: tables with units, and the engine's counts. Each table has a file that declares its columns
//! and fills its rows.

pub mod column;
mod completions;
mod delays;
mod flows;
mod group_intervals;
mod groups;
mod intervals;
pub mod laws;
mod layers;
mod link_intervals;
mod links;
mod log;
mod losses;
mod media;
pub mod outcome;
mod pages;
pub mod quantity;
pub mod screen;
mod series;
mod size_classes;
mod slowdowns;
pub mod summary;
pub mod table;
mod transfers;

pub use outcome::{Layer, Outcome, Reading};
pub use table::{Cell, Column, ColumnDef, Data, Table};
