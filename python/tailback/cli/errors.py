"""What a command says when something goes wrong, and how."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

import click

from tailback.text.os_errors import os_message as os_message
from tailback.text.plain import plain


class Failure(Exception):
    """Something went wrong that is not the input's fault: a message, and exit status 1."""

    status = 1


class Stopped(Failure):
    """Ctrl-C; the exit status is that of a shell for SIGINT."""

    status = 130


def folder(_ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A folder's name, as an option takes it."""
    if value == "":
        raise click.BadParameter("give the name of a folder; . is this one", param=param)
    if value is not None and os.path.exists(value) and not os.path.isdir(value):
        raise click.BadParameter(f"{value} is a file; give the name of a folder", param=param)
    return value


def kept(out: str | None) -> str:
    """What an interruption left in a folder, as the end of a sentence."""
    from tailback import _core

    if not out or not Path(out).is_dir():
        return "; nothing is stored"
    try:
        runs = sum(bool(run["stored"]) for run in _core.status(out)["runs"])
        if (Path(out) / "computed.json").is_file():
            from tailback.store.sources import Answers

            runs += len(Answers(Path(out)).found)
    except OSError:
        runs = 0
    if not runs:
        return f"; no run was finished, and none is stored in {out}"
    finished = "one finished run is" if runs == 1 else f"{runs} finished runs are"
    return f"; {finished} kept in {out}, run the same command to go on"


def with_remedy(e: click.ClickException, shown: str) -> str:
    """What click shows of an option or argument that is not there, with where to look instead."""
    if isinstance(e, click.UsageError) and e.ctx is not None:
        bare = isinstance(e, click.NoSuchOption) and not e.possibilities
        if bare or e.message.startswith("Got unexpected extra argument"):
            return f"{shown.rstrip('.')}; `{e.ctx.command_path} --help` says what there is"
    return shown


def existing(_ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A folder of results that is given to be read."""
    if value is not None and not Path(value).is_dir():
        from tailback.cli.source import no_results

        raise click.UsageError(no_results(value))
    return value


def all_there(files: Iterable[Path]) -> None:
    """Whether what was written is still there at the end; raises `Failure` with the first file that is not."""
    for file in files:
        if not file.is_file():
            raise Failure(f"{file} is gone: it has been removed in the meantime; run the same command again")


def say(message: str) -> None:
    """A line on standard error."""
    with contextlib.suppress(OSError):
        click.echo(plain(message), err=True)


def memory_of(_ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """How much memory runs may take, as an option says it; None leaves it to the machine."""
    from tailback import _core
    from tailback.campaign import memory

    try:
        memory.give(None if value is None else _core.parse_bytes(value))
    except ValueError as e:
        raise click.BadParameter(str(e), param=param) from e


#: The option of every command that runs scenarios.
memory_option = click.option(
    "--memory",
    metavar="SIZE",
    callback=memory_of,
    expose_value=False,
    help="Most memory that the runs may take: 8GB.  [default: what is free]",
)


def shard_of(text: str) -> tuple[int, int]:
    """`I/N`, the I-th of N parts."""
    i, _, n = text.partition("/")
    if not (i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)):
        raise click.BadParameter(f"{text}: write I/N, such as 1/8 for the first of eight", param_hint="--shard")
    return int(i), int(n)
