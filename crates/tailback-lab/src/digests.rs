//! Digests of the tables of a run: equal digests mean equal bytes, on any processor and in any browser.

use serde_json::{Map, Value, json};
use tailback_scenario::key::Key;
use tailback_sim::results::Table;
use tailback_sim::results::table::Data;

/// The bits of every NaN, because processors may make different ones.
const NO_VALUE: u64 = u64::MAX;

/// The number of rows and a digest of each table, by name.
pub fn of_tables(tables: &[Table]) -> Map<String, Value> {
    let named_digest = |t: &Table| (t.name.clone(), json!(format!("{} {}", t.rows(), digest(t))));
    tables.iter().map(named_digest).collect()
}

fn digest(table: &Table) -> Key {
    let mut bytes: Vec<u8> = table.name.bytes().collect();
    for c in &table.columns {
        bytes.extend(c.name.bytes().chain(c.unit.bytes()));
        match &c.data {
            Data::Count(all) => bytes.extend(all.iter().flat_map(|x| x.to_le_bytes())),
            Data::Real(all) => {
                let bits = |x: &f64| if x.is_nan() { NO_VALUE } else { x.to_bits() };
                bytes.extend(all.iter().flat_map(|x| bits(x).to_le_bytes()));
            }
            Data::Text(all) => bytes.extend(all.iter().flat_map(|x| x.bytes().chain([0]))),
        }
    }
    Key::of(bytes)
}
