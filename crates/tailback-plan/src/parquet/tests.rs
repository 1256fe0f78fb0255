//! Files are written and read again, intact and damaged.

use super::*;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use tailback_sim::results::table::{Cell, ColumnDef, Table};

static DEFS: [ColumnDef; 3] = [
    ColumnDef::text("flow", "which"),
    ColumnDef::count("sent", "packets", "how many"),
    ColumnDef::real("goodput", "bit/s", "how fast"),
];

#[test]
fn a_table_survives_the_file_and_its_bytes_repeat() {
    let mut t = Table::new("flows", &DEFS);
    for i in 0..1000u64 {
        t.row([
            Cell::from(if i < 500 { "a" } else { "b" }),
            i.into(),
            (i as f64 * 0.5).into(),
        ]);
    }
    let dir = std::env::temp_dir().join(format!("tailback-parquet-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (a, b) = (dir.join("flows.parquet"), dir.join("again.parquet"));
    write(&a, &t).unwrap();
    write(&b, &t).unwrap();
    assert!(std::fs::read(&a).unwrap() == std::fs::read(&b).unwrap());
    assert_eq!(read(&a).unwrap(), t);
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_flipped_bit_costs_one_chunk_and_a_cut_the_file() {
    let dir = std::env::temp_dir().join(format!("tailback-chunks-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("flows.parquet");
    let table = |n: u64| {
        let mut t = Table::new("flows", &DEFS);
        (0..n).for_each(|i| t.row([Cell::from("a"), i.into(), 0.5.into()]));
        t
    };
    let mut w = ChunkWriter::create(&path).unwrap();
    for n in [3, 0, 500] {
        w.chunk(&table(n)).unwrap();
    }
    let layout = w.close().unwrap();
    assert_eq!(layout.rows, [3, 0, 500]);
    assert_eq!(layout.check(&path), Condition::Whole);
    for (row_group, n) in [3, 0, 500].into_iter().enumerate() {
        assert_eq!(read_chunk(&path, "flows", &layout, row_group).unwrap(), table(n));
    }
    let good = std::fs::read(&path).unwrap();
    for (position, byte) in good.iter().copied().enumerate() {
        put(&path, position, byte ^ 4);
        let expected = match position as u64 {
            x if x < layout.ends[0] => Condition::Damaged(vec![0]),
            x if x < layout.ends[2] => Condition::Damaged(vec![2]),
            _ => Condition::Lost,
        };
        assert_eq!(layout.check(&path), expected, "byte {position}");
        put(&path, position, byte);
    }
    std::fs::write(&path, &good[..good.len() - 1]).unwrap();
    assert_eq!(layout.check(&path), Condition::Lost);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// For any changed bit in a file that is read alone: its table, or an error. Never other numbers, never a panic.
#[test]
fn a_flipped_bit_is_an_error_and_never_another_number() {
    let dir = std::env::temp_dir().join(format!("tailback-flips-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let mut t = Table::new("flows", &DEFS);
    for i in 0..40u64 {
        let goodput = if i % 7 == 0 { f64::NAN } else { i as f64 * 0.5 };
        t.row([Cell::from(if i < 20 { "a" } else { "b" }), i.into(), goodput.into()]);
    }
    let (whole_file, chunked, bad) = (
        dir.join("flows.parquet"),
        dir.join("chunks.parquet"),
        dir.join("bad.parquet"),
    );
    write(&whole_file, &t).unwrap();
    let mut w = ChunkWriter::create(&chunked).unwrap();
    w.chunk(&t.rows_between(0, 15)).unwrap();
    w.chunk(&t.rows_between(15, 40)).unwrap();
    w.close().unwrap();
    for file in [whole_file, chunked] {
        let good = std::fs::read(&file).unwrap();
        let mut refused = 0;
        std::fs::write(&bad, &good).unwrap();
        for at in 0..good.len() * 8 {
            put(&bad, at / 8, good[at / 8] ^ (1 << (at % 8)));
            match read(&bad) {
                Ok(found) => assert_eq!(shown(&found), shown(&t), "bit {at} of {}", file.display()),
                Err(_) => refused += 1,
            }
            put(&bad, at / 8, good[at / 8]);
        }
        // Only a change in the mark of the checksums themselves may pass.
        assert!(refused + 8 * 18 >= good.len() * 8, "{refused} of {}", good.len() * 8);
        assert_eq!(shown(&read(&file).unwrap()), shown(&t));
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Change one byte in place, because a file system may wait for the disk whenever a file is rewritten.
fn put(path: &Path, at: usize, byte: u8) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at as u64)).unwrap();
    file.write_all(&[byte]).unwrap();
}

/// In this text form, unlike in numbers, NaN equals NaN.
fn shown(t: &Table) -> String {
    format!("{:?}", t.columns)
}

/// A file of an older version, which has no checksums, with a bit that makes the third-party reader panic.
#[test]
fn what_stops_the_reader_is_damage() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/damaged/stops-the-reader.parquet");
    let said = read(&file).unwrap_err().to_string();
    assert!(said.contains("stops-the-reader.parquet is damaged"), "{said}");
}

#[test]
fn a_number_that_does_not_apply_is_null_to_others_and_nan_here() {
    let mut t = Table::new("flows", &DEFS);
    t.row([Cell::from("a"), 1u64.into(), f64::NAN.into()]);
    t.row([Cell::from("a"), 2u64.into(), 0.5.into()]);
    let path = std::env::temp_dir().join(format!("tailback-nulls-{}.parquet", std::process::id()));
    write(&path, &t).unwrap();
    let file = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let nulls = |column| {
        let values = file.metadata().row_group(0).column(column).statistics().unwrap();
        values.null_count_opt().unwrap_or(0)
    };
    assert_eq!([nulls(0), nulls(1), nulls(2)], [0, 0, 1]);
    let back = read(&path).unwrap().reals("goodput").unwrap();
    assert!(back[0].is_nan() && back[1] == 0.5);
    std::fs::remove_file(&path).unwrap();
}

/// A file as it was written through Arrow's arrays, with its units and meanings.
#[test]
fn what_older_versions_wrote_is_read() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/older/flows.parquet");
    let mut t = Table::new("flows", &DEFS);
    for i in 0..40u64 {
        let goodput = if i % 7 == 0 { f64::NAN } else { i as f64 * 0.5 };
        let flow = match i {
            0..20 => "a",
            20..35 => "ü b",
            _ => "",
        };
        let sent = if i < 39 { i * i } else { u64::MAX };
        t.row([Cell::from(flow), sent.into(), goodput.into()]);
    }
    assert_eq!(shown(&read(&file).unwrap()), shown(&t));
}
