"""A sender of the simulator as the subject of dialogues."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tailback import _core
from tailback.apps.conformance.dialogue import PAYLOAD
from tailback.apps.conformance.receiver import GivenAck, SentSegment
from tailback.core.scenario.read import load_scenario

#: The default settings, which a line's own `tcp` overrides.
BASE: dict[str, Any] = {"payload": f"{PAYLOAD}B", "timestamps": False, "ecn": "off"}
#: The round trip of the handshake.
OPENING_NS = 100_000_000
#: Linux adds its minimum timeout to the smoothed round trip, which is 100 ms after the handshake; the sum is one
#: second.
LINUX_FLOOR = "900ms"


#: States of a sender that have the names and values of `tcp_info`.
INFO = ("ca_state", "sacked", "lost", "retrans", "unacked", "reordering", "snd_cwnd")


def scenario_of(tcp: Mapping[str, Any]) -> Any:
    """A scenario with one sender that has these settings. Raises ScenarioError for wrong settings."""
    flows = {"subject": {"tcp": dict(tcp), "from": "a", "to": "b"}}
    link = {"line": {"from": "a", "to": "b", "rate": "100Mbps", "delay": "50ms", "queue": "droptail"}}
    return load_scenario({"duration": "1s", "link": link, "flows": flows}, name="the sender of a dialogue")


class OurSender:
    """A sender with an open connection. `lost_syns` is the number of SYNs without an answer; `opening_ns` is the
    handshake's round trip."""

    slack_ns = 0
    slack_share = 0.0
    whole = False

    def __init__(
        self,
        tcp: Mapping[str, Any],
        lost_syns: int = 0,
        opening_ns: int = OPENING_NS,
        base: Mapping[str, Any] = BASE,
    ) -> None:
        self._core = _core.SenderByHand(scenario_of({**base, **tcp}))
        self._now = 0
        self._open(lost_syns, opening_ns)

    def _open(self, lost_syns: int, opening_ns: int) -> None:
        self._core.write(0)
        syns = self._core.take()
        while len(syns) <= lost_syns:
            self._now += 1_000_000
            self._core.advance(self._now)
            syns += self._core.take()
        first_syn, syn = syns[0], syns[-1]
        self._syn_gap = (syn.at - first_syn.at) / 1e9 / lost_syns if lost_syns else math.nan
        self._now = syn.at + opening_ns
        self._core.advance(self._now)
        asks = {"ece", "cwr"} <= set(syn.flags)
        stamps = None if syn.stamps is None else (self._now, syn.stamps[0])
        self._core.receive(["syn", "ack", *(["ece"] if asks else [])], 1, [], stamps)
        self._begin = self._now

    def write(self, segments: int | None, more: int = 0) -> None:
        self._core.write(None if segments is None else segments * PAYLOAD + more)

    def withdraw(self) -> None:
        self._core.withdraw()

    def give(self, answer: GivenAck) -> None:
        reports = [(1 + (a - 1) * PAYLOAD, 1 + b * PAYLOAD) for a, b in answer.reports]
        stamps = None if answer.echo is None else (self._now, answer.echo)
        acked_bytes = 1 + answer.acked * PAYLOAD + answer.more
        self._core.receive(["ack", *sorted(answer.flags)], acked_bytes, reports, stamps, answer.window)

    def advance(self, until_ns: int) -> None:
        self._now = self._begin + until_ns
        self._core.advance(self._now)

    def tick(self, tick_ns: int, phase_ns: int) -> None:
        """Makes timers fire at the ticks of a kernel's clock."""
        self._core.tick(tick_ns, phase_ns)

    def take(self) -> list[SentSegment]:
        return [
            SentSegment(
                s.at - self._begin,
                (s.seq - 1) // PAYLOAD + 1,
                "again" in s.flags,
                frozenset(s.flags),
                s.ecn,
                s.stamps[0] if s.stamps else None,
                s.payload,
            )
            for s in self._core.take()
            if s.payload
        ]

    def state(self) -> Mapping[str, float]:
        fields = dict(self._core.read())
        fields["syn_gap"] = self._syn_gap
        fields["outstanding"] = fields.get("outstanding", 0.0) / PAYLOAD
        tcp_info = self._core.info()
        return fields | {name: float(tcp_info[name]) for name in INFO}
