"""Files that are either whole or as they were before: each is written beside its place, then moved there.

Every run imports this; `hashlib` is imported only for a name that is too long.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Bytes that a name may have on every file system.
LONGEST_NAME = 240


@contextmanager
def whole(path: Path, part_is_kept: bool = False) -> Iterator[Path]:
    """Where to write what becomes `path` when it is whole: a full disk or a kill leaves what was there.

    A pipe or a device is written in place. If `part_is_kept`, an interruption leaves what was written until then.
    """
    if path.is_fifo():
        # Opening waits for a reader, and here Ctrl-C interrupts the wait; the writer opens it once more.
        with open(path, "wb"):
            yield path
        return
    if path.exists() and not path.is_file():
        yield path
        return
    # A link keeps its name.
    place = Path(os.path.realpath(path))
    partial = place.with_name(_short(place.name) + ".partial")
    try:
        yield partial
        _move(partial, place)
    except KeyboardInterrupt:
        if part_is_kept and partial.exists():
            _move(partial, place)
        _remove(partial)
        raise
    except BaseException as e:
        _remove(partial)
        # Nobody has named the partial file.
        if isinstance(e, OSError) and e.filename is not None and os.fspath(e.filename) == os.fspath(partial):
            e.filename = os.fspath(path)
        raise


def _short(name: str) -> str:
    """The name; one that would be too long with an ending is replaced by its hash."""
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
