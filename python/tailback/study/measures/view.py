"""One run in the form for measures and figures: its labels, and its tables as numpy columns, which are read on first
use."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from tailback.core.store.sources import Columns, RunSource


def written_out(names: Sequence[str]) -> list[str]:
    """Names of groups and flows; `r1.0-11` stands for the flows `r1.0` to `r1.11`.

    Raises ValueError for any other range.
    """
    flows = []
    for name in names:
        group, _, last_part = name.rpartition(".")
        first_number, dash, last_number = last_part.partition("-")
        if not (group and dash):
            flows.append(name)
        elif first_number.isdigit() and last_number.isdigit() and int(first_number) <= int(last_number):
            flows += [f"{group}.{i}" for i in range(int(first_number), int(last_number) + 1)]
        else:
            raise ValueError(f'"{name}" is no range of flows: write GROUP.0-11')
    return flows


@dataclass(eq=False)
class RunView:
    """One run. Tables are read on first use, and stay in memory as long as the view."""

    source: RunSource | None
    _: KW_ONLY
    #: Label values by axis, such as {"queue": "red", "buffer": "200"}.
    labels: dict[str, str] = field(default_factory=dict)
    #: The fair share of the set of runs, bit/s.
    fair_share_bps: float = 1.0
    #: The studied link.
    link: str = "bottleneck"
    #: The buffer in packets; NaN if the set has no axis of that name.
    buffer: float = float("nan")
    seed: int = 0
    #: The `options` of the set of runs, for measures that need a number such as a round trip.
    options: dict[str, Any] = field(default_factory=dict)
    #: The columns that have been read.
    tables: dict[str, Columns] = field(default_factory=dict)

    def table(self, name: str) -> Columns:
        """Columns of a table (flows, groups, links, losses, intervals, series, log, transfers), without labels."""
        if name not in self.tables:
            self.tables[name] = {} if self.source is None else self.source.columns(name)
        return self.tables[name]

    @property
    def flows(self) -> Columns:
        return self.table("flows")

    @property
    def groups(self) -> Columns:
        return self.table("groups")

    @property
    def links(self) -> Columns:
        return self.table("links")

    @property
    def losses(self) -> Columns:
        return self.table("losses")

    @property
    def intervals(self) -> Columns:
        return self.table("intervals")

    @property
    def link_intervals(self) -> Columns:
        return self.table("link_intervals")

    @property
    def series(self) -> Columns:
        return self.table("series")

    @property
    def log(self) -> Columns:
        return self.table("log")

    @property
    def values(self) -> dict[str, float]:
        """Numbers of an experiment without packets."""
        return {} if self.source is None else self.source.values

    # ------------------------------------------------------------------------------------------------- shorthands

    @functools.cached_property
    def classes(self) -> list[str]:
        """Names of the groups of flows, in order."""
        return list(dict.fromkeys(self.flows.get("group", np.array([])).tolist()))

    @functools.cached_property
    def _named(self) -> dict[str, set[str]]:
        """Groups and flows by class, of the classes that the set of runs defines (`options.classes`)."""
        return {k: set(written_out(v)) for k, v in self.options.get("classes", {}).items()}

    def has(self, klass: str) -> bool:
        if klass in self._named or klass in self.flows.get("id", ()) or klass in self.links.get("name", ()):
            return True
        if klass.isdigit() and klass not in self.classes:
            return 1 <= int(klass) <= len(self.flows.get("group", ()))
        return klass == "all" or klass in self.classes

    def of(self, klass: str) -> np.ndarray:
        """The rows of `flows` that belong to a class: a group, `all`, several groups, or one flow by its name or
        number."""
        groups = self.flows["group"]
        if klass in self._named:
            members = list(self._named[klass])
            return np.asarray(np.isin(groups, members) | np.isin(self.flows["id"], members))
        if "." in klass:
            return np.asarray(self.flows["id"] == klass)
        if klass.isdigit() and klass not in self.classes:
            return np.asarray(np.arange(len(groups)) == int(klass) - 1)
        return np.ones(len(groups), bool) if klass == "all" else np.asarray(groups == klass)

    def goodput(self, klass: str = "all") -> np.ndarray:
        """Goodput of each flow of a class, whole packets, bit/s."""
        return np.asarray(self.flows["goodput_wire_bps"][self.of(klass)])

    def link_of(self, klass: str) -> str:
        """The link that a class names, or the studied link."""
        return klass if klass in self.links.get("name", ()) else self.link

    def link_row(self) -> dict[str, Any]:
        """The row of the studied link in the table `links`."""
        link_rows = np.flatnonzero(self.links["name"] == self.link)
        return {k: v[link_rows[0]] for k, v in self.links.items()} if len(link_rows) else {}

    def probe(self, probe: str, what: str | None = None, index: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Times and values of a recorded quantity; empty if it was not recorded."""
        series = self.series
        if not series or not len(series["time_s"]):
            return np.array([]), np.array([])
        is_kept = series["probe"] == probe
        if what is not None:
            is_kept &= series["what"] == what
        if index is not None:
            is_kept &= series["index"] == index
        return series["time_s"][is_kept], series["value"][is_kept]

    def drops(self) -> tuple[np.ndarray, np.ndarray]:
        """Times and flows (`group.number`) of the logged drops at the studied link, in order of time."""
        log = self.log
        if not log or not len(log["time_s"]):
            return np.array([]), np.array([], dtype=object)
        keep = (log["link"] == self.link) & (log["event"] == "drop")
        return log["time_s"][keep], log["flow"][keep]
