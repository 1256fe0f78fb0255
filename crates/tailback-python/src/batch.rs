//! A table of the engine as Arrow arrays, and back.

use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, RecordBatchOptions, StringArray, UInt64Array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{ArrowError, Field, Schema};
use std::collections::HashMap;
use std::sync::Arc;
use tailback_sim::results::{Column, Data, Table};

/// A table as an Arrow record batch, which takes over its memory. A number that does not apply (NaN) is null.
///
/// # Errors
/// Columns of unequal length.
pub fn to_batch(table: Table) -> Result<RecordBatch, ArrowError> {
    let rows = table.rows();
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for c in table.columns {
        let (array, nullable): (ArrayRef, bool) = match c.data {
            Data::Count(v) => (Arc::new(UInt64Array::from(v)), false),
            Data::Real(v) => (Arc::new(reals(v)), true),
            Data::Text(v) => (
                Arc::new(StringArray::from_iter_values(v.iter().map(|s| s.as_ref()))),
                false,
            ),
        };
        let meta =
            HashMap::from([("unit", c.unit), ("doc", c.doc)].map(|(key, text)| (key.to_string(), text.into_owned())));
        fields.push(Field::new(c.name, array.data_type().clone(), nullable).with_metadata(meta));
        arrays.push(array);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
}

/// A null contains NaN, for readers that only use the numbers.
fn reals(values: Vec<f64>) -> Float64Array {
    let nulls = values
        .iter()
        .any(|x| x.is_nan())
        .then(|| NullBuffer::new(BooleanBuffer::collect_bool(values.len(), |i| !values[i].is_nan())));
    Float64Array::new(values.into(), nulls)
}

/// Read an Arrow batch made by [`to_batch`].
pub fn from_batch(name: &str, batch: &RecordBatch) -> Table {
    let schema = batch.schema();
    let columns = schema
        .fields()
        .iter()
        .zip(batch.columns())
        .map(|(f, array)| {
            let any = array.as_any();
            let data = if let Some(x) = any.downcast_ref::<UInt64Array>() {
                Data::Count(x.values().to_vec())
            } else if let Some(x) = any.downcast_ref::<Float64Array>() {
                Data::Real(match x.null_count() {
                    0 => x.values().to_vec(),
                    _ => x.iter().map(|v| v.unwrap_or(f64::NAN)).collect(),
                })
            } else if let Some(strings) = any.downcast_ref::<StringArray>() {
                let mut last_text: Option<Arc<str>> = None;
                Data::Text(
                    (0..strings.len())
                        .map(|i| {
                            // Neighbouring rows often have the same text: share it.
                            let s = strings.value(i);
                            match &last_text {
                                Some(l) if **l == *s => l.clone(),
                                _ => last_text.insert(s.into()).clone(),
                            }
                        })
                        .collect(),
                )
            } else {
                Data::Real(vec![f64::NAN; array.len()])
            };
            let meta = |k: &str| f.metadata().get(k).cloned().unwrap_or_default();
            Column {
                name: f.name().clone().into(),
                unit: meta("unit").into(),
                doc: meta("doc").into(),
                data,
            }
        })
        .collect();
    Table {
        name: name.into(),
        columns,
    }
}
