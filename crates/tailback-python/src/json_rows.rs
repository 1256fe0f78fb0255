//! Rows of a table as JSON text, written directly from the columns, because a run of a million flows has as many
//! objects.

use arrow_array::{Array, Float64Array, RecordBatch, StringArray, UInt64Array};
use serde_json::to_string;

/// A column with its values in their type.
enum Values<'a> {
    Count(&'a UInt64Array),
    Real(&'a Float64Array),
    Text(&'a StringArray),
}

impl Values<'_> {
    fn of(column: &dyn Array) -> Option<Values<'_>> {
        let array = column.as_any();
        array
            .downcast_ref()
            .map(Values::Count)
            .or_else(|| array.downcast_ref().map(Values::Real))
            .or_else(|| array.downcast_ref().map(Values::Text))
    }

    /// JSON has no NaN and no infinity; both are null, as `serde_json` writes them.
    fn write(&self, row: usize, out: &mut String) -> serde_json::Result<()> {
        match self {
            Values::Count(x) => out.push_str(&to_string(&x.value(row))?),
            Values::Real(x) => out.push_str(&to_string(&x.value(row))?),
            Values::Text(x) => out.push_str(&to_string(x.value(row))?),
        }
        Ok(())
    }
}

/// The rows as objects with these columns, in brackets. Columns of other types are left out.
pub fn json_rows(batch: &RecordBatch, columns: &[usize]) -> serde_json::Result<String> {
    let mut parts = vec![];
    for column in columns {
        if let Some(values) = Values::of(batch.column(*column).as_ref()) {
            let separator = if parts.is_empty() { "" } else { ", " };
            let name = to_string(batch.schema_ref().field(*column).name())?;
            parts.push((format!("{separator}{name}: "), values));
        }
    }
    let mut out = String::from("[");
    for row in 0..batch.num_rows() {
        out.push_str(if row == 0 { "{" } else { ", {" });
        for (before, values) in &parts {
            out.push_str(before);
            values.write(row, &mut out)?;
        }
        out.push('}');
    }
    out.push(']');
    Ok(out)
}
