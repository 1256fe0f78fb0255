"""`tailback capture` and `tailback trace`: the packets of one run."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback.cli import options
from tailback.cli.errors import Failure, Stopped, os_message
from tailback.core.text.whole import whole

if TYPE_CHECKING:
    from tailback._core import Scenario


def _scenario(file: str, overrides: tuple[str, ...], seed: int | None) -> Scenario:
    from tailback.cli.source import read

    return read(file, [*overrides, *([f"seed={seed}"] if seed is not None else [])])


@contextlib.contextmanager
def _one_run(written: str, left: str = "") -> Iterator[None]:
    """The message if the run fails or is stopped, or its file cannot be written."""
    try:
        yield
    except ValueError as e:
        raise click.UsageError(str(e)) from e
    except BrokenPipeError:
        raise
    except OSError as e:
        raise Failure(f"{written} cannot be written: {os_message(e)}") from e
    except RuntimeError as e:
        raise Failure(str(e)) from e
    except KeyboardInterrupt:
        raise Stopped(f"interrupted{left}") from None


@click.command()
@click.argument("file")
@click.option("--link", default="bottleneck", show_default=True, help="The link to capture, in both directions.")
@click.option("--out", required=True, metavar="FILE", help="The pcapng file to write.")
@options.overrides()
@options.seed()
def capture(file: str, link: str, out: str, overrides: tuple[str, ...], seed: int | None) -> None:
    """Run the scenario in FILE once and capture a link as pcapng, for Wireshark and similar programs.

    Packets are captured as they arrive at the queue, with complete headers. The comment of a packet (`frame.comment`)
    says whether it was dropped or marked.
    """
    from tailback import _core
    from tailback.runs.campaign.progress import ProgressLine

    scenario = _scenario(file, overrides, seed)
    capture_file = whole(Path(out), part_is_kept=True)
    with (
        _one_run("the capture", f"; {out} holds the packets until then"),
        ProgressLine() as progress,
        capture_file as partial,
    ):
        packets = _core.capture(scenario, link, partial, progress.of_one_run())
    click.echo(f"{packets} packets in {out}")


@click.command()
@click.argument("file")
@click.option(
    "--flow", required=True, metavar="GROUP.NUMBER", help="The flow whose packets are printed, such as bulk.0."
)
@click.option("--out", metavar="FILE", help="Write to this file instead of standard output.")
@options.overrides()
@options.seed()
def trace(file: str, flow: str, out: str | None, overrides: tuple[str, ...], seed: int | None) -> None:
    """Run the scenario in FILE once and print what happens to each packet of a flow, at every queue it passes."""
    from tailback import _core
    from tailback.runs.campaign.progress import ProgressLine

    scenario = _scenario(file, overrides, seed)
    # On a terminal the lines of the trace themselves show how far it is.
    silent = not out and sys.stdout and sys.stdout.isatty()
    with _one_run("the trace"), ProgressLine() as progress:
        tell = None if silent else progress.of_one_run()
        if out is None:
            _core.trace(scenario, flow, None, tell)
            return
        with whole(Path(out), part_is_kept=True) as partial:
            _core.trace(scenario, flow, partial, tell)
