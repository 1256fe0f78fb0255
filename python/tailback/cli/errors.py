"""What a command says when something goes wrong, and how."""

from __future__ import annotations

import contextlib
import errno

import click


class Failure(Exception):
    """Something went wrong that is not the input's fault: a message, and exit status 1."""


def os_message(e: OSError) -> str:
    """An error of the file system in words, with the path if it is known."""
    why = e.strerror or str(e)
    if e.errno == errno.ENOSPC:
        why = "no space is left on the disk"
    return f"{e.filename}: {why}" if e.filename else why


def say(message: str) -> None:
    """A line on standard error."""
    with contextlib.suppress(OSError):
        click.echo(message, err=True)
