"""Reads lists of flows: source, destination, size and start of each. Forms: `flow.txt` of HPCC and ns3-datacenter,
connection matrices of htsim, and tables whose header names the columns (source, destination, bytes, time).

Hosts become numbers in the order in which they appear; their names are dropped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tailback.readers.given import Given
from tailback.readers.measured.measurement import amount
from tailback.readers.reading import Next, Notes, ReadError, Reading, Written, short
from tailback.readers.traces.table import Table, number, seconds, table

KIND = "flow-list"
_HTSIM = re.compile(r"(\d+)\s*->\s*(\d+)\b(?=.*\bsize\b|.*\bstart\b)")
_HEADS = {
    "source": frozenset(["source", "src", "from", "sender", "client", "srcid", "src_id", "host_src"]),
    "destination": frozenset(["destination", "dst", "dest", "to", "receiver", "server", "dstid", "dst_id", "host_dst"]),
    "bytes": frozenset(
        ["bytes", "size", "flow_size", "flowsize", "length", "size_bytes", "flow_size_bytes", "maxpacketcount"]
    ),
    "time": frozenset(
        [
            "time",
            "start",
            "start_time",
            "starttime",
            "arrival",
            "at",
            "time_s",
            "start_s",
            "t",
            "timestamp",
            "arrival_time",
        ]
    ),
}
#: The unit at the end of a column's name.
_UNIT = re.compile(r"_(?:s|ms|us|ns|sec|seconds|b)$")
#: The columns of an HPCC list; its first line is the number of flows.
_HPCC = ("source", "destination", "priority group", "port", "bytes", "time")
_MOST_HOSTS, _MOST_PAIRS, _MOST_FLOWS = 1000, 5000, 500_000


@dataclass(frozen=True)
class Flow:
    source: int
    destination: int
    size: int
    at_s: float


@dataclass(frozen=True)
class FlowList:
    """Flows in the order of their starts; hosts are numbered from 0."""

    flows: tuple[Flow, ...]
    hosts: int

    @property
    def pairs(self) -> dict[tuple[int, int], list[Flow]]:
        flows_of_pair: dict[tuple[int, int], list[Flow]] = {}
        for f in self.flows:
            flows_of_pair.setdefault((f.source, f.destination), []).append(f)
        return flows_of_pair


def recognises(given: Given) -> bool:
    if any(_HTSIM.match(line) for _, line in given.filled[:20] if len(line) < 500):
        return True
    table_found = table(given)
    return table_found is not None and _columns(table_found, given) is not None


def read(given: Given) -> Reading:
    notes = Notes()
    rows = _htsim(given, notes)
    if rows is None:
        table_found = table(given)
        columns = _columns(table_found, given) if table_found is not None else None
        if table_found is None or columns is None:
            raise ReadError("it is no list of flows", "give source, destination, bytes and time", name=given.name)
        rows = _rows(table_found, columns, given, notes)
    if not rows:
        raise ReadError("no flow has a size and a time", "give source, destination, bytes and time", name=given.name)
    if len(rows) > _MOST_FLOWS:
        raise ReadError(f"it has more than {_MOST_FLOWS:,} flows", "cut the list", name=given.name)
    hosts: dict[str, int] = {}
    first_s = min(at for *_, at in rows)
    flows = [
        Flow(hosts.setdefault(a, len(hosts)), hosts.setdefault(b, len(hosts)), size, at - first_s)
        for a, b, size, at in rows
    ]
    flows.sort(key=lambda f: f.at_s)
    flow_list = FlowList(tuple(flows), len(hosts))
    if first_s:
        notes.say("beginning", f"the first flow begins at 0 s; in the list it begins at {first_s:g} s")
    notes.leave("names of hosts", "they are numbered in the order in which they appear")
    total = sum(f.size for f in flows)
    length = flows[-1].at_s
    notes.say("flows", f"{len(flows)}, between {len(hosts)} hosts, {len(flow_list.pairs)} pairs")
    notes.say("bytes", f"{amount(float(total), 'bytes')}, mean {amount(total / len(flows), 'bytes')}")
    notes.say(
        "starts within",
        f"{amount(length, 's')}" + (f": {amount(8 * total / length, 'bit/s')} offered" if length else ""),
    )
    is_usable = len(hosts) <= _MOST_HOSTS and len(flow_list.pairs) <= _MOST_PAIRS
    steps: tuple[Next, ...] = (
        Next("tailback read FILE --write flows.toml", "write a scenario in which these flows begin at their times"),
        Next("tailback run flows.toml", "run it"),
    )
    if not is_usable:
        steps = (
            Next(
                "tailback read FILE", f"cut the list to {_MOST_PAIRS} pairs of {_MOST_HOSTS} hosts to write a scenario"
            ),
        )
    scenario_file = (
        Written("a scenario in which these flows begin at their times", lambda: scenario(flow_list))
        if is_usable
        else None
    )
    return Reading(
        KIND, f"a list of {len(flows)} flows", tuple(notes.understood), notes.left, steps, flow_list, scenario_file
    )


_Row = tuple[str, str, int, float]


def _columns(found: Table, given: Given) -> dict[str, int] | None:
    """The column of each part, from the header or from the form of HPCC."""
    if found.names:
        names = [re.sub(r"\W+", "_", n.strip().lower()).strip("_") for n in found.names]
        names = [_UNIT.sub("", n) or n for n in names]
        column_of = {what: next((i for i, n in enumerate(names) if n in known), -1) for what, known in _HEADS.items()}
        return column_of if min(column_of.values()) >= 0 else None
    if found.width == len(_HPCC) and _counted(found, given):
        return {what: i for i, what in enumerate(_HPCC) if what in _HEADS}
    if found.width == 4 and all(_is_plain_flow(row) for _, row in found.rows[:50]):
        return {what: i for i, what in enumerate(_HEADS)}
    return None


def _counted(found: Table, given: Given) -> bool:
    """Whether the first line, which has one column, is the number of flows. A cut list may have fewer flows than
    that."""
    first_line = given.filled[0][1] if given.filled else ""
    return first_line.isdigit() and all(all(c.isdigit() for c in row[:5]) for _, row in found.rows[:50])


def _is_plain_flow(row: Sequence[str]) -> bool:
    return row[2].isdigit() and math.isfinite(number(row[3])) and row[0] != row[1] and number(row[2]) >= 1


def _rows(found: Table, at: dict[str, int], given: Given, notes: Notes) -> list[_Row]:
    head = found.names[at["time"]] if found.names else ""
    unit, word = _time_unit(head)
    if found.names:
        notes.say("columns", ", ".join(f"{what}: {short(found.names[i])}" for what, i in at.items()))
    else:
        notes.say(
            "columns",
            "those of HPCC's flow.txt" if found.width == len(_HPCC) else "assumed: source, destination, bytes, time",
        )
    notes.say("time", f"{word}, from the header" if head and word else "assumed: seconds")
    rows: list[_Row] = []
    for line_number, row_cells in found.rows:
        size = number(row_cells[at["bytes"]], found.decimal_comma)
        if not 1 <= size <= 2**50:
            notes.leave("a flow without a size that ends", "only flows of 1 B to 1 PB can be listed", line_number)
            continue
        rows.append(
            (
                row_cells[at["source"]],
                row_cells[at["destination"]],
                int(size),
                seconds(row_cells[at["time"]], unit, found.decimal_comma, (given.name, line_number)),
            )
        )
    for line_number in found.ragged:
        if not (line_number == given.filled[0][0] and given.filled[0][1].isdigit()):
            notes.leave("a line with another number of columns", "it is no flow", line_number)
        else:
            notes.say("number of flows, from the first line", given.filled[0][1], line_number)
    return rows


def _time_unit(head: str) -> tuple[float, str]:
    from tailback.readers.traces.heads import TIMES

    words = re.split(r"[\s_()\[\]]+", head.lower())
    return next(((TIMES[w], w) for w in words if w in TIMES), (1.0, ""))


def _htsim(given: Given, notes: Notes) -> list[_Row] | None:
    """The connections of htsim's connection matrix; None for any other text."""
    rows: list[_Row] = []
    is_htsim = False
    for line_number, text in given.filled:
        hit = _HTSIM.match(text) if len(text) < 500 else None
        if hit is None:
            if is_htsim or not re.match(r"(Nodes|Connections|Triggers|Failures)\b", text):
                notes.leave("a line that is no connection", "it has no source and destination", line_number)
            continue
        if not is_htsim:
            notes.say("form", "htsim's connection matrix")
        is_htsim = True
        size, start = re.search(r"\bsize\s+(\d+)", text), re.search(r"\bstart\s+(\d+(?:\.\d+)?)", text)
        if (
            size is None
            or start is None
            or not 1 <= int(size[1]) <= 2**50
            or start[1].count(".") > 1
            or start[1] == "."
        ):
            notes.leave(
                "a connection without a size or a start",
                "only flows that begin and end at known points can be listed",
                line_number,
            )
            continue
        unit = 1e-6 if "." in start[1] else 1e-12
        if not rows:
            notes.say(
                "time",
                "microseconds, since start has a decimal point"
                if unit == 1e-6
                else "picoseconds, since start is a whole number",
            )
        rows.append((hit[1], hit[2], int(size[1]), float(start[1]) * unit))
    return rows if is_htsim else None


