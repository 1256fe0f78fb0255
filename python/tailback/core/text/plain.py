"""Makes text from outside safe to show, so that a name cannot move the cursor or colour the terminal."""

from __future__ import annotations

import errno
import re
import sys
from collections.abc import Sequence
from pathlib import Path

#: The most bytes of a text file from a user.
LONGEST = 64_000_000

#: Control characters except line ends and tabs, marks that reverse the direction of text, and bytes that are not UTF-8.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def read_bytes(path: Path, longest: int = LONGEST) -> bytes:
    """The bytes of a user's file or pipe. Ctrl-C interrupts the wait for a pipe. Raises OSError if it is too long,
    since a device has no end."""
    with path.open("rb") as f:
        data = f.read(longest + 1)
    if len(data) > longest:
        raise OSError(errno.EFBIG, f"it is longer than {longest // 1_000_000} MB", str(path))
    return data


def read_text(path: Path, longest: int = LONGEST) -> str:
    """The text of a user's file or pipe. Raises OSError as `read_bytes` does, and UnicodeDecodeError."""
    # Line ends as in a file opened as text.
    return read_bytes(path, longest).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def file_bytes(path: Path, longest: int = LONGEST) -> bytes:
    """The bytes of a file in a folder that a user names. Raises OSError, also for a pipe or a device."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return read_bytes(path, longest)


def plain(text: str) -> str:
    """The text with control characters written out: `\\x1b` for an escape."""
    return _UNFIT.sub(lambda found: _written(ord(found[0])), text)


def warn(text: str) -> None:
    """Prints a warning on standard error."""
    print(plain(f"warning: {text}"), file=sys.stderr)


def _written(code: int) -> str:
    # Python keeps a byte that is not UTF-8 as a surrogate above 0xdc00.
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def command_line(words: Sequence[str]) -> list[str]:
    """The words of a command as text that JSON and HTML can hold."""
    return [plain(w) for w in words]
