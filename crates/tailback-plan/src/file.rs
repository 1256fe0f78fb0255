//! Files that are either complete or absent, and in which damage is detected.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Write a file under another name next to its place, then move it there.
///
/// # Errors
/// Any error of the file system; a partial file is removed, and a file that was there before is unchanged.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".partial");
    let partial = path.with_file_name(name);
    let done = open_new(&partial)
        .and_then(|mut f| write(&mut f).and_then(|()| f.sync_all()))
        .and_then(|()| std::fs::rename(&partial, path));
    if done.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    done
}

/// A new file, or an old one that is truncated. The file can also be read.
///
/// # Errors
/// Any error of the file system.
pub fn open_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
}

/// Make renames in a folder survive a power cut.
///
/// # Errors
/// Any error of the file system.
pub fn sync_folder(dir: &Path) -> io::Result<()> {
    // Some systems cannot open a folder; there the rename alone has to be enough.
    match File::open(dir) {
        Ok(f) => f.sync_all(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(e),
        Err(_) => Ok(()),
    }
}

/// The CRC-32 of each section of a file; the sections end at these offsets.
///
/// # Errors
/// A file that cannot be read, or that ends before the last offset.
pub fn sums(file: &mut File, ends: &[u64]) -> io::Result<Vec<u32>> {
    sums_from(file, 0, ends)
}

/// Like [`sums`], starting at an offset.
///
/// # Errors
/// The errors are those of [`sums`].
pub fn sums_from(file: &mut File, start: u64, ends: &[u64]) -> io::Result<Vec<u32>> {
    let mut buffer = vec![0u8; 1 << 16];
    let mut position = file.seek(SeekFrom::Start(start))?;
    let mut sums = Vec::with_capacity(ends.len());
    for end in ends {
        let mut sum = crc32fast::Hasher::new();
        while position < *end {
            let n = usize::try_from(*end - position).unwrap_or(usize::MAX).min(buffer.len());
            file.read_exact(&mut buffer[..n])?;
            sum.update(&buffer[..n]);
            position += n as u64;
        }
        sums.push(sum.finalize());
    }
    // Later writes must continue at the end.
    file.seek(SeekFrom::End(0))?;
    Ok(sums)
}

/// JSON in an envelope with a checksum: `{"sum": CRC-32 of the value's text, "NAME": value}`.
pub fn sealed(name: &str, value: &serde_json::Value) -> serde_json::Value {
    let sum = crc32fast::hash(value.to_string().as_bytes());
    serde_json::json!({ "sum": sum, name: value })
}

/// The value inside an envelope of [`sealed`]; `None` if it is damaged.
pub fn unsealed(name: &str, envelope: &serde_json::Value) -> Option<serde_json::Value> {
    let value = envelope.get(name)?;
    let sum = crc32fast::hash(value.to_string().as_bytes());
    (envelope.get("sum")?.as_u64()? == u64::from(sum)).then(|| value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_what_was_there() {
        let dir = std::env::temp_dir().join(format!("tailback-partial-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("x");
        std::fs::write(&path, "before").unwrap();
        let e = write_whole(&path, |_| Err(io::Error::other("disk full"))).unwrap_err();
        assert_eq!(e.to_string(), "disk full");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "before");
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_changed_value_breaks_the_seal() {
        let mut e = sealed("chunk", &serde_json::json!({ "rows": [1, 2] }));
        assert_eq!(unsealed("chunk", &e), Some(serde_json::json!({ "rows": [1, 2] })));
        e["chunk"]["rows"][1] = 3.into();
        assert_eq!(unsealed("chunk", &e), None);
    }
}
