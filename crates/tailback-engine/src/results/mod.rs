//! The results of a run: tables with units, and the engine's counts. A table is a file that declares its columns and
//! fills its rows.

pub mod column;
mod completions;
mod datagrams;
mod delays;
pub mod file;
mod flows;
#[cfg(feature = "parquet")]
pub mod footer;
mod frames;
mod group_intervals;
mod groups;
mod intervals;
pub mod laws;
mod link_intervals;
mod links;
mod log;
mod losses;
pub mod outcome;
mod pages;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod quantity;
#[cfg(feature = "parquet")]
mod quiet;
pub mod screen;
mod series;
pub mod summary;
pub mod table;
mod transfers;

pub use outcome::{Outcome, Reading};
pub use table::{Cell, Column, ColumnDef, Data, Table};
