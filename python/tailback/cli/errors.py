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
