"""The other end of a dialogue with a `path`: a receiver that answers every segment, and the path to it.

The receiver acknowledges each segment on arrival and reports segments out of order (RFC 2018: the block with the newest
segment first). The receiver echoes marks until the sender answers with CWR (RFC 3168), or it echoes each mark
separately (RFC 8257).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from tailback.apps.conformance.dialogue import PAYLOAD


@dataclass(frozen=True)
class SentSegment:
    """A segment of a sender, by its number."""

    at_ns: int
    number: int
    #: Whether it is a retransmission.
    again: bool = False
    flags: frozenset[str] = frozenset()
    #: The ECN code point of the segment.
    ecn: str = "not-ect"
    stamp: int | None = None
    payload: int = PAYLOAD


@dataclass(frozen=True)
class GivenAck:
    """An acknowledgement of all segments up to a number."""

    acked: int
    reports: tuple[tuple[int, int], ...] = ()
    flags: frozenset[str] = frozenset()
    #: The timestamp that it echoes.
    echo: int | None = None
    #: The advertised window in bytes; None means the largest possible.
    window: int | None = None
    #: The number of acknowledged bytes of the next segment.
    more: int = 0


@dataclass
class FarEnd:
    """The segments that have arrived."""

    #: Whether each acknowledgement echoes only the mark of its own segment.
    accurate: bool = False
    #: Whether a duplicate segment is reported first (RFC 2883).
    dsack: bool = False
    blocks: int = 3
    upto: int = 0
    #: Segments out of order, the newest last.
    held: list[int] = field(default_factory=list)
    echoing: bool = False
    #: The timestamp that an acknowledgement echoes (TS.Recent of RFC 7323).
    recent: int | None = None

    def arrive(self, s: SentSegment, marked: bool) -> GivenAck:
        is_duplicate = s.number <= self.upto or s.number in self.held
        if s.number <= self.upto + 1:
            self.recent = s.stamp
        if not is_duplicate:
            self.held.append(s.number)
            while self.upto + 1 in self.held:
                self.upto += 1
                self.held.remove(self.upto)
        if "cwr" in s.flags:
            self.echoing = False
        self.echoing = marked if self.accurate else self.echoing or marked
        reports = self._reports()
        if is_duplicate and self.dsack:
            reports = [(s.number, s.number), *reports]
        flags = frozenset({"ece"}) if self.echoing else frozenset()
        return GivenAck(self.upto, tuple(reports[: self.blocks]), flags, self.recent)

    def _reports(self) -> list[tuple[int, int]]:
        blocks: list[tuple[int, int]] = []
        for segment_number in reversed(self.held):
            if any(first <= segment_number <= last for first, last in blocks):
                continue
            first = last = segment_number
            while first - 1 in self.held:
                first -= 1
            while last + 1 in self.held:
                last += 1
            blocks.append((first, last))
        return blocks


@dataclass
class PlayedPath:
    """The path of a dialogue: its round trip, its line, and the segments that it loses."""

    far: FarEnd
    round_trip_ns: int = 0
    losses: list[int] = field(default_factory=list)
    marks: set[int] = field(default_factory=set)
    marks_all: bool = False
    delays: dict[int, int] = field(default_factory=dict)
    #: The time of a segment on the line in ns, the buffer before it, bucket, grid in ns, and the lost segments.
    way: tuple[int, int | None, int | None, int, int] = (0, None, None, 0, 0)
    #: The time at which the line is free or the bucket full, and the number of segments on this path so far.
    busy_ns: int = 0
    come: int = 0
    _coming: list[tuple[int, int, SentSegment, bool]] = field(default_factory=list)
    _order: int = 0

    def carry(self, s: SentSegment) -> None:
        """Sends a segment; its answer comes a round trip later."""
        if not self.round_trip_ns:
            return
        if s.number in self.losses:
            self.losses.remove(s.number)
            return
        leaves_line_ns = self._through_line(s.at_ns)
        if leaves_line_ns is None:
            return
        is_marked = s.ecn in ("ect0", "ect1") and (self.marks_all or s.number in self.marks)
        self.marks.discard(s.number)
        due_ns = leaves_line_ns + self.round_trip_ns + self.delays.pop(s.number, 0)
        if grid := self.way[3]:
            due_ns = -(-due_ns // grid) * grid
        self._order += 1
        heapq.heappush(self._coming, (due_ns, self._order, s, is_marked))

    def change(self, round_trip_ns: int, way: tuple[int, int | None, int | None, int, int], now_ns: int) -> None:
        """Changes the path. Segments that already wait before the line leave at their old times."""
        self.round_trip_ns, self.way, self.come = round_trip_ns, way, 0
        if way[2] is not None:
            self.busy_ns = now_ns

    def _through_line(self, at_ns: int) -> int | None:
        """The time at which a segment leaves the line; None if it is lost."""
        packet_ns, room, bucket, _, drop_interval = self.way
        self.come += 1
        if drop_interval and self.come % drop_interval == 0:
            return None
        free_ns = max(self.busy_ns, at_ns)
        most = bucket - 1 if bucket is not None else room
        if most is not None and free_ns - at_ns > most * packet_ns:
            return None
        self.busy_ns = free_ns + packet_ns
        return at_ns if bucket is not None else self.busy_ns

    @property
    def next_ns(self) -> int | None:
        """The time of the next answer."""
        return self._coming[0][0] if self._coming else None

    def answer(self) -> GivenAck:
        _, _, s, is_marked = heapq.heappop(self._coming)
        return self.far.arrive(s, is_marked)
