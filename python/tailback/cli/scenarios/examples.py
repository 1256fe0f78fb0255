"""`tailback examples`: the examples that are installed, each with its sentence, its text, or as a file to change."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from tailback.cli import options
from tailback.cli.commands import listed
from tailback.core.scenario import installed
from tailback.core.text.json_text import json_text


@click.command()
@click.argument("name", required=False)
@click.option("--copy", is_flag=True, help="Write the example into this folder. A file that is there is kept.")
@options.as_json()
def examples(name: str | None, copy: bool, as_json: bool) -> None:
    """List the examples that are installed, each with a sentence.

    With NAME, print its text, which says what to look for. `tailback run NAME` runs a scenario in every folder, as do
    all commands that take one.
    """
    if name is None:
        if copy:
            raise click.UsageError("--copy writes one example; give its NAME")
        click.echo(json_text({"examples": [_row(e) for e in installed.examples()]}) if as_json else _list())
        return
    example = installed.example(name)
    if example is None:
        raise click.UsageError(installed.no_example(name))
    if copy:
        _copy(example)
    if as_json:
        click.echo(json_text({**_row(example), "text": example.text}))
    elif not copy:
        click.echo(example.text, nl=False)


def _row(example: installed.Example) -> dict[str, Any]:
    return {"name": example.name, "file": str(example.path), "about": example.about}


def _list() -> str:
    scenarios: dict[str, str] = {}
    programs: dict[str, str] = {}
    for e in installed.examples():
        (programs if e.path.suffix == ".py" else scenarios)[e.name] = e.about
    lines = ["Scenarios (tailback run NAME):", *listed(scenarios)]
    lines += ["", "Programs in Python (tailback examples NAME --copy):", *listed(programs)]
    return "\n".join(lines)


def _copy(example: installed.Example) -> None:
    """The file under its own name in this folder; a line says so."""
    from tailback.cli.errors import say
    from tailback.core.text.whole import write_text

    target = Path(example.path.name)
    if os.path.lexists(target):
        raise click.UsageError(f"{target} is in this folder already; rename it, or copy into another folder")
    write_text(target, example.text)
    runs = f"; `tailback run {target}` runs it" if target.suffix == ".toml" else ""
    say(f"{target} is a copy of the installed example{runs}")