def scenario(found: FlowList) -> str:
    """A scenario in which each pair of hosts is a session with transfers at their times. All hosts are connected to one
    switch."""
    length = found.flows[-1].at_s
    lines = [
        "# Flows of a list, each over its own connection. assumed: all hosts on one switch, with links of 10 Gb/s.",
        f'duration = "{length + max(1.0, 0.1 * length):.6g}s"',
    ]
    hosts_used = sorted({f.source for f in found.flows} | {f.destination for f in found.flows})
    for host in hosts_used:
        lines += [
            "",
            f"[link.h{host}]",
            f'from = "h{host}"',
            'to = "switch"',
            'rate = "10Gbps"',
            'delay = "2us"',
            'queue = { kind = "droptail", buffer = "1MB" }',
            'reverse_queue = { kind = "droptail", buffer = "1MB" }',
        ]
    for (source, destination), flows in found.pairs.items():
        start_times = ", ".join(f'"{f.at_s * 1e9:.0f}ns"' for f in flows)
        sizes = ", ".join(f'"{f.size}B"' for f in flows)
        lines += [
            "",
            f"[sessions.h{source}-h{destination}]",
            'kind = "schedule"',
            f'from = "h{source}"',
            f'to = "h{destination}"',
            f"at = [{start_times}]",
            f"sizes = [{sizes}]",
        ]
    return "\n".join([*lines, ""])
