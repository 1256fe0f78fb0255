//! Tables to Parquet, and back.
//!
//! Units and meanings are stored in the metadata of each column (`unit`, `doc`). The bytes of a file depend only on
//! the table: there is no time stamp, and the writer settings are fixed.
//!
//! A file of a store has one row group for each chunk of runs, and the store remembers a checksum of each. Damage is
//! therefore found before the file is decoded, and costs only the runs of that row group. Every file also has the
//! checksums of its own bytes in its footer, so that it can be checked when no other file is read. (Checksums of pages
//! would leave out the headers of the pages and the footer, and the parquet crate does not write them.)
//!
//! A count is a required `INT64` of the logical type `INTEGER(64, false)`. A number is an optional `DOUBLE` (NaN, "no
//! value", is null). A text is a required `BYTE_ARRAY` of the logical type `STRING`. These are plain columns, for which
//! the parquet crate's own writers and readers are enough, without Arrow's arrays.

mod arrow_schema;
pub mod footer;
mod layout;
mod quiet;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use layout::{Condition, Layout, OWN};
pub use read::{RowGroups, columns, read, read_chunk, read_columns};
pub use write::{ChunkWriter, write};

use std::io;

fn fail(e: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::other(e)
}
