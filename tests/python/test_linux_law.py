"""The laws by which parameters follow from a link: one for all who ask, with the numbers of their sources."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tailback as tb
from tailback.apps.ask.home import candidates as at_home
from tailback.apps.ask.home.line import Share, question
from tailback.apps.ask.link import candidates as on_links
from tailback.apps.ask.link import link
from tailback.core.scenario import queues
from tailback.linux import forms, law, read, words
from tailback.linux.law import Path as Line
from tailback.linux.shaper import lines

PATHS = st.builds(Line, st.floats(100e3, 100e9), st.integers(200, 9000), st.floats(10e-6, 60.0))


def test_target_and_interval_are_those_of_the_source() -> None:
    """RFC 8289 sections 4.3 and 4.4."""
    assert law.sojourn_times(Line(100e6, 1500, 0.04))[:2] == (0.005, 0.1)
    # A round trip of 5 ms has no least of 10 ms, a long one is its own interval.
    assert law.sojourn_times(Line(10e9, 1500, 0.005))[:2] == pytest.approx((0.00025, 0.005))
    assert law.sojourn_times(Line(100e6, 1500, 1.0))[:2] == pytest.approx((0.05, 1.0))
    # 600 us a packet: one and a half, and the interval longer by as much.
    assert law.sojourn_times(Line(20e6, 1500, 0.005))[:2] == pytest.approx((0.0009, 0.00565))
    assert law.reference_delay(Line(100e6, 1500, 0.04))[0] == 0.015
    assert law.reference_delay(Line(500e3, 1500, 0.04))[0] == pytest.approx(0.036)


@given(PATHS)
def test_a_target_is_no_less_than_the_line_has(path: Line) -> None:
    target, interval, _ = law.sojourn_times(path)
    assert target >= path.least_s * (1 - 1e-12) and interval >= 2 * target * (1 - 1e-12)
    assert law.reference_delay(path)[0] >= path.least_s
    # What `cake` is told: a round trip from which it makes both.
    base = law.base_interval(target, interval, path)
    assert base is not None
    assert max(base / 20, path.least_s) == pytest.approx(target, abs=1e-5)
    assert max(base + target - base / 20, 2 * target) == pytest.approx(interval, abs=1e-5)


def by_iteration(low: float, burst: int) -> int | None:
    """The exponent for a burst, as iproute2 finds it."""
    above = burst + 1 - low
    if above < 1:
        return None
    for exponent in range(1, 32):
        weight = 2.0**-exponent
        if above <= (1 - math.pow(1 - weight, burst)) / weight:
            return exponent
    return None


@given(st.integers(1, 400), st.integers(1, 30_000))
def test_the_exponent_of_a_burst_is_that_of_iproute2(low: int, burst: int) -> None:
    expected = by_iteration(low, burst)
    found = law.exponent_of_burst(low, burst)
    # Beyond 2^-20 its own rounding decides.
    assert found == expected or (expected or 32) > 20


@given(st.integers(2, 400), st.floats(1e-6, 1.0))
def test_the_burst_gives_the_nearest_weight_that_there_is(low: int, weight: float) -> None:
    burst, exponent = law.burst(low, weight)
    assert law.exponent_of_burst(low, burst) == exponent
    assert (law.exponent_of_burst(low, burst + 1) or 32) > exponent
    assert exponent == min(max(round(-math.log2(weight)), 1), 31) or exponent == 1


def test_the_average_stays_below_the_threshold_for_the_burst() -> None:
    """By simulation of the average itself: Floyd and Jacobson 1993, section 4."""
    for low in (5, 10, 40):
        for exponent in (4, 9, 12):
            burst, _ = law.burst(low, 2.0**-exponent)
            average = 0.0
            for length in range(1, burst + 1):
                average += 2.0**-exponent * (length - average)
            assert average <= low < average + 2.0**-exponent * (burst + 1 - average) + 1


def both(kind: str, rtt: str = "5ms") -> tuple[str, str, dict[str, Any], dict[str, Any]]:
    """What `--rate` and `--down` print for a line of 20 Mb/s whose packets take 1538 B, and the tables they run."""
    asked = link("20Mbps", rtt, 4, packet="1538B", buffer="60 packets", ecn=True)
    mine = on_links.candidate(kind, asked)
    home = replace(question("20Mbps", "20Mbps", rtt, link="fibre", ecn=True), share=Share(1.0, 1.0))
    theirs = at_home.candidate(kind, home)
    setup = at_home.setup(theirs, home)
    assert setup is not None and mine.tc is not None
    return mine.tc, lines(setup).up[-1].text.split(" parent 1:1 ")[1], mine.table(), dict(theirs.up)


@pytest.mark.parametrize("kind", ["codel", "fq-codel", "red", "ared", "choke", "pie"])
def test_both_questions_have_one_answer(kind: str) -> None:
    """The lines of `--rate` and `--down` say the same target, interval, thresholds and burst, and that is what ran."""
    of_link, of_home, table, home = both(kind)
    (_, mine), (_, theirs) = read(of_link), read(of_home)
    for own, line in ((table, mine), (home, theirs)):
        for name in ("target", "interval", "min_threshold", "max_threshold", "weight", "mean_packet"):
            assert own.get(name) == line.get(name), (name, of_link, of_home)
    for name in ("target", "interval", "reference", "min_threshold", "weight"):
        default = next(iter({mine.get(name), theirs.get(name)} - {None}), None)
        assert {mine.get(name, default), theirs.get(name, default)} == {default}, name
    if "burst" in of_link:
        burst = of_link.split(" burst ")[1].split()[0]
        assert f" burst {burst} " in of_home and of_link.split("avpkt")[0] == of_home.split("avpkt")[0]


def test_the_numbers_of_a_slow_line() -> None:
    """At 20 Mb/s and 5 ms, where a packet takes 615.2 us: a target of 922.8 us."""
    of_link, of_home, _, _ = both("codel")
    assert "target 923us interval 5673us" in of_link and "target 923us interval 5673us" in of_home
    assert "limit 92280 min 7690 max 23070 avpkt 1538 burst 129" in both("red")[1]


DECLARED = """
class Mine:
    limit = "200 packets"
    linux = {"kind": "mine", "options": [{"parameter": "limit", "word": "limit", "value": "packets"}]}

    def enqueue(self, packet, line, out):
        pass

    def dequeue(self, line, out):
        return None
