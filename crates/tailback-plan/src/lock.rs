//! Ensures that only one process at a time writes into a folder of results.
//!
//! The operating system holds the lock and releases it when the process ends, however the process ends. The file only
//! names the process. A lock has a name, so that shards of one plan can each have their own.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tailback_scenario::regular::{open, regular};

pub struct Lock {
    path: PathBuf,
    /// The file, which is open as long as the lock is held.
    _file: File,
}

impl Lock {
    /// # Errors
    /// Another process has the lock, and the message names that process; or the folder cannot be written.
    pub fn take(dir: &Path, name: &str) -> io::Result<Lock> {
        let path = dir.join(name);
        loop {
            if path.exists() {
                regular(&path)?;
            }
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let mut text = String::new();
                    let _ = file.read_to_string(&mut text);
                    let who = match text.trim() {
                        "" => "another process".to_string(),
                        id => format!("process {id}"),
                    };
                    return Err(io::Error::other(format!(
                        "{} is in use by {who}; wait until it has ended, or store elsewhere",
                        dir.display()
                    )));
                }
                // The file system has no locks. It is better to use it without a lock than not at all.
                Err(TryLockError::Error(_)) => {}
            }
            // The previous holder may have removed the file after we opened it and before we locked it.
            if same_file(&file, &path) {
                file.set_len(0)?;
                file.write_all(std::process::id().to_string().as_bytes())?;
                return Ok(Lock { path, _file: file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The process that is writing into a folder now.
pub fn holder(dir: &Path, name: &str) -> Option<u32> {
    let mut file = open(&dir.join(name)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            file.read_to_string(&mut text).ok()?;
            text.trim().parse().ok()
        }
        _ => None,
    }
}

#[cfg(unix)]
fn same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(a), Ok(b)) => a.ino() == b.ino() && a.dev() == b.dev(),
        _ => false,
    }
}

#[cfg(not(unix))]
fn same_file(_: &File, _: &Path) -> bool {
    true
}
