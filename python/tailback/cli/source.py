"""The input of a command: a scenario or a measurement, from a file or from standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback import _core
from tailback.core.scenario import installed
from tailback.core.scenario.read import Kind, load_scenario
from tailback.core.text.plain import LONGEST
from tailback.core.text.room import promise_text

if TYPE_CHECKING:
    from tailback.readers.given import Wishes
    from tailback.readers.reading import Reading


def read(file: str, overrides: Sequence[str] = ()) -> _core.Scenario:
    """The scenario in a file; `-` is standard input, TOML, or JSON if it begins with a brace."""
    return reader(file)(overrides)


def reader(file: str) -> Callable[[Sequence[str]], _core.Scenario]:
    """A function that reads the scenario with given overrides. The function can be called often; standard input is read
    once."""
    if file == "-":
        text, kind = _standard_input()
        return lambda overrides: _core.load(text, kind, "standard input", list(overrides))
    path = installed.found(Path(file))
    return lambda overrides: _in_file(path, overrides)


def _in_file(path: Path, overrides: Sequence[str]) -> _core.Scenario:
    try:
        return load_scenario(path, overrides)
    except _core.ScenarioError:
        remedy = _other_kind(path) or installed.missing(path)
        if remedy:
            raise click.UsageError(remedy) from None
        raise


def _standard_input() -> tuple[str, Kind]:
    """The text, and its format."""
    if sys.stdin is None:
        raise click.UsageError("standard input is closed; name a file, or write `tailback run - < FILE`")
    text = sys.stdin.buffer.read(LONGEST + 1)
    if len(text) > LONGEST:
        raise click.UsageError(f"standard input is longer than {LONGEST // 1_000_000} MB; give a scenario")
    try:
        source = text.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise click.UsageError(f"standard input is not UTF-8 text at byte {e.start}; give TOML or JSON") from e
    promise_text(len(text), "standard input")
    return source, "json" if source.lstrip().startswith("{") else "toml"


def _other_kind(path: Path) -> str | None:
    """The kind of a file that is not a scenario, with the command that takes it; None if it may be a scenario."""
    from tailback.core.text import toml
    from tailback.core.text.plain import plain, read_text

    if path.suffix.lower() == ".parquet":
        return plain(f"{path} is a table of results, not a scenario; name a scenario, a file that ends in .toml")
    try:
        # A pipe can be read only once.
        if not path.is_file():
            return None
        keys = toml.loads(read_text(path)).keys()
    except (OSError, ValueError, RecursionError):
        return None
    if "scenario" in keys and "duration" not in keys:
        return plain(f"{path} is a sweep of a scenario; `tailback sweep {path}` runs it")
    if {"id", "citation"} <= keys:
        return plain(f"{path} is of a study; `tailback reproduce {path.parent}` runs it")
    return None


def reading(file: str, wishes: Wishes | None = None) -> Reading:
    """The reading of a user's file, or of standard input for `-`. Raises `ReadError`."""
    from tailback.readers.given import Wishes
    from tailback.readers.recognise import read_stream

    wishes = wishes or Wishes()
    if file == "-":
        if sys.stdin is None:
            raise click.UsageError("standard input is closed; name a file, or write `tailback read - < FILE`")
        return read_stream("standard input", sys.stdin.buffer, wishes)
    try:
        with Path(file).open("rb") as stream:
            return read_stream(file, stream, wishes)
    except (FileNotFoundError, IsADirectoryError) as e:
        raise click.UsageError(f"there is no file {file!r}; the path counts from the current directory") from e


def results_folder(name: str) -> Path:
    """A folder with finished results of `run` or of a plan."""
    if not os.path.isfile(os.path.join(name, "runs.parquet")):
        raise click.UsageError(no_results(name))
    return Path(name)


def no_results(name: str) -> str:
    """The message for a folder without finished results: the reason and the remedy."""
    from tailback.core.text.plain import plain

    path = Path(name)
    if not path.is_dir():
        problem = "is a file, not a folder of results" if path.exists() else "is not there"
        return plain(f"{name} {problem}; `tailback run FILE --out DIR` makes a folder of results")
    if (path / "study.json").is_file():
        return plain(f"{name} is the folder of a study; `tailback report {name}` makes its page")
    if (path / "manifest.json").is_file():
        return plain(f"{name} holds no finished results; `tailback status {name}` says what is there and how to go on")
    folders_inside = sorted(p.parent for p in path.glob("*/runs.parquet"))[:3]
    if folders_inside:
        return plain(f"{name} holds no results itself; name a folder in it: {', '.join(map(str, folders_inside))}")
    return plain(f"{name} holds no results; `tailback run FILE --out {name}` makes some")
