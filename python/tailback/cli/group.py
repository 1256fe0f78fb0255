"""The command line. What a command needs is imported when it is called, so that `tailback --help` is quick.

Exit status: 0 done, 1 the run failed, 2 the input was wrong, 130 stopped by Ctrl-C. Results go to standard output,
everything else to standard error.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from typing import Any

import click

from tailback.cli.errors import Failure, Stopped, os_message, say, with_remedy

# Command: the module that has it under its name, and its line in the help.
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("tailback.cli.demo", "Show in three pictures what a queue does."),
    "run": ("tailback.cli.run", "Run a scenario and show what came out."),
    "check": ("tailback.cli.run", "Check a scenario without running it."),
    "reproduce": ("tailback.cli.reproduce", "Repeat published studies, and compare point by point."),
    "verify": ("tailback.cli.verify", "Run a bundle of studies again, and compare every number."),
    "compare": ("tailback.cli.compare", "Compare queue disciplines on a link."),
    "home": ("tailback.cli.home", "Say what helps on a home line, and which lines to paste."),
    "conform": ("tailback.cli.conform", "Check a sender against the sentences of its RFCs."),
    "lab": ("tailback.cli.lab", "Show a scenario with sliders, in a browser."),
    "sweep": ("tailback.cli.sweep", "Run a scenario over axes, on all cores or a cluster."),
    "capture": ("tailback.cli.capture", "Capture a link as pcapng, for Wireshark."),
    "trace": ("tailback.cli.capture", "Print what happens to the packets of a flow."),
    "live": ("tailback.cli.live", "Run a scenario with real packets (Linux)."),
    "gateway": ("tailback.cli.live", "Put a queue between two namespaces or interfaces (Linux)."),
    "doctor": ("tailback.cli.live", "Check whether this machine can do live runs."),
    "status": ("tailback.cli.status", "Show what a folder of results holds."),
    "predict": ("tailback.cli.predict", "Show what theory predicts for a bottleneck."),
    "report": ("tailback.cli.report", "Write the report of a folder of results, or compare two folders."),
    "export": ("tailback.cli.export", "Write a table of results as CSV or Parquet."),
    "plot": ("tailback.cli.plot", "Draw a figure of a folder of results."),
    "describe": ("tailback.cli.describe", "Explain a model with its parameters and probes, or list all models."),
    "schema": ("tailback.cli.describe", "Print the JSON schema of scenarios, for editors."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, not when they are listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(COMMANDS[name][0]), name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        args = _renamed(ctx, args)
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, 1)
            hint = f"did you mean {near[0]!r}?" if near else "commands are " + ", ".join(COMMANDS)
            ctx.fail(f"there is no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _renamed(ctx: click.Context, args: list[str]) -> list[str]:
    """`compare --down --up` is `home` since 2026; the old words work until the end of 2027."""
    options = {arg.partition("=")[0] for arg in args[1:]}
    if args[:1] != ["compare"] or not options & {"--down", "--up"}:
        return args
    if "--rate" in options:
        ctx.fail("--rate is that of a link, which `compare` takes; --down and --up are of a home line: tailback home")
    say("note: `tailback compare --down` is now `tailback home`; the old words work until the end of 2027")
    return ["home", *args[1:]]


def _version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from tailback import _core

        click.echo(f"tailback {_core.__version__}")
        if _core.own_crate:
            rows = ", ".join(map(" ".join, _core.own_rows))
            click.echo(f"with {' '.join(_core.own_crate)}: {rows or 'no rows'}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def cli() -> None:
    """A packet-level laboratory for the queue behind a bottleneck."""


def main(args: list[str] | None = None) -> None:
    """Run a command and leave with its exit status."""
    lost = _open_streams()
    sys.unraisablehook = _unraised
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character shows a question mark instead of a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        status = _status(args)
    except KeyboardInterrupt:
        # It came while an error was being shown.
        status = Stopped.status
    # What is buffered may fail to be written only now.
    try:
        sys.stdout.flush()
    except OSError as e:
        status = max(status, _output_lost(e))
    if lost:
        say("error: the output cannot be written: standard output is closed")
        status = max(status, 1)
    sys.exit(status)


def _unraised(what: sys.UnraisableHookArgs) -> None:
    """Ctrl-C in the callback of a weak reference, or where else Python drops an exception: it comes once more."""
    if not issubclass(what.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(what)
        return
    import _thread
    import threading

    # Now it would be dropped again.
    threading.Timer(0.01, _thread.interrupt_main).start()


def _open_streams() -> bool:
    """Give closed streams somewhere to go, before a file of results is opened in the place of one; whether standard
    output was closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free is this one.
            os.open(os.devnull, os.O_RDWR)
    lost = sys.stdout is None
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - it stays open to the end
    return lost


def _status(args: list[str] | None) -> int:
    try:
        cli.main(args, prog_name="tailback", standalone_mode=False)
        return 0
    except click.exceptions.Exit as e:
        return e.exit_code
    except click.ClickException as e:
        shown = io.StringIO()
        e.show(shown)
        say(with_remedy(e, shown.getvalue().rstrip("\n")))
        return e.exit_code
    except Failure as e:
        say(f"error: {e}")
        return e.status
    except (KeyboardInterrupt, click.Abort):
        say("interrupted")
        return Stopped.status
    except UnicodeEncodeError as e:
        say(f"error: {e.object} is not UTF-8 text; only paths may be something else")
        return 2
    except BrokenPipeError as e:
        return _output_lost(e)
    except MemoryError:
        say("error: there is not enough memory; give less to read or to run, or raise the limit (ulimit -v)")
        return 1
    except OSError as e:
        # An error without a file's name is of standard output.
        if e.filename is None and e.errno in (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF):
            return _output_lost(e)
        say(f"error: {os_message(e)}")
        return 1
    except Exception as e:
        from tailback.extension import ForeignCoreError

        if isinstance(e, ForeignCoreError):
            say(f"error: {e}")
            return 2
        from tailback import _core

        if isinstance(e, _core.ScenarioError):
            say(str(e))
            return 2
        from tailback.text.room import MemoryRefusal

        if isinstance(e, MemoryRefusal):
            say(f"error: {e}")
            return 2
        raise


def _output_lost(e: OSError) -> int:
    """Standard output cannot be written. A reader that has gone away (`| head`) is no error worth words."""
    if e.errno != errno.EPIPE:
        say(f"error: the output cannot be written: {os_message(e)}")
    # Python flushes once more at exit, and would complain.
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)
    return 1
