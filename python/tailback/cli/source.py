"""The scenario that a command is given: a file, or what comes in on standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from tailback import _core
from tailback.scenarios import Kind, load_scenario

#: As long as a file may be.
LONGEST = 64_000_000


def read(file: str, overrides: Sequence[str] = ()) -> _core.Scenario:
    """The scenario in a file; `-` is standard input, TOML, or JSON if it begins with a brace."""
    if file != "-":
        return load_scenario(Path(file), overrides)
    if sys.stdin is None:
        raise click.UsageError("standard input is closed; name a file, or write `tailback run - < FILE`")
    text = sys.stdin.buffer.read(LONGEST + 1)
    if len(text) > LONGEST:
        raise click.UsageError(f"standard input is longer than {LONGEST // 1_000_000} MB, which no scenario is")
    try:
        source = text.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise click.UsageError(f"standard input is not UTF-8 text at byte {e.start}; a scenario is TOML or JSON") from e
    kind: Kind = "json" if source.lstrip().startswith("{") else "toml"
    return _core.load(source, kind, "standard input", list(overrides))


def results_folder(name: str) -> Path:
    """A folder with finished results of `run` or of a plan."""
    if not os.path.isfile(os.path.join(name, "runs.parquet")):
        raise click.UsageError(f"{name} holds no results; `tailback run FILE --out {name}` makes some")
    return Path(name)
