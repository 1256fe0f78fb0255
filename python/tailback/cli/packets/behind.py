"""`tailback behind`: any program behind a line."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from tailback.cli import options
from tailback.cli.errors import Failure, NotHere, Stopped, linux, os_message, say
from tailback.core.text.plain import plain


class _Time(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from tailback import _core
        from tailback.runs.live.behind.line import LONGEST

        try:
            seconds = _core.parse_time(str(value))
        except ValueError as e:
            self.fail(str(e), param, ctx)
        if not 0 < seconds < LONGEST:
            self.fail(f"{value} is not between 0 and {LONGEST // 86_400} days", param, ctx)
        return seconds


class _Server(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    name = "COMMAND"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from tailback.runs.live.behind import servers

        try:
            servers.words(value)
        except ValueError as e:
            self.fail(f"{value}: {e}; write a command as in a shell", param, ctx)
        return str(value)


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--down", metavar="RATE", help="Rate towards the program, such as 20Mbps.")
@click.option("--up", metavar="RATE", help="Rate from the program, such as 2Mbps.")
@click.option(
    "--rtt", metavar="TIME", help="Round trip that the line adds; half of it in each direction.  [default: 0s]"
)
@click.option("--queue", metavar="QUEUE", help="Queue in both directions: a name such as cake, or a table.")
@click.option(
    "--modem",
    metavar="TIME|SIZE",
    help="Buffer in front of the line, as a time at its rate or a size; DOWN,UP for two. With --queue, a shaper with "
    "that queue is in front of this buffer, at 95 % of the rate.  [default: 250ms without --queue]",
)
@click.option("--loss", metavar="SHARE", help="Random loss before the queue, such as 1%; DOWN,UP for two.")
@click.option("--trace-down", metavar="FILE", help="File that the download rate follows: Mahimahi or CSV.")
@click.option("--trace-up", metavar="FILE", help="File that the upload rate follows, as with --trace-down.")
@click.option(
    "--scenario", "file", metavar="FILE", help="The links and changes of a scenario instead of these options."
)
@click.option("--ends", metavar="IN,OUT", help="Nodes of the scenario for the program and for the outside.")
@options.overrides("of the line")
@click.option("--marking/--no-marking", default=None, help="Mark ECN-capable packets instead of dropping them.")
@options.seed("Seed of the losses and queues.  [default: 1, or the scenario's]")
@click.option(
    "--server",
    "servers",
    multiple=True,
    type=_Server(),
    help="Command to start at the far end, which is the host `far` and the address $TAILBACK_FAR. Repeatable.",
)
@click.option("--shell", is_flag=True, help="Open a shell instead of a command.")
@click.option("--for", "seconds", type=_Time(), help="End the program after this time, such as 30s.")
@click.option("--meter", is_flag=True, help="Show a status line with the present rates on standard error.")
@options.out("Folder for the summary (behind.json), tables and scenario.toml; the summary is then not printed.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON, in the last line of standard error.")
@click.option("--capture", metavar="FILE", help="Capture the packets at the line's queue as pcapng.")
@click.option(
    "--no-real-time",
    "real_time",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Run the box with normal instead of real-time priority.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def behind(command: tuple[str, ...], **given: Any) -> None:
    """Run COMMAND behind a line, with real packets: `tailback behind --down 20Mbps --up 2Mbps --rtt 40ms -- curl URL`.

    The program has its own network. Its default route leads through the line to all that this machine reaches, and
    names resolve as outside. Standard input and output, the terminal and signals are passed to the program, and its
    exit status is returned. At the end, a summary of the packets is printed on standard error.

    As root, this kernel forwards the packets, and the program runs as the user who called sudo. Without root, pasta or
    slirp4netns forwards them. All changes are undone at the end.
    """
    linux()
    from tailback.runs.live.behind import course, passing, report, stage
    from tailback.runs.live.behind.engine import EngineError
    from tailback.runs.live.router import Refused
    from tailback.runs.live.session import LiveError

    words = _words(command, given["shell"])
    scenario, notes = _scenario(given)
    out_folder, capture = given["out"], given["capture"]
    # Existing files keep their owner.
    new_paths = [] if out_folder is None else _folders(out_folder)
    new_paths += [] if capture is None or os.path.lexists(capture) else [capture]

    def finished(answer: Any) -> dict[str, Any]:
        if out_folder is not None:
            report.save(answer, scenario, out_folder)
        return report.document(answer, scenario)

    meter = _Meter() if given["meter"] else None
    wishes = course.Wishes(scenario, words, given["servers"], given["seconds"], capture, given["real_time"])
    wishes.finished, wishes.meter = finished, meter.show if meter else None
    try:
        result = course.run(wishes)
    except Refused as e:
        raise NotHere(str(e)) from e
    except (LiveError, EngineError, passing.PartFailed) as e:
        raise Failure(f"the line has failed: {e}") from e
    except OSError as e:
        raise Failure(f"the line cannot be made: {os_message(e)}") from e
    except KeyboardInterrupt:
        raise Stopped("interrupted; nothing is left behind") from None
    finally:
        if meter is not None:
            meter.clear()
    passing.own_the_terminal()
    document = {
        **result.passed,
        "ended": _ended(result.ended),
        "way": result.way,
        "notes": [*notes, *result.notes],
        "servers": result.servers,
    }
    document["scenario"] = scenario.toml
    if result.ended.why:
        say(f"tailback behind: {result.ended.why}")
    try:
        if out_folder is not None:
            report.write(document, out_folder)
        if (user := stage.who_called_sudo()) is not None:
            report.give(
                [*new_paths, *([] if out_folder is None else report.files(out_folder))], user.number, user.group
            )
    except OSError as e:
        raise Failure(f"what passed cannot be stored: {os_message(e)}") from e
    with contextlib.suppress(OSError):
        if given["as_json"]:
            click.echo(json.dumps(document, allow_nan=False), err=True)
        elif out_folder is None:
            click.echo(plain(report.text(document)), err=True)
    passing.end_as(result.ended)


def _words(command: tuple[str, ...], shell: bool) -> tuple[str, ...]:
    if shell and command:
        raise click.UsageError("--shell opens a shell instead of a command; leave one of them out")
    if shell:
        return (os.environ.get("SHELL") or "/bin/sh",)
    if not command:
        raise click.UsageError(
            "there is no command; write it at the end: tailback behind --down 20Mbps --up 2Mbps -- COMMAND"
        )
    return command


def _scenario(given: dict[str, Any]) -> tuple[Any, list[str]]:
    """The line, and the data for its summary at the end."""
    from tailback.cli.source import reader
    from tailback.runs.live.behind import line

    names = ("down", "up", "rtt", "queue", "modem", "loss", "trace_down", "trace_up", "marking", "seed", "ends")
    file = given["file"]
    folder = Path() if file in (None, "-") else Path(file).parent
    options = line.LineAsked(**{name: given[name] for name in names}, folder=folder)
    try:
        base = None if file is None else reader(file)([])
        return line.scenario(options, base, given["overrides"])
    except line.Unusable as e:
        raise click.UsageError(str(e)) from e


def _folders(out: str) -> list[str]:
    """Makes the folder and its missing parents; returns the folders that it made."""
    path = Path(out)
    missing_folders = [str(folder) for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise click.UsageError(f"--out {out}: {os_message(e)}") from e
    return missing_folders


def _ended(ended: Any) -> dict[str, Any]:
    import signal

    if os.WIFSIGNALED(ended.status):
        name = signal.Signals(os.WTERMSIG(ended.status)).name
        sentence = f"ended by {name}" + (" as its time was over" if ended.timed else "")
    else:
        sentence = f"exit status {ended.code}"
    return {"status": ended.code, "said": sentence, "left_processes": ended.left, "timed": ended.timed}


class _Meter:
    """One line on standard error while the program runs."""

    def __init__(self) -> None:
        self.before: tuple[float, int, int] | None = None
        self.rates = (0.0, 0.0)
        self.is_drawn = False

    def show(self, state: dict[str, Any]) -> None:
        counters = (state["time_s"], state["near_bytes"], state["far_bytes"])
        if self.before is None or counters[0] - self.before[0] >= 0.5:
            if self.before is not None:
                time_s = counters[0] - self.before[0]
                self.rates = (
                    (counters[1] - self.before[1]) * 8e-6 / time_s,
                    (counters[2] - self.before[2]) * 8e-6 / time_s,
                )
            self.before = counters
            status_line = (
                f"{counters[0]:.0f} s  down {self.rates[0]:.2f} Mb/s  up {self.rates[1]:.2f} Mb/s  "
                f"{state['inside_packets']} packets inside"
            )
            with contextlib.suppress(OSError):
                click.echo(
                    f"\r\x1b[K{status_line}" if sys.stderr.isatty() else status_line,
                    err=True,
                    nl=not sys.stderr.isatty(),
                )
            self.is_drawn = sys.stderr.isatty()

    def clear(self) -> None:
        if self.is_drawn:
            with contextlib.suppress(OSError):
                click.echo("\r\x1b[K", err=True, nl=False)
