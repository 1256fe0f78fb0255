"""`tailback lab`: a page in the browser with sliders, whose pictures show simulated runs packet by packet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback.cli import options, pasted

if TYPE_CHECKING:
    from tailback.apps.lab.state import State


@click.command()
@click.argument("file", required=False)
@options.overrides()
@pasted.queue()
@click.option("--adapt", metavar="NAME", help="The scenario's video adapts by this rate control: gcc, nada, scream.")
@click.option("--beside", metavar="QUEUE", help="Discipline to show beside the scenario's own, such as codel.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen at.  [default: a free one]")
@click.option("--no-browser", is_flag=True, help="Print the address and open nothing.")
@click.option("--tour", metavar="NAME", help="Begin with a tour: its name, or a file of your own (.toml).")
@click.option(
    "--export", "to", metavar="FILE", help="Write an HTML file with the simulator inside, and start no server."
)
@click.option(
    "--axis",
    "axes",
    multiple=True,
    metavar="PATH=V,V,...",
    help="With --export: values of PATH that the page offers. Their runs are made now, and the file has no simulator. "
    "Give two.",
)
def lab(
    file: str | None,
    overrides: tuple[str, ...],
    queue: str | None,
    adapt: str | None,
    beside: str | None,
    port: int,
    no_browser: bool,
    tour: str | None,
    to: str | None,
    axes: tuple[str, ...],
) -> None:
    """Show the scenario in FILE with sliders: queue, windows and delay change while you drag.

    The page is served on this machine alone. Without FILE it begins with ten flows behind a drop-tail buffer, and CoDel
    beside it. With --export nothing is served: every value can be moved in the file, in any browser, offline.
    """
    from tailback.apps.lab.state import LabError
    from tailback.cli.errors import NotHere, say

    if axes and not to:
        raise click.UsageError("--axis is for an exported file; give --export FILE too")
    if tour is not None and (file is not None or axes):
        raise click.UsageError("a tour brings its scenario; leave FILE and --axis out")
    if queue is not None and (tour is not None or file == "-"):
        raise click.UsageError("--queue changes a scenario in a file, or the lab's own; leave --tour and - out")
    if queue is not None:
        overrides = (*overrides, *pasted.overrides(file or _start(), overrides, queue))
    if adapt is not None:
        if tour is not None or file == "-":
            raise click.UsageError("--adapt changes a scenario in a file; leave --tour and - out")
        overrides = (*overrides, *_adapting(file or _start(), overrides, adapt))
    try:
        if to is not None:
            _write(to, file, overrides, beside, tour, axes)
            return
        from tailback.apps.lab import server

        if tour is not None:
            from tailback.apps.lab import tours

            named_tour = tours.find(tour)
            state, tour_page = named_tour.state, tours.shown(named_tour)
        else:
            state, tour_page = state_of(file, overrides, beside), None
        state.documents()

        def told(address: str) -> None:
            click.echo(f"the lab is at {address}")
            say("Ctrl-C ends it")

        try:
            server.serve(state, port, told, not no_browser, tour_page)
        except server.NotInstalled as e:
            raise NotHere(str(e)) from e
    except LabError as e:
        raise click.UsageError(str(e)) from e


def _start() -> str:
    """The scenario without FILE."""
    return str(Path(__file__).parents[2] / "apps" / "lab" / "start.toml")


def _adapting(file: str, overrides: tuple[str, ...], adapt: str) -> list[str]:
    """The changes, as `--set` takes them, that give all video of a scenario this rate control."""
    from tailback.cli.source import read

    videos = [group["name"] for group in read(file, list(overrides)).spec["flows"] if group["traffic"] == "video"]
    if not videos:
        raise click.UsageError(
            f"--adapt {adapt}: the scenario has no video that could adapt; name a FILE with "
            'traffic = "video", such as the example calls'
        )
    return [f"flows.{name}.rtp.control={adapt}" for name in videos]


def state_of(file: str | None, overrides: tuple[str, ...], beside: str | None) -> State:
    """The state with which the lab begins, for these words of the command."""
    import json

    from tailback.apps.lab.state import State, explicit, watched, with_buffer_of
    from tailback.cli.source import read

    start = _start()
    document = explicit(json.loads(read(file or start, list(overrides)).json))
    if not beside:
        beside = "" if file else "codel"
    if not beside:
        return State(document)
    # A name or a table, as --set takes it.
    name = watched(document)
    other_scenario = read(file or start, [*overrides, "record={}", f"link.{name}.queue={beside}"])
    queue = explicit(json.loads(other_scenario.json))["link"][name]["queue"]
    return State(document, with_buffer_of(document["link"][name]["queue"], queue))


def _write(
    to: str, file: str | None, overrides: tuple[str, ...], beside: str | None, tour: str | None, axes: tuple[str, ...]
) -> None:
    import sys

    from tailback.apps.lab import export, tours
    from tailback.core.text.whole import write_text

    def told(done: int, total: int) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r{done} of {total} pairs of values", err=True, nl=done == total)

    if tour is not None:
        named_tour = tours.find(tour)
        text = export.with_engine(named_tour.state, tours.shown(named_tour))
    elif axes:
        chosen = [export.axis(a) for a in axes]
        text = export.with_runs(state_of(file, overrides, beside), chosen, told)
    else:
        state = state_of(file, overrides, beside)
        # A scenario that cannot be run is refused here and not in the page.
        state.asked("full")
        text = export.with_engine(state, None)
    write_text(Path(to), text)
    click.echo(f"{to}: {len(text.encode()) / 1e6:.2f} MB")
