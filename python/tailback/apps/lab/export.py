"""Writes a scenario or a tour as one file that opens without a server. The file contains the engine or, for axes, runs
that were made beforehand."""

from __future__ import annotations

import base64
import copy
import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.apps.lab import page, tours
from tailback.apps.lab.runs import LabOrder, made_of
from tailback.apps.lab.state import LabError, State, explicit, watched

#: The width of a picture in a file, in columns: a panel of a lecture's screen.
COLUMNS = 400
#: The most pairs of values; each takes about 50 kB of the file.
MOST_CELLS = 400
#: Keys of a `[change.NAME]` table that name a trace file.
TRACES = ("trace", "mahimahi")


@dataclass(frozen=True)
class GridAxis:
    """A setting that the reader of the file may choose: its labels, and the changes for each, as `--set` takes them."""

    label: str
    doc: str
    values: Sequence[str]
    changes: Sequence[Sequence[str]]


def axis(text: str) -> GridAxis:
    """An axis from the command's PATH=VALUE,VALUE,..."""
    path, sep, rest = text.partition("=")
    value_texts = [v.strip() for v in rest.split(",") if v.strip()]
    if not sep or not path or len(value_texts) < 2:
        raise LabError(f"{text}: write PATH=VALUE,VALUE, such as link.bottleneck.rate=10Mbps,20Mbps,50Mbps")
    return GridAxis(path, "", value_texts, [[f"{path}={v}"] for v in value_texts])


def with_engine(state: State, tour: dict[str, Any] | None) -> str:
    """The text of a file in which every value can be changed."""
    tours_shown = [tours.shown(tours.find(p.stem)) for p in tours.files()] if tour is None else [tour]
    inside, files = _with_files(state)
    hello = {
        "state": inside.as_dict(),
        "tours": tours_shown,
        "version": _core.__version__,
        "tour": tour,
        "files": files,
    }
    return page.live(_title(state, tour), hello)


def _with_files(state: State) -> tuple[State, dict[str, str]]:
    """The state with trace files by name only, and the texts of these files, since a page has no folder."""
    document = copy.deepcopy(dict(state.document))
    files: dict[str, str] = {}
    for change in (document.get("change") or {}).values():
        for key in TRACES:
            if key in change:
                path = Path(change[key])
                # Two files may have one name.
                name = path.name if path.name not in files else f"{len(files)}-{path.name}"
                files[name] = path.read_text(encoding="utf-8")
                change[key] = name
    return State(document, state.beside), files


def with_runs(state: State, axes: Sequence[GridAxis], told: Callable[[int, int], None]) -> str:
    """The text of a file with a run for each pair of values. `told` is called with the number of finished runs and of
    all runs."""
    cells = list(product(*(a.changes for a in axes)))
    if len(cells) > MOST_CELLS:
        raise LabError(f"the axes have {len(cells)} pairs of values; give at most {MOST_CELLS}")
    frames = []
    for i, changes in enumerate(cells):
        told(i, len(cells))
        chosen = changed(state, [c for part in changes for c in part])
        frame = made_of(LabOrder(i + 1, chosen, "full", COLUMNS), for_page=False)
        # No time is included, so that equal runs give equal files.
        frames.append(base64.b64encode(gzip.compress(frame or b"", mtime=0)).decode())
    told(len(cells), len(cells))
    axis_tables = [{"label": a.label, "doc": a.doc, "values": list(a.values)} for a in axes]
    begin = [len(a.values) // 2 for a in axes]
    greeting = {"state": {**state.as_dict(), "grid": begin}, "tours": [], "version": _core.__version__}
    return page.whole(_title(state, None), greeting, {"axes": axis_tables, "frames": frames})


def _title(state: State, tour: dict[str, Any] | None) -> str:
    return f"tailback lab: {tour['title'] if tour else state.document.get('name', 'scenario')}"


def changed(state: State, changes: Sequence[str]) -> State:
    """The state after changes. A changed buffer applies to both disciplines."""
    name = watched(state.document)
    text = json.dumps(state.document)
    document = explicit(json.loads(_core.load(text, "json", "the exported scenario", list(changes)).json))
    other_queue = state.beside
    buffer = document["link"][name]["queue"].get("buffer")
    if (
        other_queue is not None
        and "buffer" in other_queue
        and any(c.startswith(f"link.{name}.queue.buffer=") for c in changes)
    ):
        other_queue = {**other_queue, "buffer": buffer}
    return State(document, other_queue)
