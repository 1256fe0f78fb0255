"""Gives the reading of a text of any kind; other packages call only this module."""

from __future__ import annotations

import re
from typing import BinaryIO

from tailback.readers.given import Given, Wishes, check_lines, unpacked
from tailback.readers.kinds import KINDS, Kind
from tailback.readers.reading import ReadError, Reading, UnknownTextError

#: A table header that only scenarios have.
_SCENARIO = re.compile(r"^\[(?:link|flows|sessions|topology)(?:\.[\w-]+)?\]$", re.MULTILINE)


def kind_of(given: Given) -> Kind | None:
    """The kind of a text by its content; None if no kind recognises it."""
    return next((kind for kind in KINDS if kind.load().recognises(given)), None)


def read(given: Given) -> Reading:
    """The reading of a text of any kind. Raises ReadError; if no kind recognises the text, the error lists the
    kinds."""
    if not given.data.strip():
        raise ReadError("it is empty", "give a file, or pipe a text into -", name=given.name)
    check_lines(given)
    kind = kind_of(given)
    if kind is None:
        if _SCENARIO.search(given.text):
            raise ReadError("it is a scenario", "`tailback run FILE` runs it", name=given.name)
        titles = ", ".join(kind.title for kind in KINDS)
        readers = f"there are readers for {titles}"
        raise UnknownTextError("files of this kind cannot be read here", readers, name=given.name)
    reading: Reading = kind.load().read(given)
    return reading


def read_stream(name: str, stream: BinaryIO, wishes: Wishes = Wishes()) -> Reading:  # noqa: B008
    """The reading of an open file."""
    return read(unpacked(name, stream, wishes))
