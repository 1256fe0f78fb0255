"""The path of a case of kernel_losses.py, and its receiver: the same for a kernel in real time and for ours.

Half of the round trip lies before the receiver. It acknowledges every second segment in order, or after 40 ms, if the
case has delayed acknowledgements; otherwise, and while something is missing, each one. With SACK it reports repeats
(RFC 2883). What is sent again takes 5 ms longer: RACK takes a repair for answered if that comes a round trip after it,
and by how much the two differ would otherwise be the jitter of the machine.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernel_cases import Case, Copy

from tailback.apps.conformance.receiver import FarEnd, GivenAck, SentSegment

REPEATS_LATER_NS = 5_000_000
ACK_DELAY_NS = 40_000_000
#: SACK blocks that fit beside time stamps, and without them (RFC 2018 section 3).
BLOCKS = {True: 3, False: 4}


@dataclass
class DelayingEnd(FarEnd):
    """A receiver that may hold an acknowledgement back."""

    delayed: bool = False
    #: What it acknowledged last.
    told: int = 0

    def hear(self, s: SentSegment) -> GivenAck | None:
        """The acknowledgement, or None if it waits for a second segment."""
        recent, whole = self.recent, not self.held
        fresh = s.number == self.upto + 1
        waits = self.upto > self.told
        ack = self.arrive(s, marked=False)
        # RFC 7323 section 4.3: of what came since the last acknowledgement the first counts, and no older stamp.
        if recent is not None and (waits or (s.stamp or 0) < recent):
            self.recent = recent
        if self.delayed and fresh and whole and not waits:
            return None
        return self.tell(ack.reports)

    def tell(self, reports: tuple[tuple[int, int], ...] = ()) -> GivenAck:
        self.told = self.upto
        return GivenAck(self.upto, reports, frozenset(), self.recent)


@dataclass(frozen=True, order=True)
class Answer:
    """An acknowledgement on its way, and the copy that caused it."""

    due_ns: int
    order: int
    copy: Copy = field(compare=False)
    ack: GivenAck = field(compare=False)


@dataclass
class DrawnPath:
    """`more_ns`: how much later the answer to a copy comes than drawn."""

    case: Case
    more_ns: Mapping[Copy, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        case = self.case
        self.lost, self.lost_acks = set(case.lost), set(case.lost_acks)
        self.late = {Copy(late.number, late.copy): late.by_us * 1000 for late in case.late}
        self.far = DelayingEnd(dsack=case.sack, blocks=BLOCKS[case.stamps], delayed=case.delayed)
        self.half_ns = case.rtt_us * 500
        self.sent: Counter[int] = Counter()
        self.arriving: list[tuple[int, int, Copy, SentSegment]] = []
        self.answers: list[Answer] = []
        #: When a held acknowledgement leaves, and what it is for.
        self.held: tuple[int, Copy] | None = None
        self.order = 0
        self.last_answer_ns = 0

    def carry(self, s: SentSegment) -> Copy:
        """A segment leaves."""
        self.sent[s.number] += 1
        copy = Copy(s.number, self.sent[s.number])
        if copy not in self.lost:
            self.order += 1
            due = s.at_ns + self.half_ns + self.late.get(copy, 0) + REPEATS_LATER_NS * (copy.copy > 1)
            heapq.heappush(self.arriving, (due, self.order, copy, s))
        return copy

    @property
    def next_ns(self) -> int | None:
        """When something happens next."""
        times = [self.arriving[0][0]] if self.arriving else []
        times += [self.answers[0].due_ns] if self.answers else []
        times += [self.held[0]] if self.held else []
        return min(times, default=None)

    def run(self, now_ns: int) -> Answer | None:
        """What arrives at the receiver until now; then the first answer that is due."""
        while True:
            held = self.held[0] if self.held else None
            first = self.arriving[0][0] if self.arriving else None
            if held is not None and held <= now_ns and (first is None or held <= first):
                self._release()
            elif first is not None and first <= now_ns:
                self._arrive()
            else:
                break
        if self.answers and self.answers[0].due_ns <= now_ns:
            return heapq.heappop(self.answers)
        return None

    def _release(self) -> None:
        at, copy = self.held or (0, Copy(0, 0))
        self.held = None
        self._answer(at, copy, self.far.tell())

    def _arrive(self) -> None:
        at, _, copy, s = heapq.heappop(self.arriving)
        ack = self.far.hear(s)
        if ack is None:
            self.held = (at + ACK_DELAY_NS, copy)
            return
        self.held = None
        self._answer(at, copy, ack)

    def _answer(self, at: int, copy: Copy, ack: GivenAck) -> None:
        if copy in self.lost_acks:
            return
        if not self.case.sack:
            ack = GivenAck(ack.acked, (), ack.flags, ack.echo)
        self.order += 1
        # Acknowledgements do not overtake one another.
        due = max(at + self.half_ns + self.more_ns.get(copy, 0), self.last_answer_ns)
        self.last_answer_ns = due
        heapq.heappush(self.answers, Answer(due, self.order, copy, ack))
