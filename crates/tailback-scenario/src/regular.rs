//! Files that are opened to be read: neither pipes nor devices.

use std::fs::File;
use std::io;
use std::path::Path;

/// Open a file to read it.
///
/// # Errors
/// Any error of the file system, and a pipe or a device: opening a pipe waits for its writer, and a device may have no
/// end.
pub fn open(path: &Path) -> io::Result<File> {
    regular(path)?;
    File::open(path)
}

/// Refuse a path that exists and is no file.
///
/// # Errors
/// See [`open`]; a missing file is an error too.
pub fn regular(path: &Path) -> io::Result<()> {
    match path.metadata()?.is_file() {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "{} is a pipe, a device or a folder, not a file; remove it, or copy the folder of results anew",
            path.display()
        ))),
    }
}
