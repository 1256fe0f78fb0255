"""`tailback read`: shows the kind of a file or a pasted text, its contents in our units, and the command that uses
it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback.cli import options

if TYPE_CHECKING:
    from tailback.readers.reading import Reading


@click.command()
@click.argument("file", metavar="FILE|-")
@options.as_json("what was read as one JSON document")
@click.option(
    "--write", metavar="FILE", help="Write what FILE holds in the form that a scenario takes; - is standard output."
)
@click.option(
    "--unit", default="", metavar="UNIT", help="The unit of numbers without a unit: Mbps, kbps, MB/s, packets."
)
@click.option("--column", default="", metavar="NAME", help="If FILE is a table: the column with the values.")
@click.option(
    "--flow", type=click.IntRange(0), default=0, metavar="N", help="The flow of a capture.  [default: the largest]"
)
@click.option("--writes", is_flag=True, help="Replay a flow as what its application wrote, not as datagrams.")
def read(file: str, as_json: bool, write: str | None, unit: str, column: str, flow: int, writes: bool) -> None:
    """Say what a file is: a measurement, a trace, a capture, a list of flows, lines of tc.

    The kind is recognised by the content. The answer repeats in our units what is understood, says what is left out and
    why, and names the command that uses the file next.
    """
    from tailback.cli.source import reading
    from tailback.readers.given import Wishes
    from tailback.readers.reading import ReadError

    try:
        result = reading(file, Wishes(unit, column, flow, writes))
        if write is not None:
            note = _write(result, write)
            click.echo(note, err=write == "-") if note else None
            return
    except ReadError as e:
        raise click.UsageError(str(e)) from e
    if as_json:
        from tailback.core.text.json_text import json_text

        click.echo(json_text(result.as_dict(), indent=2))
        return
    from tailback.readers.shown import text

    click.echo(text(result, file))


def _write(found: Reading, place: str) -> str:
    """Write the form that a scenario takes. Returns a line about the file; empty for standard output."""
    from tailback.core.text.whole import write_text
    from tailback.readers.reading import ReadError

    if found.written is None:
        raise ReadError(f"{found.title} has no form that a scenario takes", "read it without --write for what uses it")
    text = found.written.text()
    if place == "-":
        click.echo(text, nl=False)
        return ""
    write_text(Path(place), text)
    return f"{place}: {found.written.what}"
