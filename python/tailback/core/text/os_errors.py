"""Errors of the file system in words."""

from __future__ import annotations

import errno

#: The remedy for each error of the file system, and for any other error.
_OTHERWISE = "name an ordinary file or folder, or check the disk"
_REMEDIES = {
    errno.ENOENT: "check the path and its folder",
    errno.EEXIST: "there is a file of that name; name another place",
    errno.ENOTDIR: "a file stands where a folder should; name another place",
    errno.EISDIR: "this is a folder; name a file",
    errno.EACCES: "check the permissions, or name another place",
    errno.EPERM: "check the permissions, or name another place",
    errno.EROFS: "name a place on a disk that can be written",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.EINVAL: "name an ordinary file or folder",
    errno.EFBIG: "name a file of text, such as one that ends in .toml",
    errno.ENOSPC: "make room, and run the same command again",
    errno.EMFILE: "raise the limit of open files (ulimit -n), or give fewer --jobs",
}


def os_message(e: OSError) -> str:
    """The message for an error of the file system, with the path if it is known, and the remedy."""
    reason = e.strerror or str(e)
    if e.errno == errno.ENOSPC:
        reason = "no space is left on the disk"
    if e.errno is not None:
        reason = f"{reason}; {_REMEDIES.get(e.errno, _OTHERWISE)}"
    return f"{e.filename}: {reason}" if e.filename else reason
