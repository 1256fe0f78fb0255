//! What a run gives back: tables with units, and what the engine did.

pub mod outcome;
pub mod parquet;
pub mod table;

pub use outcome::Outcome;
pub use table::{Cell, Column, ColumnDef, Data, Table};
