//! The Arrow schema in the footer of a Parquet file. It contains the units and meanings of the columns, for which
//! Parquet has no field.
//!
//! Under the key `ARROW:schema` there is, in base64, a message of Arrow's stream format: a mark, its length, and a
//! flatbuffer that is a `Message` (`Message.fbs` of Apache Arrow's `format`) containing a `Schema` (`Schema.fbs`).
//! Tables of a flatbuffer have numbered slots; the slots used here have names below. Reading checks every position
//! against the length of the bytes.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, TableFinishedWIPOffset, VOffsetT, WIPOffset};
use tailback_sim::results::table::{Column, Data};

pub const KEY: &str = "ARROW:schema";
/// Begins a message of a stream.
const MARK: [u8; 4] = [0xff; 4];

/// The table of slots begins with its own length and the length of the table.
const SLOTS: u16 = 4;
const fn slot(n: VOffsetT) -> VOffsetT {
    SLOTS + 2 * n
}

/// `Message`: version (V5), kind (a schema), schema.
const VERSION: VOffsetT = slot(0);
const HEADER_TYPE: VOffsetT = slot(1);
const HEADER: VOffsetT = slot(2);
/// `Schema`
const FIELDS: VOffsetT = slot(1);
/// `Field`
const NAME: VOffsetT = slot(0);
const NULLABLE: VOffsetT = slot(1);
const TYPE_TYPE: VOffsetT = slot(2);
const TYPE: VOffsetT = slot(3);
const CHILDREN: VOffsetT = slot(5);
const METADATA: VOffsetT = slot(6);
/// `KeyValue`
const PAIR_KEY: VOffsetT = slot(0);
const PAIR_VALUE: VOffsetT = slot(1);

type Written = WIPOffset<TableFinishedWIPOffset>;

/// The schema of a table's columns, for the footer.
pub fn encode(columns: &[Column]) -> String {
    let b = &mut FlatBufferBuilder::new();
    let fields: Vec<Written> = columns.iter().map(|c| field(b, c)).collect();
    let fields = b.create_vector(&fields);
    let schema = table(b, |b| b.push_slot_always(FIELDS, fields));
    let message = table(b, |b| {
        b.push_slot_always(VERSION, 4_i16);
        b.push_slot_always(HEADER_TYPE, 1_u8);
        b.push_slot_always(HEADER, schema);
    });
    b.finish(message, None);
    let message = b.finished_data();
    let length = (message.len() as u32).to_le_bytes();
    BASE64_STANDARD.encode([&MARK[..], &length, message].concat())
}

fn table<'b>(b: &mut FlatBufferBuilder<'b>, push: impl FnOnce(&mut FlatBufferBuilder<'b>)) -> Written {
    let start = b.start_table();
    push(b);
    b.end_table(start)
}

fn field(b: &mut FlatBufferBuilder<'_>, c: &Column) -> Written {
    let metadata = [pair(b, "doc", &c.doc), pair(b, "unit", &c.unit)];
    let metadata = b.create_vector(&metadata);
    let name = b.create_string(&c.name);
    let (kind, of_kind) = kind(b, &c.data);
    // Readers expect a list of inner fields, even an empty one.
    let children = b.create_vector::<WIPOffset<ForwardsUOffset<()>>>(&[]);
    table(b, |b| {
        b.push_slot_always(NAME, name);
        b.push_slot_always(TYPE_TYPE, kind);
        b.push_slot(NULLABLE, matches!(c.data, Data::Real(_)), false);
        b.push_slot_always(CHILDREN, children);
        b.push_slot_always(TYPE, of_kind);
        b.push_slot_always(METADATA, metadata);
    })
}

/// The type of a column's values: the number of the type, and the table with its details.
fn kind(b: &mut FlatBufferBuilder<'_>, data: &Data) -> (u8, Written) {
    match data {
        // `Int`: 64 bits, unsigned (an empty slot means unsigned).
        Data::Count(_) => (2, table(b, |b| b.push_slot_always(slot(0), 64_i32))),
        // `FloatingPoint`: double.
        Data::Real(_) => (3, table(b, |b| b.push_slot_always(slot(0), 2_i16))),
        // `Utf8`
        Data::Text(_) => (5, table(b, |_| {})),
    }
}

fn pair(b: &mut FlatBufferBuilder<'_>, key: &str, value: &str) -> Written {
    let (key, value) = (b.create_string(key), b.create_string(value));
    table(b, |b| {
        b.push_slot_always(PAIR_KEY, key);
        b.push_slot_always(PAIR_VALUE, value);
    })
}

