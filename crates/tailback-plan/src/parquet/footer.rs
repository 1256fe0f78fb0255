//! A text in the footer of a Parquet file, with a checksum over everything after the rows. The file therefore describes
//! itself, and shows whether it has been changed.

use parquet::file::metadata::ParquetMetaDataReader;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use tailback_scenario::regular::open;

/// The writer of a file, in its metadata.
pub const MAKER: &str = "tailback";
/// The beginning of the text. The checksum of the text, the end of the rows, and the length of the text follow, in
/// hexadecimal digits.
const MARK: &str = "tailback-contents:";
const SUM: usize = 8;
const START: usize = 16;
const LENGTH: usize = 8;
/// The end of every Parquet file: the length of the footer, and a magic word.
const TAIL: u64 = 8;
const MAGIC: &[u8] = b"PAR1";

/// The metadata of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FooterText {
    /// A Parquet file without such a text in its footer.
    Nothing,
    /// The part behind the rows has been changed.
    Damaged,
    Text {
        text: String,
        /// The length of the file.
        end: u64,
        /// CRC-32 of everything after the rows.
        sum: u32,
    },
}

/// The text as it is written into the footer, still without its checksum. The rows end at `start`.
pub fn entry(text: &str, start: u64) -> String {
    format!("{MARK}{:0SUM$x}{start:0START$x}{:0LENGTH$x}{text}", 0, text.len())
}

/// Fill in the checksum of a file that was written with [`entry`]; the caller syncs the file.
///
/// # Errors
/// An error of the file system.
pub fn seal(file: &mut File, start: u64) -> io::Result<()> {
    let bytes = from(file, start)?;
    let contents_offset = find(&bytes).ok_or_else(|| io::Error::other("the footer has no contents"))?;
    let sum = format!("{:0SUM$x}", crc32fast::hash(&bytes));
    file.seek(SeekFrom::Start(start + contents_offset as u64))?;
    file.write_all(sum.as_bytes())
}

/// Read the metadata of a file.
///
/// # Errors
/// A file that cannot be read. A damaged file is not an error.
pub fn read(path: &Path) -> io::Result<FooterText> {
    let mut file = open(path)?;
    let end = file.metadata()?.len();
    let Some(tail) = end.checked_sub(TAIL) else {
        return Ok(FooterText::Damaged);
    };
    let bytes = from(&mut file, tail)?;
    let (length, magic) = bytes.split_at(4);
    let length = length.try_into().map(u32::from_le_bytes).unwrap_or(u32::MAX);
    let (MAGIC, Some(footer)) = (magic, tail.checked_sub(u64::from(length))) else {
        return Ok(FooterText::Damaged);
    };
    let bytes = from(&mut file, footer)?;
    let Some(at) = find(&bytes) else {
        return Ok(if is_ours(file) {
            FooterText::Damaged
        } else {
            FooterText::Nothing
        });
    };
    let Some((start, text)) = parts(&bytes[at..]) else {
        return Ok(FooterText::Damaged);
    };
    if start > footer {
        return Ok(FooterText::Damaged);
    }
    let mut bytes = from(&mut file, start)?;
    let sum = crc32fast::hash(&bytes);
    let at = at + (footer - start) as usize;
    let written = hexadecimal(&bytes[at..at + SUM]);
    bytes[at..at + SUM].fill(b'0');
    if written != Some(u64::from(crc32fast::hash(&bytes))) {
        return Ok(FooterText::Damaged);
    }
    Ok(FooterText::Text { text, end, sum })
}

/// Whether tailback wrote a file. It writes a mark into each of its files, so one of its files without a mark is
/// damaged.
fn is_ours(file: File) -> bool {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file);
    metadata.is_ok_and(|m| m.file_metadata().created_by() == Some(MAKER))
}

/// The place where the rows end, and the text.
fn parts(entry: &[u8]) -> Option<(u64, String)> {
    let start = hexadecimal(entry.get(SUM..SUM + START)?)?;
    let behind = SUM + START + LENGTH;
    let length = hexadecimal(entry.get(SUM + START..behind)?)?;
    let text = entry.get(behind..)?.get(..usize::try_from(length).ok()?)?;
    Some((start, String::from_utf8(text.to_vec()).ok()?))
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The first byte after the mark. Names of columns come before the mark, and these names may contain anything.
fn find(bytes: &[u8]) -> Option<usize> {
    let at = bytes.windows(MARK.len()).rposition(|w| w == MARK.as_bytes())?;
    Some(at + MARK.len())
}

fn from(file: &mut File, start: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parquet::ChunkWriter;
    use tailback_sim::results::table::{Cell, ColumnDef, Table};

    static DEFS: [ColumnDef; 1] = [ColumnDef::text("flow", "which")];

    #[test]
    fn a_file_says_what_was_written_until_a_bit_behind_its_rows_changes() {
        let dir = std::env::temp_dir().join(format!("tailback-footer-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("runs.parquet");
        let mut t = Table::new("runs", &DEFS);
        t.row([Cell::from("a")]);
        let writer = || {
            let mut w = ChunkWriter::create(&path).unwrap();
            w.chunk(&t).unwrap();
            w
        };
        let layout = writer().close_saying(&|own| format!("rows: {:?}", own.rows)).unwrap();
        let (rows, end) = (layout.ends[0] as usize, layout.ends[1]);
        let footer_text = FooterText::Text {
            text: "rows: [1]".into(),
            end,
            sum: layout.sums[1],
        };
        assert_eq!(read(&path).unwrap(), footer_text);
        let good = std::fs::read(&path).unwrap();
        let mark = find(&good).unwrap() - MARK.len();
        for at in (0..good.len()).step_by(3).chain(mark..mark + MARK.len() + SUM) {
            let mut bad = good.clone();
            bad[at] ^= 2;
            std::fs::write(&path, &bad).unwrap();
            let expected = match at {
                // The rows have their own checksums.
                at if at < rows => footer_text.clone(),
                // This also holds if the mark is missing, because a file that was written here has a mark.
                _ => FooterText::Damaged,
            };
            let text_found = read(&path).unwrap();
            assert!(
                text_found == expected || text_found == FooterText::Nothing && at > good.len() - 9,
                "byte {at}: {text_found:?}"
            );
        }
        for length in (0..good.len()).step_by(41) {
            std::fs::write(&path, &good[..length]).unwrap();
            assert_eq!(read(&path).unwrap(), FooterText::Damaged, "cut to {length} bytes");
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
