"""What a control written in Python says of marks, and what follows for its connections."""

from __future__ import annotations

from typing import Any

import tailback as tb


class Scalable:
    """A control whose signal is the mark, as its attributes say."""

    marks = "needs"
    echo = "every-ack"
    codepoint = "ect1"

    def __init__(self, rules: Any, *, segments: float = 30.0) -> None:
        self.cwnd = segments * rules.segment

    def on_ack(self, ack: Any) -> None: ...

    def on_congestion(self, sign: Any) -> None: ...


class Deaf(Scalable):
    """One that no sign of congestion slows."""

    marks = "ignores"
    echo = "rfc3168"
    codepoint = "ect0"
    ignores_losses = True


def marked(control: type, **tcp: Any) -> tuple[float, list[str]]:
    """Packets that a line marks of two groups with this control, and the warnings."""
    group = {"tcp": {"congestion": tb.congestion(control), **tcp}}
    made = {
        "duration": "2s",
        "link": {"line": {"from": "a", "to": "b", "rate": "5Mbps", "delay": "10ms", "queue": "codel"}},
        "flows": {"one": group, "two": group},
    }
    result = tb.run(made)
    return float(result.links.where(name="line")["marked_packets"][0]), result.scenario.warnings


def test_what_a_control_says_of_marks_decides_whether_it_uses_ecn() -> None:
    counted, said = marked(Scalable)
    assert counted > 100 and not said
    assert marked(Deaf) == (0.0, [])
    counted, said = marked(Scalable, ecn="off")
    assert counted == 0 and "flows.one, flows.two: " in said[0] and "Scalable needs marks" in said[0]
    counted, said = marked(Deaf, ecn="on")
    assert counted > 100 and len(said) == 1 and "Deaf ignores marks" in said[0]
