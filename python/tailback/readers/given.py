"""What a reader is given: the bytes of a file or of standard input, unpacked, and their text where they have one."""

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

#: As many bytes as a capture may have; a text may have `LONGEST`.
LONGEST_CAPTURE = 256_000_000
#: A line longer than this is no line of a person or a program that is read here.
LONGEST_LINE = 100_000
#: A text of more lines is refused: each is an object in memory.
MOST_LINES = 2_000_000

#: Digits of the longest whole number that is kept as one: those of a counter of 64 bits.
_DIGITS = 20
_GZIP, _BZIP2 = b"\x1f\x8b", b"BZh"
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
#: The first bytes of pcap, in microseconds and nanoseconds and both orders of bytes, and of pcapng.
CAPTURES = frozenset(bytes.fromhex(h) for h in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "0a0d0d0a"))


@dataclass(frozen=True)
class Wishes:
    """What the user says beside the text, where it leaves something open; empty or 0 where nothing was said."""

    #: The unit of rates or sizes that have none, as `Mbps` or `packets`.
    unit: str = ""
    #: The column of a table that is meant.
    column: str = ""
    #: The flow of a capture, by the number that its reading gives.
    flow: int = 0
    #: A flow is replayed as what its application wrote, and not as datagrams.
    writes: bool = False


@dataclass(frozen=True)
class Given:
    """The bytes, and what they are called in messages: the name of a file, or "standard input"."""

    name: str
    data: bytes
    wishes: Wishes = Wishes()

    @functools.cached_property
    def is_capture(self) -> bool:
        return self.data[:4] in CAPTURES

    @functools.cached_property
    def text(self) -> str:
        """The text, with `\\n` at line ends; empty for bytes that are no text."""
        coding = next((coding for mark, coding in _MARKS if self.data.startswith(mark)), "utf-8")
        try:
            text = self.data.decode(coding)
        except UnicodeDecodeError:
            # What Windows and old routers write; every byte is a letter there.
            text = self.data.decode("latin-1")
        if "\0" in text:
            return ""
        return text.replace("\r\n", "\n").replace("\r", "\n")

    @functools.cached_property
    def lines(self) -> list[str]:
        """Its lines without what stands around them; the first has the number 1."""
        return [line.strip() for line in self.text.split("\n")]

    @functools.cached_property
    def filled(self) -> list[tuple[int, str]]:
        """Lines that say something, with their numbers: neither empty nor a comment."""
        return [(n, line) for n, line in enumerate(self.lines, 1) if line and not line.startswith("#")]

    @functools.cached_property
    def document(self) -> Any:
        """The JSON document; None where the text is none, or has more parts than memory should hold."""
        head = self.text[:4096].lstrip()
        if not head.startswith(("{", "[")) or self.text.count("{") + self.text.count("[") > MOST_LINES:
            return None
        try:
            return JSON.decode(self.text.strip())
        except (ValueError, RecursionError):
            return None


def _whole(text: str) -> int | float:
    """A whole number of JSON; one that no quantity can be is infinite, as 1e999 is."""
    return int(text) if len(text) <= _DIGITS else float(text)


#: What reads the JSON of a person.
JSON = json.JSONDecoder(parse_int=_whole)


def unpacked(name: str, stream: BinaryIO, wishes: Wishes = Wishes()) -> Given:
    """What a stream holds, unpacked if it is gzip or bzip2. Raises ReadError for one that is too long or damaged."""
    data = _at_most(stream.read, name)
    for magic, opened in ((_GZIP, gzip.open), (_BZIP2, bz2.open)):
        if data.startswith(magic):
            try:
                data = _at_most(opened(BytesIO(data)).read, name)
            except (OSError, EOFError, zlib.error, ValueError) as e:
                raise ReadError(f"the packed file is damaged ({short(e)})", "fetch it again", name=name) from None
    return Given(name, data, wishes)


def check_lines(given: Given) -> None:
    """Raises ReadError for a text of too many lines."""
    if not given.is_capture and given.data.count(b"\n") + given.data.count(b"\r") > MOST_LINES:
        raise ReadError(
            f"it has more than {MOST_LINES:,} lines", "cut it to the part that you ask about", name=given.name
        )


def _at_most(read: Callable[[int], bytes], name: str) -> bytes:
    """All bytes, or a refusal if there are more than may be."""
    data = read(LONGEST + 1)
    limit = LONGEST
    if len(data) > LONGEST and data[:4] in CAPTURES:
        limit = LONGEST_CAPTURE
        data += read(limit + 1 - len(data))
    if len(data) > limit:
        raise ReadError(
            f"it is longer than {limit // 1_000_000} MB", "cut it to the part that you ask about", name=name
        )
    return data
