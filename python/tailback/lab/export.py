"""A tour, or a scenario with two axes, as one file that opens without a server: its runs are made beforehand."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from tailback import _core
from tailback.lab import page, tours
from tailback.lab.controls import PACKET_BITS, mean_rtt
from tailback.lab.runs import LabOrder, made_of
from tailback.lab.state import LabError, State, explicit, load, watched

#: Columns of a picture in a file: a panel of a lecture's screen.
COLUMNS = 400
#: Pairs of values, at most: a file has some 50 kB for each.
MOST_CELLS = 400


@dataclass(frozen=True)
class GridAxis:
    """A value that the file's reader may choose: labels, and the changes that each means, as `--set` takes them."""

    label: str
    doc: str
    values: Sequence[str]
    changes: Sequence[Sequence[str]]


def axis(text: str) -> GridAxis:
    """An axis as the command has it: PATH=VALUE,VALUE,..."""
    path, sep, rest = text.partition("=")
    values = [v.strip() for v in rest.split(",") if v.strip()]
    if not sep or not path or len(values) < 2:
        raise LabError(f"{text}: write PATH=VALUE,VALUE, such as link.bottleneck.rate=10Mbps,20Mbps,50Mbps")
    return GridAxis(path, "", values, [[f"{path}={v}"] for v in values])


def usual(state: State) -> list[GridAxis]:
    """The axes where none is given: the buffer from a tenth to two products of rate and round trip, and the rate from
    half to double."""
    scenario = load(state.document)
    name = watched(scenario)
    row = next(x for x in scenario.spec["links"] if x["name"] == name)
    packets = row["rate_bps"] * mean_rtt(state.document, row) / PACKET_BITS
    shares = (0.1, 0.25, 0.5, 1.0, 2.0)
    buffers = [f"{max(1, round(share * packets))} packets" for share in shares]
    rates = [f"{row['rate_bps'] * f / 1e6:.4g}Mbps" for f in (0.5, 1.0, 2.0)]
    doc = "From a tenth to two products of the rate and the mean round trip, as the scenario has them."
    return [
        GridAxis("buffer", doc, buffers, [[f"link.{name}.queue.buffer={b}"] for b in buffers]),
        GridAxis(
            "rate", "Half of the scenario's, as it is, and double.", rates, [[f"link.{name}.rate={r}"] for r in rates]
        ),
    ]


def of_tour(name: str) -> tuple[State, list[GridAxis], dict[str, Any]]:
    """A tour as a file: as it is, and with the change under which its claim fails."""
    tour = tours.find(name)
    values = ["as the tour has it", f"with {', '.join(tour.fails)}"]
    return (
        tour.state,
        [GridAxis("change", tour.fails_because, values, [[], tour.fails])],
        tours.shown(tour),
    )


def export(
    state: State, axes: Sequence[GridAxis], tour: dict[str, Any] | None, told: Callable[[int, int], None]
) -> str:
    """The file's text; `told` gets how many of how many runs are done."""
    cells = list(product(*(a.changes for a in axes)))
    if len(cells) > MOST_CELLS:
        raise LabError(f"the axes have {len(cells)} pairs of values; give at most {MOST_CELLS}")
    frames = []
    for i, changes in enumerate(cells):
        told(i, len(cells))
        chosen = changed(state, [c for part in changes for c in part])
        made = made_of(LabOrder(i + 1, chosen, "full", COLUMNS), for_page=False)
        # Without a time in it, so that equal runs give equal files.
        frames.append(base64.b64encode(gzip.compress(made or b"", mtime=0)).decode())
    told(len(cells), len(cells))
    shown = [{"label": a.label, "doc": a.doc, "values": list(a.values)} for a in axes]
    begin = [len(a.values) // 2 if tour is None else 0 for a in axes]
    name = str(state.document.get("name", "scenario"))
    greeting: dict[str, Any] = {
        "state": {**state.as_dict(), "grid": begin},
        "tours": [],
        "version": _core.__version__,
        "tour": tour,
    }
    title = f"tailback lab: {tour['title'] if tour else name}"
    return page.whole(title, greeting, {"axes": shown, "frames": frames})


def changed(state: State, changes: Sequence[str]) -> State:
    """The state after changes; a buffer is that of both disciplines."""
    name = watched(load(state.document))
    text = json.dumps(state.document)
    document = explicit(json.loads(_core.load(text, "json", "the exported scenario", list(changes)).json))
    beside = state.beside
    buffer = document["link"][name]["queue"].get("buffer")
    if beside is not None and "buffer" in beside and any(c.startswith(f"link.{name}.queue.buffer=") for c in changes):
        beside = {**beside, "buffer": buffer}
    return State(document, beside)