"""


def test_a_class_of_ones_own_is_printed_by_its_declaration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(DECLARED)
    monkeypatch.chdir(tmp_path)
    name, mine = on_links.alone("mine.py:Mine", link("20Mbps", "5ms", 4))
    assert (name, mine.tc) == ("Mine", "mine limit 200") and queues.maker("mine.py:Mine") is not None
    home = question("20Mbps", "20Mbps", "30ms")
    setup = at_home.setup(at_home.candidate("mine.py:Mine", home), home)
    assert setup is not None and lines(setup).up[-1].text.endswith("parent 1:1 mine limit 200")


@pytest.mark.parametrize(("rate", "buffer"), [("2Mbps", 12), ("5Mbps", 60), ("20Mbps", 100), ("50Mbps", 90)])
def test_a_red_without_thresholds_has_those_of_its_line(rate: str, buffer: int) -> None:
    """The printed thresholds, put into the scenario, change nothing; others do."""
    table: dict[str, Any] = {"kind": "red", "buffer": f"{buffer} packets"}
    line = words.write(forms.form("red"), table, Line(float(rate[:-4]) * 1e6, 1500, 0.04)).text.split()
    low, high = (int(line[line.index(word) + 1]) / 1500 for word in ("min", "max"))

    def outcome(thresholds: dict[str, str]) -> list[dict[str, Any]]:
        net = tb.dumbbell(flows=6, bottleneck=rate, rtt="40ms", queue={**table, **thresholds})
        return [{k: v for k, v in row.items() if k != "key"} for row in net.run(duration="6s").links.rows()]

    printed = outcome({"min_threshold": f"{low} packets", "max_threshold": f"{high} packets"})
    other = outcome({"min_threshold": f"{low / 2} packets", "max_threshold": f"{high / 2} packets"})
    assert outcome({}) == printed != other
