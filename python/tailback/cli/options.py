"""Options and arguments that several commands share, each declared once with its range and its help."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tailback.core.text.given import MOST_REPLICATIONS, SEEDS

F = TypeVar("F", bound=Callable[..., Any])
#: A function that declares an option of a command.
Declared = Callable[[F], F]


class Seconds(click.FloatRange):
    """A length of time that refuses `nan`, which click accepts in every range."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            if not math.isfinite(float(value)):
                raise ValueError
        except ValueError:
            self.fail(f"{value} is no number of seconds; give one such as 10", param, ctx)
        return float(super().convert(value, param, ctx))


def overrides(of: str = "of the scenario") -> Declared[Any]:
    """`--set`; `of` names the thing that the values change."""
    words = f"Change a value {of}: link.bottleneck.rate=5Mbps. Repeatable."
    return click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help=words)


def check_laws() -> Declared[Any]:
    words = "Check laws that hold in every run. A run that breaks a law fails, and its scenario is saved in a file."
    return click.option("--check-laws", is_flag=True, help=words)


def as_json(what: str = "one JSON document") -> Declared[Any]:
    return click.option("--json", "as_json", is_flag=True, help=f"Print {what} and nothing else.")


def out(words: str) -> Declared[Any]:
    """`--out`, the folder of results."""
    return click.option("--out", metavar="DIR", callback=_folder, help=words)


def seed(words: str = "Seed of the run.  [default: the scenario's]", default: int | None = None) -> Declared[Any]:
    return click.option(
        "--seed", type=click.IntRange(0, SEEDS - 1), default=default, show_default=default is not None, help=words
    )


def replications(words: str, default: int = 1) -> Declared[Any]:
    return click.option(
        "--replications", type=click.IntRange(1, MOST_REPLICATIONS), default=default, show_default=True, help=words
    )


def shard(gather: str) -> Declared[Any]:
    """`--shard` as (I, N); `gather` names the command that makes the tables at the end."""
    words = f"Run only the I-th of N parts, for a job array. When all parts are done, make the tables with {gather}."
    return click.option("--shard", metavar="I/N", callback=_shard, help=words)


def figures() -> Declared[Any]:
    """`--figures`, the kinds of files in addition to the page."""
    words = "Write the figures of the page also as png, pdf or both, and link them there."
    return click.option("--figures", metavar="KIND[,...]", callback=_kinds, help=words)


def _kinds(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[str, ...]:
    if value is None:
        return ()
    from tailback.core.figure_style import BESIDE_PAGE

    kinds = tuple(part.strip() for part in value.split(","))
    for kind in kinds:
        if kind not in BESIDE_PAGE:
            raise click.BadParameter(f"{value}: there is no kind {kind!r}; kinds are {' and '.join(BESIDE_PAGE)}")
    return kinds


def folder(name: str = "folder") -> Declared[Any]:
    """The argument DIR, an existing folder of results."""
    return click.argument(name, metavar="DIR", callback=existing)


def check_seeds(first: int, replications: int) -> None:
    """Raises UsageError if the seeds of this many runs go beyond the largest seed."""
    if first + replications > SEEDS:
        raise click.UsageError("the last seed would be above 2^63; give a smaller --seed or fewer --replications")


def _folder(_ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The name of a folder that need not exist yet."""
    if value == "":
        raise click.BadParameter("give the name of a folder; . is this one", param=param)
    if value is not None and os.path.exists(value) and not os.path.isdir(value):
        raise click.BadParameter(f"{value} is a file; give the name of a folder", param=param)
    return value


def existing(_ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A folder of results to read."""
    if value is not None and not Path(value).is_dir():
        from tailback.cli.source import no_results

        raise click.UsageError(no_results(value))
    return value


def _shard(_ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    i, _, n = value.partition("/")
    if not (i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)):
        raise click.BadParameter(f"{value}: write I/N, such as 1/8 for the first of eight", param=param)
    return int(i), int(n)


def _memory(_ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    from tailback import _core
    from tailback.core.text import room

    try:
        room.give(None if value is None else _core.parse_bytes(value))
    except ValueError as e:
        raise click.BadParameter(str(e), param=param) from e


jobs = click.option(
    "--jobs", type=click.IntRange(0, 4096), default=0, show_default=True, help="Number of threads; 0 uses all cores."
)

#: The option for the memory of runs; the command function does not receive it.
memory = click.option(
    "--memory",
    metavar="SIZE",
    callback=_memory,
    expose_value=False,
    help="The most memory that the runs may use, such as 8GB.  [default: what is free]",
)
