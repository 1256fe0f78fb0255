"""The commands, and the help that lists them: a table that needs no library to be printed."""

from __future__ import annotations

from collections.abc import Mapping

#: Command: the module that has it under its name, and its line in the help.
COMMANDS: Mapping[str, tuple[str, str]] = {
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

ABOUT = "A packet-level laboratory for the queue behind a bottleneck."
VERSION_HELP = "Show the version."
#: Longer lines are hard to read.
MOST_COLUMNS = 100


def help_text() -> str:
    """What `tailback --help` prints, as wide as the terminal."""
    import textwrap

    from tailback.text.width import terminal_width

    width = max(min(terminal_width(), MOST_COLUMNS) - 2, 40)
    options = {"--version": VERSION_HELP, "-h, --help": "Show this message and exit."}
    commands = {name: line for name, (_, line) in COMMANDS.items()}
    lines = ["Usage: tailback [OPTIONS] COMMAND [ARGS]...", ""]
    lines += textwrap.wrap(ABOUT, width, initial_indent="  ", subsequent_indent="  ")
    lines += ["", "Options:", *_listed(options, width), "", "Commands:", *_listed(commands, width)]
    return "\n".join(lines)


def _listed(rows: Mapping[str, str], width: int) -> list[str]:
    import textwrap

    at = max(map(len, rows)) + 4
    found = []
    for name, text in rows.items():
        found += textwrap.wrap(text, width, initial_indent=f"  {name}".ljust(at), subsequent_indent=" " * at)
    return found


def version_text() -> str:
    """What `tailback --version` prints."""
    from tailback import _core

    lines = [f"tailback {_core.__version__}"]
    if _core.own_crate:
        rows = ", ".join(map(" ".join, _core.own_rows))
        lines.append(f"with {' '.join(_core.own_crate)}: {rows or 'no rows'}")
    return "\n".join(lines)
