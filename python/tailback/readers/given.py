"""The input of a reader: the unpacked bytes of a file or of standard input, and their text if they are text."""

from __future__ import annotations

import bz2
import codecs
import functools
import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO

from tailback.core.text.plain import LONGEST
from tailback.readers.reading import ReadError, short

#: The most bytes of a capture; a text may have `LONGEST` bytes.
LONGEST_CAPTURE = 256_000_000
#: The longest line, in characters; no known program prints longer ones.
LONGEST_LINE = 100_000
#: The most lines of a text, since each is an object in memory.
MOST_LINES = 2_000_000

#: The most digits of a whole number that stays an integer: those of a 64-bit counter.
_DIGITS = 20
_GZIP, _BZIP2 = b"\x1f\x8b", b"BZh"
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
#: The first bytes of pcap (microseconds and nanoseconds, both byte orders) and of pcapng.
CAPTURES = frozenset(bytes.fromhex(h) for h in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "0a0d0d0a"))


@dataclass(frozen=True)
class Wishes:
    """Options of the user for details that the text leaves open; empty or 0 if not given."""

    #: The unit of rates or sizes that have no unit, such as `Mbps` or `packets`.
    unit: str = ""
    #: The column of a table to read.
    column: str = ""
    #: The number of the chosen flow of a capture, as the reading lists it.
    flow: int = 0
    #: Whether a flow is replayed as the writes of its application and not as datagrams.
    writes: bool = False


@dataclass(frozen=True)
class Given:
    """The bytes, and their name in messages: the name of a file, or "standard input"."""

    name: str
    data: bytes
    wishes: Wishes = Wishes()

    @functools.cached_property
    def is_capture(self) -> bool:
        return self.data[:4] in CAPTURES

    @functools.cached_property
    def text(self) -> str:
        """The text, with `\\n` at line ends; empty if the bytes are not text."""
        coding = next((coding for mark, coding in _MARKS if self.data.startswith(mark)), "utf-8")
        try:
            text = self.data.decode(coding)
        except UnicodeDecodeError:
            # The encoding of Windows and old routers, in which every byte is a character.
            text = self.data.decode("latin-1")
        if "\0" in text:
            return ""
        return text.replace("\r\n", "\n").replace("\r", "\n")

    @functools.cached_property
    def lines(self) -> list[str]:
        """The lines without surrounding blanks, numbered from 1."""
        return [line.strip() for line in self.text.split("\n")]

    @functools.cached_property
    def filled(self) -> list[tuple[int, str]]:
        """The lines that are neither empty nor a comment, with their numbers."""
        return [(n, line) for n, line in enumerate(self.lines, 1) if line and not line.startswith("#")]

    @functools.cached_property
    def document(self) -> Any:
        """The JSON document; None if the text is not JSON, or has too many parts for memory."""
        head = self.text[:4096].lstrip()
        if not head.startswith(("{", "[")) or self.text.count("{") + self.text.count("[") > MOST_LINES:
            return None
        try:
            return JSON.decode(self.text.strip())
        except (ValueError, RecursionError):
            return None


def _whole(text: str) -> int | float:
    """A whole number of JSON. A number too large for any quantity becomes infinite, as 1e999 does."""
    return int(text) if len(text) <= _DIGITS else float(text)


#: The decoder for JSON from a user.
JSON = json.JSONDecoder(parse_int=_whole)


def unpacked(name: str, stream: BinaryIO, wishes: Wishes = Wishes()) -> Given:
    """The bytes of a stream, unpacked if it is gzip or bzip2. Raises ReadError if it is too long or damaged."""
    content = _at_most(stream.read, name)
    for magic, opener in ((_GZIP, gzip.open), (_BZIP2, bz2.open)):
        if content.startswith(magic):
            try:
                content = _at_most(opener(BytesIO(content)).read, name)
            except (OSError, EOFError, zlib.error, ValueError) as e:
                raise ReadError(f"the packed file is damaged ({short(e)})", "fetch it again", name=name) from None
    return Given(name, content, wishes)


def check_lines(given: Given) -> None:
    """Raises ReadError if a text has too many lines."""
    if not given.is_capture and given.data.count(b"\n") + given.data.count(b"\r") > MOST_LINES:
        raise ReadError(
            f"it has more than {MOST_LINES:,} lines", "cut it to the part that you ask about", name=given.name
        )


def _at_most(read: Callable[[int], bytes], name: str) -> bytes:
    """All bytes of a stream. Raises ReadError if it is too long."""
    content = read(LONGEST + 1)
    limit = LONGEST
    if len(content) > LONGEST and content[:4] in CAPTURES:
        limit = LONGEST_CAPTURE
        content += read(limit + 1 - len(content))
    if len(content) > limit:
        raise ReadError(
            f"it is longer than {limit // 1_000_000} MB", "cut it to the part that you ask about", name=name
        )
    return content
