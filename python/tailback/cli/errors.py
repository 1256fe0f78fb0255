"""The messages and exit statuses of commands that fail."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType

import click

from tailback.cli import INTERRUPTED
from tailback.core.text.os_errors import os_message as os_message
from tailback.core.text.plain import plain
from tailback.runs.campaign.progress import ProgressLine


class Failure(Exception):
    """A failure that the input did not cause: it gives a message and exit status 1."""

    status = 1


class NotHere(Failure):
    """This system cannot run the command with any input: exit status 2, before it begins."""

    status = 2


def linux() -> None:
    """Raises NotHere on any other system."""
    if not sys.platform.startswith("linux"):
        raise NotHere(
            "real packets need Linux (network namespaces and TUN devices), and this is not Linux; "
            "`tailback run` simulates the same scenarios here"
        )


class Stopped(Failure):
    """Ctrl-C."""

    status = INTERRUPTED


@contextlib.contextmanager
def running(out: str | os.PathLike[str] | None) -> Iterator[ProgressLine]:
    """Shows progress while runs go on, and gives the message if they are stopped or cannot be stored in `out`."""
    try:
        with ProgressLine() as progress, _no_interruption_lost():
            yield progress
    except OSError as e:
        raise Failure(f"results cannot be stored in {out}: {os_message(e)}" if out else os_message(e)) from e
    except KeyboardInterrupt:
        raise Stopped(f"interrupted{kept(out)}") from None


@contextlib.contextmanager
def _no_interruption_lost() -> Iterator[None]:
    """Makes Ctrl-C count even if Python drops the exception, as in callbacks of weak references during imports."""
    previous_handler = signal.getsignal(signal.SIGINT)
    if previous_handler is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    if interrupted:
        raise KeyboardInterrupt


def kept(out: str | os.PathLike[str] | None) -> str:
    """The end of a sentence on the runs that an interruption left in a folder."""
    from tailback import _core

    if not out or not Path(out).is_dir():
        return "; nothing is stored"
    try:
        runs = sum(bool(run["stored"]) for run in _core.status(out)["runs"])
        if (Path(out) / "computed.json").is_file():
            from tailback.core.store.sources import Answers

            runs += len(Answers(Path(out)).found)
    except OSError:
        runs = 0
    if not runs:
        return f"; no run was finished, and none is stored in {out}"
    finished = "one finished run is" if runs == 1 else f"{runs} finished runs are"
    return f"; {finished} kept in {out}, run the same command to go on"


def with_remedy(e: click.ClickException, shown: str) -> str:
    """click's message for an unknown option or argument, with a pointer to the help."""
    if isinstance(e, click.UsageError) and e.ctx is not None:
        bare = isinstance(e, click.NoSuchOption) and not e.possibilities
        if bare or e.message.startswith("Got unexpected extra argument"):
            return f"{shown.rstrip('.')}; `{e.ctx.command_path} --help` says what there is"
    return shown


def all_there(files: Iterable[Path]) -> None:
    """Checks at the end that the written files still exist; raises `Failure` with the first missing file."""
    for file in files:
        if not file.is_file():
            raise Failure(f"{file} is gone: it has been removed in the meantime; run the same command again")


def say(message: str) -> None:
    """A line on standard error."""
    with contextlib.suppress(OSError):
        click.echo(plain(message), err=True)
