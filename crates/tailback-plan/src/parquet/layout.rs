//! The facts about a Parquet file that are needed to check it: the rows of each chunk, and a checksum of its bytes.

use crate::file::sums;
use serde_json::{Value, json};
use std::path::Path;
use tailback_scenario::regular::open;

/// The key for a file's own layout, if it does not list other files.
pub const OWN: &str = "own";

/// The layout of a file with one row group for each chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Rows of each chunk; a chunk without rows has no row group.
    pub rows: Vec<u64>,
    /// The end of each chunk's bytes, and finally the end of the file.
    pub ends: Vec<u64>,
    /// CRC-32 of the bytes up to each end.
    pub sums: Vec<u32>,
}

/// The parts of a file that are intact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    Whole,
    /// The chunks that are damaged.
    Damaged(Vec<usize>),
    /// The file is missing, cut, or its footer is damaged: nothing in it can be read.
    Lost,
}

impl Layout {
    /// The form of a layout in a footer, under the name of the table.
    pub fn to_json(&self) -> Value {
        json!({ "rows": self.rows, "ends": self.ends, "sums": self.sums })
    }

    pub fn from_json(v: &Value) -> Option<Layout> {
        let numbers = |v: &Value| -> Option<Vec<u64>> { v.as_array()?.iter().map(Value::as_u64).collect() };
        let sums = numbers(v.get("sums")?)?;
        Some(Layout {
            rows: numbers(v.get("rows")?)?,
            ends: numbers(v.get("ends")?)?,
            sums: sums.into_iter().map(|s| u32::try_from(s).ok()).collect::<Option<_>>()?,
        })
    }

    /// The layout that a file's own footer gives for its rows. The bytes after the rows were added when the file was
    /// closed.
    pub(super) fn own(text: &str, end: u64, sum: u32) -> Option<Layout> {
        let json: Value = serde_json::from_str(text).ok()?;
        let own_layout = match json.get(OWN) {
            Some(own) => own,
            // In the list of a place, the file of the list is the first.
            None => json.get("files")?.as_object()?.iter().next()?.1,
        };
        let mut layout = Layout::from_json(own_layout)?;
        layout.ends.push(end);
        layout.sums.push(sum);
        let rises = layout.ends.is_sorted();
        let fits = layout.rows.len() + 1 == layout.ends.len() && layout.ends.len() == layout.sums.len();
        (fits && rises).then_some(layout)
    }

    /// All rows as one section, which is enough for a file that only describes itself.
    pub(super) fn as_one(&self) -> Layout {
        let mut sum = crc32fast::Hasher::new();
        let mut begin = 0;
        for (end, s) in self.ends.iter().zip(&self.sums) {
            sum.combine(&crc32fast::Hasher::new_with_initial_len(*s, end - begin));
            begin = *end;
        }
        Layout {
            rows: vec![self.rows.iter().sum()],
            ends: vec![begin],
            sums: vec![sum.finalize()],
        }
    }

    /// Compare a file with its layout.
    pub fn check(&self, path: &Path) -> Condition {
        let length = std::fs::metadata(path).map_or(0, |m| m.len());
        let read_sums = match open(path).and_then(|mut f| sums(&mut f, &self.ends)) {
            Ok(read_sums) if self.ends.last() == Some(&length) => read_sums,
            _ => return Condition::Lost,
        };
        if read_sums.last() != self.sums.last() {
            return Condition::Lost;
        }
        let bad: Vec<usize> = (0..self.rows.len())
            .filter(|g| read_sums[*g] != self.sums[*g])
            .collect();
        if bad.is_empty() {
            Condition::Whole
        } else {
            Condition::Damaged(bad)
        }
    }
}
