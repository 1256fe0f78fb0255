"""The group of all commands, and the exit status of a call."""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from typing import Any

import click

from tailback.cli.commands import ABOUT, COMMANDS, MOST_COLUMNS, VERSION_HELP, help_text, start_text, version_text
from tailback.cli.errors import Failure, Stopped, os_message, say, with_remedy


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

    def get_help(self, ctx: click.Context) -> str:
        return help_text()


def _renamed(ctx: click.Context, args: list[str]) -> list[str]:
    """`compare --down --up` is `home` since 2026; the old words work until the end of 2027."""
    options = {arg.partition("=")[0] for arg in args[1:]}
    if args[:1] != ["compare"] or not options & {"--down", "--up"}:
        return args
    if "--rate" in options:
        ctx.fail("--rate is for a link, which `compare` takes; --down and --up are for a home line: tailback home")
    say("note: `tailback compare --down` is now `tailback home`; the old words work until the end of 2027")
    return ["home", *args[1:]]


def _version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(version_text())
        ctx.exit()


@click.group(
    cls=LazyGroup,
    help=ABOUT,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MOST_COLUMNS},
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help=VERSION_HELP)
@click.pass_context
def cli(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        click.echo(start_text())


def status(args: list[str] | None) -> int:
    try:
        cli.main(args, prog_name="tailback", standalone_mode=False)
        return 0
    except click.exceptions.Exit as e:
        return e.exit_code
    except click.ClickException as e:
        printed = io.StringIO()
        e.show(printed)
        say(with_remedy(e, printed.getvalue().rstrip("\n")))
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
        return output_lost(e)
    except MemoryError:
        say("error: there is not enough memory; give less to read or to run, or raise the limit (ulimit -v)")
        return 1
    except OSError as e:
        # An error without a file's name is of standard output.
        if e.filename is None and e.errno in (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF):
            return output_lost(e)
        say(f"error: {os_message(e)}")
        return 1
    except Exception as e:
        from tailback.core.extension import ForeignCoreError

        if isinstance(e, ForeignCoreError):
            say(f"error: {e}")
            return 2
        from tailback import _core

        if isinstance(e, _core.ScenarioError):
            say(str(e))
            return 2
        from tailback.core.text.room import MemoryRefusal

        if isinstance(e, MemoryRefusal):
            say(f"error: {e}")
            return 2
        raise


def output_lost(e: OSError) -> int:
    """Standard output cannot be written. A reader that has closed the pipe (`| head`) gives no message."""
    if e.errno != errno.EPIPE:
        say(f"error: the output cannot be written: {os_message(e)}")
    # Python flushes once more at exit, and would complain.
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)
    return 1