/// Fill in the units and meanings of columns, as far as the schema gives them.
pub fn decode(text: &str, columns: &mut [Column]) {
    let message = BASE64_STANDARD.decode(text).unwrap_or_default();
    let message = TableCursor {
        bytes: &message,
        at: MARK.len() + WORD,
    };
    let schema = message.follow().and_then(|m| m.slot(HEADER));
    for field in schema
        .and_then(|s| s.slot(FIELDS))
        .into_iter()
        .flat_map(TableCursor::list)
    {
        let name = field.slot(NAME).and_then(TableCursor::text);
        let Some(c) = columns.iter_mut().find(|c| Some(&*c.name) == name) else {
            continue;
        };
        for pair in field.slot(METADATA).into_iter().flat_map(TableCursor::list) {
            let part = |slot| pair.slot(slot).and_then(TableCursor::text);
            match (part(PAIR_KEY), part(PAIR_VALUE)) {
                (Some("unit"), Some(unit)) => c.unit = unit.to_string().into(),
                (Some("doc"), Some(doc)) => c.doc = doc.to_string().into(),
                _ => {}
            }
        }
    }
}

/// Bytes of an offset, and of a length.
const WORD: usize = 4;

/// A position in the bytes of a flatbuffer. A position outside the bytes does not exist.
#[derive(Clone, Copy)]
struct TableCursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> TableCursor<'a> {
    fn u16(self) -> Option<u16> {
        Some(u16::from_le_bytes(*self.bytes.get(self.at..)?.first_chunk()?))
    }

    fn word(self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.bytes.get(self.at..)?.first_chunk()?))
    }

    fn on(self, by: usize) -> Option<TableCursor<'a>> {
        let at = self.at.checked_add(by)?;
        Some(TableCursor { at, ..self })
    }

    /// The position to which the offset here points.
    fn follow(self) -> Option<TableCursor<'a>> {
        self.on(self.word()? as usize)
    }

    /// The contents of a slot of the table here.
    fn slot(self, slot: VOffsetT) -> Option<TableCursor<'a>> {
        let slots = TableCursor {
            at: (self.at as i64 - i64::from(self.word()?.cast_signed()))
                .try_into()
                .ok()?,
            ..self
        };
        let is_in_table = slot < slots.u16()?;
        let offset = slots
            .on(slot.into())?
            .u16()
            .filter(|offset| is_in_table && *offset > 0)?;
        self.on(offset.into())?.follow()
    }

    fn text(self) -> Option<&'a str> {
        let start = self.on(WORD)?.at;
        let bytes = self.bytes.get(start..)?.get(..self.word()? as usize)?;
        std::str::from_utf8(bytes).ok()
    }

    /// The positions to which the offsets in this list point, as far as they are inside the bytes.
    fn list(self) -> impl Iterator<Item = TableCursor<'a>> {
        let length = self.word().unwrap_or(0) as usize;
        (1..=length).map_while(move |i| self.on(i * WORD)?.follow())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> [Column; 3] {
        [
            ("flow", "", Data::Text(vec![])),
            ("sent", "packets", Data::Count(vec![])),
            ("goodput", "bit/s", Data::Real(vec![])),
        ]
        .map(|(name, unit, data)| Column {
            name: name.into(),
            unit: unit.into(),
            doc: format!("of {name}").into(),
            data,
        })
    }

    fn bare() -> [Column; 3] {
        columns().map(|c| Column {
            unit: "".into(),
            doc: "".into(),
            ..c
        })
    }

    #[test]
    fn units_and_meanings_come_back() {
        let mut columns_found = bare();
        decode(&encode(&columns()), &mut columns_found);
        assert_eq!(columns_found, columns());
    }

    /// No changed bit leads outside the bytes, and a truncated schema gives nothing, or a part of it.
    #[test]
    fn what_is_damaged_says_less_and_stops_nothing() {
        let good = BASE64_STANDARD.decode(encode(&columns())).unwrap();
        let read = |bytes: &[u8]| {
            let mut columns_found = bare();
            decode(&BASE64_STANDARD.encode(bytes), &mut columns_found);
            columns_found
        };
        let mut changed_reads = 0;
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            changed_reads += usize::from(read(&bad) != columns());
        }
        assert!(changed_reads > good.len(), "{changed_reads} of {} bits", good.len() * 8);
        assert_eq!(read(&good[..good.len() / 4]), bare());
        decode("no base64", &mut bare());
    }
}
