"""The command line. The modules of a command are imported when it is called, so that `tailback --help` is quick.

Exit status: 0 done, 1 the run failed, 2 the input was wrong, 130 stopped by Ctrl-C. Results go to standard output,
everything else to standard error.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

from tailback.cli.commands import help_text, start_text, version_text

#: The exit status of a shell for SIGINT.
INTERRUPTED = 130
#: Calls that only print, with the function that gives their text.
PRINTED = {(): start_text, ("--version",): version_text, ("--help",): help_text, ("-h",): help_text}


def main(args: list[str] | None = None) -> None:
    """Runs a command and exits with its status."""
    _search_less_for_cycles()
    output_is_lost = _open_streams()
    sys.unraisablehook = _unraised
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character shows a question mark instead of a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        status = _status(sys.argv[1:] if args is None else args)
    except KeyboardInterrupt:
        # Ctrl-C came while an error was being shown.
        status = INTERRUPTED
    # Buffered output may fail only now.
    try:
        sys.stdout.flush()
    except OSError as e:
        from tailback.cli.group import output_lost

        status = max(status, output_lost(e))
    if output_is_lost:
        from tailback.cli.errors import say

        say("error: the output cannot be written: standard output is closed")
        status = max(status, 1)
    sys.exit(status)


def _search_less_for_cycles() -> None:
    """Makes Python search for cycles less often. By default it searches after some hundred new objects, and in all
    objects at exit. These searches take a seventh of the time of a short run, and the objects found at exit end with
    the process anyway."""
    # A figure is a large cycle, so all objects are still searched after some 270,000 new ones.
    gc.set_threshold(30_000, 2, 2)
    atexit.register(gc.freeze)


def _unraised(what: sys.UnraisableHookArgs) -> None:
    """Raises Ctrl-C again if Python dropped it, as in the callback of a weak reference."""
    if not issubclass(what.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(what)
        return
    import _thread
    import threading

    # An exception that is raised here would be dropped again.
    threading.Timer(0.01, _thread.interrupt_main).start()


def _open_streams() -> bool:
    """Opens /dev/null for closed standard streams, so that no result file gets their number. Returns whether standard
    output was closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free descriptor is the number of this stream.
            os.open(os.devnull, os.O_RDWR)
    is_lost = sys.stdout is None
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - it stays open to the end
    return is_lost


def _status(args: list[str]) -> int:
    """The exit status of a call. A call that only prints text imports no library."""
    printer = PRINTED.get(tuple(args))
    if printer is not None and "TAILBACK_CORE" not in os.environ:
        try:
            print(printer())
            return 0
        except OSError as e:
            from tailback.cli.group import output_lost

            return output_lost(e)
    from tailback.cli.group import status

    return status(args)


def __getattr__(name: str) -> object:
    """Gives `cli`, the group of commands, when it is first used."""
    if name == "cli":
        from tailback.cli.group import cli

        return cli
    raise AttributeError(f"module 'tailback.cli' has no attribute {name!r}")
