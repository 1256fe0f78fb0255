"""The commands in their groups, the first screen and the help: a table that needs no library to be printed."""

from __future__ import annotations

from collections.abc import Mapping

#: The commands of each group, with the module of each command and its line in the help.
GROUPS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Scenarios": {
        "demo": ("tailback.cli.scenarios.demo", "Show in three pictures what a queue does."),
        "examples": ("tailback.cli.scenarios.examples", "List the installed examples, print one, or copy one."),
        "run": ("tailback.cli.scenarios.run", "Run a scenario and show what came out."),
        "check": ("tailback.cli.scenarios.run", "Check a scenario without running it."),
        "lab": ("tailback.cli.scenarios.lab", "Show a scenario with sliders, in a browser."),
        "describe": (
            "tailback.cli.scenarios.describe",
            "Explain a model with its parameters and probes, or list all models.",
        ),
        "schema": ("tailback.cli.scenarios.describe", "Print the JSON schema of scenarios, for editors."),
    },
    "Which queue": {
        "read": (
            "tailback.cli.which_queue.read",
            "Say what a file is: a measurement, a trace, a capture, lines of tc.",
        ),
        "compare": ("tailback.cli.which_queue.compare", "Compare queue disciplines on a link."),
        "home": ("tailback.cli.which_queue.home", "Say what helps on a home line, and which lines to paste."),
        "predict": ("tailback.cli.which_queue.predict", "Show what theory predicts for a bottleneck."),
    },
    "Many runs": {
        "sweep": ("tailback.cli.many_runs.sweep", "Run a scenario over axes, on all cores or a cluster."),
        "status": ("tailback.cli.many_runs.status", "Show what a folder of results holds."),
        "report": ("tailback.cli.many_runs.report", "Write the report of a folder of results, or compare two folders."),
        "plot": ("tailback.cli.many_runs.plot", "Draw a figure of a folder of results."),
        "export": ("tailback.cli.many_runs.export", "Write a table of results as CSV or Parquet."),
    },
    "Published work": {
        "reproduce": ("tailback.cli.published_work.reproduce", "Repeat published studies, and compare point by point."),
        "verify": ("tailback.cli.published_work.verify", "Run a bundle of studies again, and compare every number."),
        "conform": ("tailback.cli.published_work.conform", "Check a sender against the sentences of its RFCs."),
    },
    "Packets": {
        "capture": ("tailback.cli.packets.capture", "Capture a link as pcapng, for Wireshark."),
        "trace": ("tailback.cli.packets.capture", "Print what happens to the packets of a flow."),
        "live": ("tailback.cli.packets.live", "Run a scenario with real packets (Linux)."),
        "behind": ("tailback.cli.packets.behind", "Run a program behind a line (Linux)."),
        "gateway": ("tailback.cli.packets.live", "Put a queue between two namespaces or interfaces (Linux)."),
        "doctor": ("tailback.cli.packets.live", "Check whether this machine can do live runs."),
    },
}
COMMANDS = {name: row for group in GROUPS.values() for name, row in group.items()}

ABOUT = "A packet-level laboratory for the queue behind a bottleneck."
#: The first commands to type, with the reasons.
FIRST = {
    "tailback demo": "Three pictures of what a queue does, on a page.",
    "tailback run first-run": "An example: ten TCP transfers share a line.",
}
VERSION_HELP = "Show the version."
#: Longer lines are hard to read.
MOST_COLUMNS = 100


def start_text() -> str:
    """The output of `tailback` without arguments: 24 lines on a terminal of 80 columns."""
    groups = {group: ", ".join(commands) for group, commands in GROUPS.items()}
    next_steps = {
        "tailback --help": "What each command does.",
        "tailback COMMAND --help": "Its options.",
        "tailback examples": "What there is to run.",
        "tailback describe": "The models that a scenario can name.",
    }
    lines = [*_wrapped(f"tailback: {ABOUT[0].lower()}{ABOUT[1:]}"), "", "Type first:", *listed(FIRST), ""]
    return "\n".join([*lines, "Commands:", *listed(groups), "", "More:", *listed(next_steps)])


def help_text() -> str:
    """The output of `tailback --help`."""
    options = {"--version": VERSION_HELP, "-h, --help": "Show this message and exit."}
    lines = ["Usage: tailback [OPTIONS] COMMAND [ARGS]...", "", *_wrapped(ABOUT, "  ")]
    lines += ["", "Type first:", *listed(FIRST), "", "Options:", *listed(options)]
    text_column = max(map(len, COMMANDS)) + 4
    for group, commands in GROUPS.items():
        lines += ["", f"{group}:", *listed({name: line for name, (_, line) in commands.items()}, text_column)]
    return "\n".join(lines)


def listed(rows: Mapping[str, str], at: int = 0) -> list[str]:
    """Names, each with a text beside it from column `at` on, as wide as the terminal."""
    at = at or max(map(len, rows)) + 4
    return [line for name, text in rows.items() for line in _wrapped(text, f"  {name}".ljust(at))]


def _wrapped(text: str, head: str = "") -> list[str]:
    """A paragraph whose lines have a hanging indent."""
    import textwrap

    return textwrap.wrap(text, _width(), initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False)


def _width() -> int:
    from tailback.core.text.width import terminal_width

    return max(min(terminal_width(), MOST_COLUMNS) - 2, 40)


def version_text() -> str:
    """The output of `tailback --version`."""
    from tailback import _core

    lines = [f"tailback {_core.__version__}"]
    if _core.own_crate:
        rows = ", ".join(map(" ".join, _core.own_rows))
        lines.append(f"with {' '.join(_core.own_crate)}: {rows or 'no rows'}")
    return "\n".join(lines)
