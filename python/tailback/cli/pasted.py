"""`--queue` of commands that run a scenario: a line of `tc`, a file, or standard input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from tailback import _core
from tailback.cli.options import Declared

#: The help of the option.
WORDS = (
    "Put this queue at the bottleneck: a line or script of tc, a file of it, or a block of SQM; - is standard input."
)


def queue() -> Declared[Any]:
    return click.option("--queue", metavar="LINE|FILE|-", help=WORDS)


def scenario(file: str, overrides: Sequence[str], text: str | None) -> _core.Scenario:
    """The scenario of a file with the pasted queue at its bottleneck. A note lists the settings, and the parts that
    were left out."""
    from tailback.cli.source import reader

    read_with = reader(file)
    if text is None:
        return read_with(list(overrides))
    if file == text == "-":
        raise click.UsageError("FILE and --queue are both -; standard input is read once: name a file for one of them")
    return read_with([*overrides, *_changes(read_with(list(overrides)), text)])


def overrides(file: str, before: Sequence[str], text: str) -> list[str]:
    """The pasted queue in the form of `--set`."""
    from tailback.cli.source import read

    return _changes(read(file, before), text)


def _changes(found: _core.Scenario, text: str) -> list[str]:
    from tailback.cli.errors import say
    from tailback.readers import queues
    from tailback.readers.reading import ReadError

    if text.lstrip().startswith("{"):
        raise click.UsageError("--queue takes a line of tc or a file; a table goes with --set link.NAME.queue={...}")
    try:
        reading = queues.pasted(text)
        overrides, notes = queues.changes(reading, found)
    except ReadError as e:
        raise click.UsageError(str(e)) from e
    for sentence in filter(None, (". ".join(notes), queues.remarks(reading))):
        say(f"note: {sentence}")
    return overrides
