"""What a congestion control written in Python hears beside ACKs: each lost segment, and each that leaves."""

from __future__ import annotations

import pytest

import tailback as tb


class Clerk:
    """Books what leaves and what is lost; a window of 60 segments."""

    probes = {
        "sent": "segments",
        "again": "segments",
        "lost": "segments",
        "ranges": "1",
        "fault": "1",
        "losses": "1",
        "undone": "1",
    }

    def __init__(self, rules) -> None:
        self.cwnd, self.rules = 60 * rules.segment, rules
        self.sent = self.again = self.lost = self.ranges = self.losses = self.fault = self.undone = 0
        self.out: dict[int, float] = {}
        self.told = 0

    def on_sent(self, sent) -> None:
        self.sent += 1
        self.again += sent.again
        self.fault += sent.bytes > self.rules.segment or not sent.now > 0

    def on_lost(self, lost) -> None:
        self.lost += 1
        self.ranges += lost.new_range
        self.told += 1
        # A full window of what can be in flight, and of what is lost of it.
        self.fault += not lost.bytes <= lost.in_flight_at_send <= self.cwnd
        self.fault += lost.lost_since_send < lost.bytes

    def on_congestion(self, sign) -> None:
        # The lost segments have been told before the sign that they are.
        self.losses += sign.what == "loss"
        self.fault += sign.what == "loss" and self.told == 0
        self.told = 0

    def on_ack(self, ack) -> None:
        rate = ack.rate
        if rate is not None and rate.has_data:
            self.fault += rate.delivered_at_send != rate.total - rate.delivered
            self.fault += not 0 < rate.in_flight_at_send <= self.cwnd

    def window_reset(self, reset) -> None: ...

    def undo(self, why) -> None:
        self.undone += 1
        self.fault += why not in ("recovery", "timeout")


def test_it_is_told_of_each_lost_segment_and_each_that_leaves() -> None:
    """Every hundredth packet is lost: as many are told as the link lost, singly; and what left is what was counted."""
    link = {"from": "a", "to": "b", "rate": "100Mbps", "delay": "20ms", "queue": "droptail"}
    tcp = {"congestion": tb.congestion(Clerk), "delayed_ack": 1, "loss": "rack"}
    result = tb.run(
        {
            "duration": "20s",
            "link": {"l": link | {"impair": [{"kind": "every-nth", "n": 100, "action": "drop"}]}},
            "flows": {"bulk": {"from": "a", "to": "b", "tcp": tcp}},
            "record": {"r": {"flows": "bulk", "probes": list(Clerk.probes), "every": "1s"}},
        }
    )
    last = {name: float(result.series.where(probe=name)["value"][-1]) for name in Clerk.probes}
    flow = result.flows
    assert last["fault"] == 0
    assert last["sent"] == pytest.approx(float(flow["sent_packets"][0]), abs=61)
    assert last["again"] == pytest.approx(float(flow["retransmitted_packets"][0]), abs=2)
    # Each is repaired; those that are judged lost too early lie beside one that is lost.
    assert last["lost"] == last["again"] and last["ranges"] == pytest.approx(last["sent"] / 100, abs=2)
    assert last["losses"] > 100


class Tally:
    """A window of 40 segments, and what ACKs and rate samples say was marked."""

    probes = {"acks": "bytes", "samples": "bytes", "fault": "1"}
    wants_rate = True

    def __init__(self, rules) -> None:
        self.cwnd = 40 * rules.segment
        self.acks = self.fault = self.samples = 0
        self.total = 0

    def on_ack(self, ack) -> None:
        self.acks += ack.marked
        if ack.rate is not None and ack.rate.has_data:
            # A sample of a round trip has at most all that was marked so far, and at least what its ACK says.
            self.fault += not ack.marked <= ack.rate.marked <= self.acks
            if ack.rate.delivered_at_send >= self.total:
                self.samples, self.total = self.samples + ack.rate.marked, ack.rate.total

    def on_congestion(self, sign) -> None: ...

    def window_reset(self, reset) -> None: ...


def test_a_rate_sample_counts_the_marks_of_its_interval() -> None:
    """Samples of one round trip after another have all marks once; those of the last one may be missing."""
    step = {"kind": "red", "profile": "step", "min_threshold": "5 packets", "max_threshold": "5 packets", "ecn": True}
    link = {"from": "a", "to": "b", "rate": "10Mbps", "delay": "10ms", "queue": step | {"buffer": "100 packets"}}
    tcp = {"congestion": tb.congestion(Tally), "delayed_ack": 1, "ecn": "on", "accurate_ecn": "option"}
    result = tb.run(
        {
            "duration": "5s",
            "link": {"l": link},
            "flows": {"bulk": {"from": "a", "to": "b", "tcp": tcp}},
            "record": {"r": {"flows": "bulk", "probes": list(Tally.probes), "every": "1s"}},
        }
    )
    last = {name: float(result.series.where(probe=name)["value"][-1]) for name in Tally.probes}
    assert last["fault"] == 0 and last["acks"] > 1e6
    assert last["samples"] == pytest.approx(last["acks"], abs=2 * 40 * 1460)
