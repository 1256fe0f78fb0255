"""Reads distributions of sizes from files of points, as in the repositories of HPCC, ns3-datacenter, htsim and Homa.

A line has a size and the share of flows (or messages) that are not larger, from 0 to 1 or to 100. The form of ns-2 has
one more column between the two. Between two points the distribution is a straight line, as in the programs that read
these files. Homa's files begin with the mean; in them, the only sizes are those of the points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tailback.readers.given import Given
from tailback.readers.measured.measurement import Numbers, amount, numbers
from tailback.readers.reading import Next, Notes, ReadError, Reading, Written, short
from tailback.readers.traces.table import Table, number, table

KIND = "sizes"
#: Bytes of a packet in files whose sizes are in packets.
PACKET_BYTES = 1460
#: The number of sizes by which a scenario represents a distribution.
_POINTS = 400
_MOST_BYTES = 2.0**50


@dataclass(frozen=True)
class Points:
    """Sizes in bytes, and for each the share that is not larger, up to 1."""

    sizes: Numbers
    shares: Numbers
    #: Whether only the sizes of the points occur; otherwise the distribution is a straight line between two points.
    alone: bool = False

    @property
    def mean(self) -> float:
        """Bytes."""
        steps = np.diff(self.shares)
        if self.alone:
            return float(self.sizes[0] * self.shares[0] + (steps * self.sizes[1:]).sum())
        middle = (self.sizes[1:] + self.sizes[:-1]) / 2
        return float(self.sizes[0] * self.shares[0] + (steps * middle).sum())

    def quantile(self, share: float) -> float:
        """The size in bytes that this share of flows does not exceed."""
        if self.alone:
            return float(self.sizes[min(int(np.searchsorted(self.shares, share)), len(self.sizes) - 1)])
        return float(np.interp(share, self.shares, self.sizes))

    def listed(self) -> tuple[list[int], list[float]]:
        """Sizes and weights with the same mean. Each stretch is cut into equal parts, and the middle of a part
        represents it."""
        sizes: list[int] = [round(float(self.sizes[0]))] if self.shares[0] > 0 else []
        weights: list[float] = [float(self.shares[0])] if self.shares[0] > 0 else []
        for i, step in enumerate(np.diff(self.shares)):
            least_size, most_size = float(self.sizes[i]), float(self.sizes[i + 1])
            if step <= 0:
                continue
            if self.alone:
                sizes.append(max(1, round(most_size)))
                weights.append(float(step))
                continue
            part_count = max(1, min(round(_POINTS / len(self.sizes)), int(most_size - least_size)))
            for k in range(part_count):
                sizes.append(max(1, round(least_size + (most_size - least_size) * (k + 0.5) / part_count)))
                weights.append(float(step) / part_count)
        return sizes, weights


def recognises(given: Given) -> bool:
    cells = _cells(given)
    return cells is not None and _points(cells) is not None


def read(given: Given) -> Reading:
    notes = Notes()
    cells = _cells(given)
    points = _points(cells) if cells is not None else None
    if cells is None or points is None:
        raise ReadError(
            "it is no distribution", "give lines with a size and the share not larger, up to 1", name=given.name
        )
    sizes, shares = points
    stated_mean = math.nan
    for line_number in cells.ragged:
        if line_number == given.filled[0][0]:
            stated_mean = number(given.lines[line_number - 1], cells.decimal_comma)
            notes.say("mean, from the first line", short(given.lines[line_number - 1]), line_number)
        else:
            notes.leave("a line with another number of columns", "it is no point", line_number)
    unit = given.wishes.unit.lower()
    if unit in ("packets", "packet", "pkts"):
        sizes = sizes * PACKET_BYTES
        notes.say("sizes", f"packets of {PACKET_BYTES} B, as --unit says")
    elif unit in ("", "b", "bytes"):
        notes.say("sizes", "bytes" if unit else "assumed: bytes; --unit packets says that they are packets")
    else:
        raise ReadError(f"{given.wishes.unit} is no unit of these sizes", "write --unit bytes or --unit packets")
    percent = float(shares[-1]) > 1
    notes.say("shares", "per cent" if percent else "from 0 to 1")
    total_share = float(shares[-1])
    if not (math.isclose(total_share, 1, abs_tol=2e-3) or math.isclose(total_share, 100, abs_tol=0.2)):
        raise ReadError(
            f"the shares end at {total_share:g}", "let the last point have 1 or 100", cells.rows[-1][0], given.name
        )
    points_read = Points(sizes, shares / total_share)
    points_alone = Points(sizes, shares / total_share, alone=True)
    if abs(points_alone.mean - stated_mean) < abs(points_read.mean - stated_mean):
        points_read = points_alone
        notes.say("between two points", "no sizes: only those of the points occur, as the mean of the first line shows")
    else:
        notes.say("between two points", "assumed: a straight line")
    if (points_read.sizes > _MOST_BYTES).any():
        raise ReadError("a size is above 1 PB", "give sizes in bytes", name=given.name)
    if points_read.shares[0] > 0:
        notes.say(
            "first point",
            f"{100 * points_read.shares[0]:.3g} % of flows have exactly {amount(float(points_read.sizes[0]), 'bytes')}",
        )
    notes.say("points", str(len(points_read.sizes)))
    notes.say("mean", amount(points_read.mean, "bytes"))
    for share in (0.5, 0.9, 0.99):
        notes.say(f"{100 * share:g} % are at most", amount(points_read.quantile(share), "bytes"))
    count = len(points_read.listed()[0])
    notes.say("in a scenario", f"the law listed with {count} sizes, whose mean is the same")
    steps = (
        Next("tailback read FILE --write sizes.toml", "write a scenario whose transfers have these sizes"),
        Next("tailback run sizes.toml", "run it"),
    )
    scenario_file = Written("a scenario whose transfers have these sizes", lambda: scenario(points_read))
    return Reading(
        KIND,
        f"a distribution of sizes, {len(points_read.sizes)} points",
        tuple(notes.understood),
        notes.left,
        steps,
        points_read,
        scenario_file,
    )


def _cells(given: Given) -> Table | None:
    if given.document is not None:
        return None
    table_found = table(given)
    return (
        table_found if table_found is not None and table_found.width in (2, 3) and len(table_found.rows) >= 2 else None
    )


def _points(found: Table) -> tuple[Numbers, Numbers] | None:
    """Sizes and shares; None for rows that are no such points."""
    comma = found.decimal_comma
    rows = [(number(row[0], comma), number(row[-1], comma)) for _, row in found.rows]
    points = numbers([x for row in rows for x in row]).reshape(-1, 2)
    sizes, shares = points[:, 0], points[:, 1]
    if not np.isfinite(points).all() or (points < 0).any():
        return None
    if (np.diff(sizes) < 0).any() or (np.diff(shares) < 0).any() or sizes[-1] <= 0:
        return None
    total_share = float(shares[-1])
    ends = math.isclose(total_share, 1, abs_tol=2e-3) or math.isclose(total_share, 100, abs_tol=0.2)
    # The shares of a few files end early; the header, or the mean before the points, identifies such files.
    lone = len(found.ragged) == 1 and found.ragged[0] < found.rows[0][0]
    has_head = lone or any("cdf" in n.lower() or "prob" in n.lower() or "share" in n.lower() for n in found.names)
    return (sizes, shares) if ends or (has_head and 0 < total_share <= 100) else None


def scenario(points: Points) -> str:
    """A scenario with transfers of these sizes, on an assumed line, because the file has no line."""
    sizes, weights = points.listed()
    size_list = ", ".join(f'"{s}B"' for s in sizes)
    weight_list = ", ".join(f"{w:.9g}" for w in weights)
    return "\n".join(
        [
            "# Transfers whose sizes follow a distribution. assumed: the line, and how often they come.",
            'duration = "2s"',
            'warmup = "0.5s"',
            "",
            "[link.bottleneck]",
            'from = "servers"',
            'to = "clients"',
            'rate = "10Gbps"',
            'delay = "10us"',
            'queue = { kind = "droptail", buffer = "1MB" }',
            "",
            "[sessions.transfers]",
            'kind = "requests"',
            "clients = 20",
            "servers = 20",
            'connection = "new"',
            f'response = {{ kind = "listed", values = [{size_list}], weights = [{weight_list}] }}',
            'think = { kind = "exponential", mean = "20ms" }',
            "",
        ]
    )
