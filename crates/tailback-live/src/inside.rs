//! The system calls for a program that runs behind the box: namespaces to enter, processes and mounts of its own.
//! Everything made here vanishes with the processes that use it.

use crate::sys::check;
use std::ffi::{CString, c_ulong};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn text(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

fn mount(source: &Path, target: &Path, kind: &Path, flags: c_ulong) -> io::Result<()> {
    let (source, target, kind) = (text(source)?, text(target)?, text(kind)?);
    // SAFETY: the texts outlive the call, and no data are passed.
    check(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, std::ptr::null()) }).map(drop)
}

/// Enter the user namespace at this path, such as `/proc/77/ns/user`, with all its capabilities.
///
/// # Errors
/// The namespace belongs to another user, or this process has several threads.
pub fn join_user(path: &Path) -> io::Result<()> {
    let namespace = std::fs::File::open(path)?;
    // SAFETY: the descriptor is open.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWUSER) }).map(drop)
}

/// Give this process mounts of its own, and its next child a namespace of processes, in which that child is the first.
/// When the first process ends, the kernel ends all others.
///
/// # Errors
/// The capability `CAP_SYS_ADMIN` is missing, or the limit of namespaces is reached.
pub fn own_mounts_and_processes() -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWPID) })?;
    let (root, none) = (Path::new("/"), Path::new("none"));
    mount(none, root, none, libc::MS_REC | libc::MS_PRIVATE)
}

/// Let `target` show the file `source`.
///
/// # Errors
/// The file or the target does not exist.
pub fn show_at(source: &Path, target: &Path) -> io::Result<()> {
    mount(source, target, Path::new("none"), libc::MS_BIND)
}

/// Mount a file system without a device, such as `proc`.
///
/// # Errors
/// The kernel does not allow it here.
pub fn mount_new(kind: &Path, target: &Path) -> io::Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mount(kind, target, kind, flags)
}

/// Remove the uppermost mount at `target`. Files in use stay accessible until they are closed.
///
/// # Errors
/// Nothing is mounted there.
pub fn unmount(target: &Path) -> io::Result<()> {
    let target = text(target)?;
    // SAFETY: the text outlives the call.
    check(unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) }).map(drop)
}

/// Become this user again, in a user namespace whose creator was its root.
///
/// # Errors
/// The limit of namespaces is reached.
pub fn be_user_again(user: u32, group: u32) -> io::Result<()> {
    // SAFETY: these calls take and return numbers.
    let (inner_user, inner_group) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: no memory is involved.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
    // The outer namespace may have denied `setgroups` already.
    let _ = std::fs::write("/proc/self/setgroups", "deny");
    std::fs::write("/proc/self/uid_map", format!("{user} {inner_user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {inner_group} 1"))
}
