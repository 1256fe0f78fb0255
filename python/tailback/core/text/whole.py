"""Writes files atomically: each is written beside its place, then moved there.

Every run imports this module. The module imports `hashlib` only for a name that is too long.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: The most bytes of a name that every file system allows.
LONGEST_NAME = 240


@contextmanager
def whole(path: Path, part_is_kept: bool = False) -> Iterator[Path]:
    """A temporary path that becomes `path` when the file is whole. After a full disk or a kill, the old file is still
    there.

    A pipe or a device is written in place. With `part_is_kept`, an interruption leaves the part that was written.
    """
    if path.is_fifo():
        # Opening waits for a reader, and here Ctrl-C interrupts the wait; the writer opens it again.
        with open(path, "wb"):
            yield path
        return
    if path.exists() and not path.is_file():
        yield path
        return
    # A symbolic link stays a link.
    real_path = Path(os.path.realpath(path))
    partial = real_path.with_name(_short(real_path.name) + ".partial")
    try:
        yield partial
        _move(partial, real_path)
    except KeyboardInterrupt:
        if part_is_kept and partial.exists():
            _move(partial, real_path)
        _remove(partial)
        raise
    except BaseException as e:
        _remove(partial)
        # No other process knows the name of the partial file.
        if isinstance(e, OSError) and e.filename is not None and os.fspath(e.filename) == os.fspath(partial):
            e.filename = os.fspath(path)
        raise


def _short(name: str) -> str:
    """The name, or its hash if the name would be too long with an ending."""
    if len(os.fsencode(name)) <= LONGEST_NAME:
        return name
    from hashlib import sha256

    return sha256(os.fsencode(name)).hexdigest()


def _remove(partial: Path) -> None:
    with contextlib.suppress(OSError):
        partial.unlink(missing_ok=True)


def _move(partial: Path, place: Path) -> None:
    with open(partial, "rb") as f:
        os.fsync(f.fileno())
    os.replace(partial, place)


def write_text(path: Path, text: str) -> None:
    """Write a file of text."""
    with whole(path) as partial, open(partial, "w", encoding="utf-8", newline="") as f:
        f.write(text)
