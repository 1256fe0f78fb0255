"""What a command says when something goes wrong, and how."""

from __future__ import annotations

import contextlib
import errno

import click

from tailback.text import plain


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
    return value


def kept(out: str | None) -> str:
    """What an interruption left in a folder, as the end of a sentence."""
    from pathlib import Path

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


def os_message(e: OSError) -> str:
    """An error of the file system in words, with the path if it is known."""
    why = e.strerror or str(e)
    if e.errno == errno.ENOSPC:
        why = "no space is left on the disk"
    return f"{e.filename}: {why}" if e.filename else why


def say(message: str) -> None:
    """A line on standard error."""
    with contextlib.suppress(OSError):
        click.echo(plain(message), err=True)


def shard_of(text: str) -> tuple[int, int]:
    """`I/N`, the I-th of N parts."""
    i, _, n = text.partition("/")
    if not (i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)):
        raise click.BadParameter(f"{text}: write I/N, such as 1/8 for the first of eight", param_hint="--shard")
    return int(i), int(n)
