"""Live runs of a study beside its simulation: what is counted does not depend on it, and nothing is lost or left."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tailback.core.scenario import controls
from tailback.core.text import room
from tailback.runs.campaign import estimate
from tailback.runs.campaign.errand import Errand
from tailback.runs.campaign.estimate import Estimate
from tailback.runs.campaign.progress import Tell
from tailback.study import computed, load
from tailback.study.computed import NotMeasured, NotValid
from tailback.study.repeat import Repeat
from tailback.study.reproduce import reproduce
from tailback.study.work import apart, course
from tailback.study.work.course import Interrupted
from tailback.study.work.lane import TRIES, Ended, Lane
from tailback.study.work.needed import Work
from tailback.study.write import Reproduction

SCENARIO = """\
duration = "1s"
topology = { kind = "dumbbell", rate = "10Mbps", delay = "10ms", queue = { kind = "droptail", buffer = "10 packets" } }
flows.bulk = { count = 1 }
"""
STUDY = """\
[discipline.x]
title = "X"
queue = { kind = "droptail" }
[runs.s]
scenario = "s.toml"
seeds = { quick = 4, full = 4 }
cost_s = 0.01
axis.queue = { disciplines = ["x"], paths = ["topology.queue"], buffer = "10 packets" }
[runs.l]
compute = "real"
seeds = { quick = 3, full = 3 }
cost_s = 47
axis.queue = { disciplines = ["x"] }
[[experiment]]
id = "E"
title = "t"
runs = ["s", "l"]
[[experiment.output]]
kind = "table"
runs = "s"
measures = ["utilisation"]
[[experiment.output]]
kind = "table"
runs = "l"
measures = ["share"]
"""

Real = Callable[[int], float]
Run = Callable[..., Reproduction]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Reproduces a study whose live runs are done by a function of the seed, on a machine of so many cores."""
    folder = tmp_path / "study"
    (folder / "experiments").mkdir(parents=True)
    (folder / "study.toml").write_text('id = "s"\ntitle = "t"\ncitation = "c"\nquestion = "q"\nmethod = "m"\n')
    (folder / "experiments" / "a.toml").write_text(STUDY)
    (folder / "s.toml").write_text(SCENARIO)

    def go(real: Real, cores: int = 2, out: str = "o", **how: Any) -> Reproduction:
        def live(_labels: dict[str, str], seed: int, _options: dict[str, Any]) -> dict[str, Any]:
            return {"values": {"share": real(seed)}}

        monkeypatch.setitem(computed.FUNCTIONS, "real", live)
        computed._LIVE.add(live)
        for module in (course, estimate):
            monkeypatch.setattr(module, "cores", lambda: cores)
        return reproduce(load.load(str(folder)), how=Repeat(jobs=2, **how), out=tmp_path / out)

    return go


def shares(r: Reproduction) -> list[float]:
    found = r.samples.get("l", ("x",), "all", "share")
    assert found is not None
    return [float(x) for x in found]


def test_live_runs_go_on_beside_simulation_and_change_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    simulated, done, threads = threading.Event(), threading.Event(), []
    errand = Work.errand

    def watched(work: Work, tell: Tell, of: int = 0) -> Errand:
        threads.append(of)
        return errand(work, tell, of)

    monkeypatch.setattr(Work, "errand", watched)

    def real(seed: int) -> float:
        # No live run ends before a run has been simulated.
        assert simulated.wait(20), "nothing is simulated beside a live run"
        if seed == 3:
            done.set()
        return float(seed)

    def watch(state: dict[str, Any]) -> None:
        if state["set"] == "s":
            simulated.set()
            # Here simulation takes longer than the live runs.
            done.wait(20)
            time.sleep(0.02)

    beside = run(real, progress=watch)
    assert shares(beside) == [1.0, 2.0, 3.0]
    assert threads == [1, 2], "simulation has one thread beside live runs, and all of them after"
    alone = run(float, cores=1, out="alone")
    assert shares(alone) == [1.0, 2.0, 3.0]
    one, two = (r.samples.get("s", ("x",), "all", "utilisation") for r in (beside, alone))
    assert one is not None and two is not None and one.tolist() == two.tolist() and len(one) == 4


def test_with_one_core_live_runs_come_first(run: Run) -> None:
    order: list[str] = []

    def real(seed: int) -> float:
        time.sleep(0.1)
        order.append("live")
        return float(seed)

    run(real, cores=1, progress=lambda state: order.append(state["set"]))
    assert [x for x in order if x in ("live", "s")][:4] == ["live"] * 3 + ["s"]


def test_one_that_is_not_valid_beside_simulation_is_done_again_alone(run: Run) -> None:
    calls: list[int] = []
    state: dict[str, Any] = {}

    def real(seed: int) -> float:
        calls.append(seed)
        if calls.count(2) == 1 and seed == 2:
            raise NotValid("one packet in a hundred was late")
        if calls.count(2) == 2 and seed == 2:
            assert state["done"] == 6, "something else went on"
        return float(seed)

    def watch(s: dict[str, Any]) -> None:
        state.update(s)
        # Simulation lasts until each live run has been done once.
        until = time.monotonic() + 20
        while len(calls) < 3 and time.monotonic() < until:
            time.sleep(0.005)

    r = run(real, progress=watch)
    assert calls == [1, 2, 3, 2]
    assert shares(r) == [1.0, 2.0, 3.0] and not r.samples.not_measured


def lane(real: Callable[[int], Any], n: int, beside_s: float) -> list[Ended]:
    """What a lane of `n` runs gives if other work goes on beside it for a while."""
    found: list[Ended] = []
    with Lane({i: partial(real, i) for i in range(n)}) as under_way:
        until = time.monotonic() + beside_s
        while under_way.beside and time.monotonic() < until:
            time.sleep(0.005)
        found += under_way.ended()
        found += [x for x in under_way.alone() if x is not None]
    return found


@pytest.mark.parametrize(
    ("late", "order"),
    [
        # This machine has no room for both: the rest are done alone.
        ({0, 1}, [0, 1, 0, 1, 2, 3, 4]),
        # It has room most of the time: only those that were late are done again.
        ({1, 3}, [0, 1, 2, 3, 4, 1, 3]),
    ],
)
def test_where_most_are_not_valid_the_rest_are_done_alone(late: set[int], order: list[int]) -> None:
    calls: list[int] = []

    def real(i: int) -> dict[str, Any]:
        calls.append(i)
        if i in late and calls.count(i) == 1:
            raise NotValid("late")
        return {"values": {}}

    found = lane(real, 5, 5)
    assert calls == order
    assert sorted(x.number for x in found if x.answer is not None) == [0, 1, 2, 3, 4]


def test_one_that_is_never_valid_is_not_measured_and_says_why() -> None:
    def real(i: int) -> dict[str, Any]:
        if i == 0:
            raise NotValid("late")
        raise NotMeasured("no namespaces")

    found = {x.number: x.why for x in lane(real, 2, 5)}
    assert found == {0: f"the run was not valid in {TRIES} tries: late", 1: "no namespaces"}


def test_an_error_of_a_live_run_ends_the_study(run: Run) -> None:
    def real(_seed: int) -> float:
        raise ZeroDivisionError("here")

    with pytest.raises(ZeroDivisionError, match="here"):
        run(real)


def test_a_run_that_fails_beside_live_runs_is_counted_once(run: Run, tmp_path: Path) -> None:
    """It is not stored, so it is done again when the live runs are over and all threads simulate."""
    (tmp_path / "fails.py").write_text(
        "class Fails:\n    cwnd = 9000\n    def __init__(self, rules): ...\n"
        "    def on_ack(self, ack): raise ValueError('here')\n    def on_congestion(self, sign): ...\n"
    )
    failed, states = threading.Event(), [0]

    def real(seed: int) -> float:
        assert failed.wait(20), "nothing is simulated beside a live run"
        return float(seed)

    def watch(state: dict[str, Any]) -> None:
        states.append(state["done"])
        if state["set"] == "s":
            failed.set()
            time.sleep(0.2)

    controls.from_file(f"{tmp_path}/fails.py", "Fails")
    r = run(real, progress=watch, overrides=[f"flows.bulk.tcp.congestion={tmp_path}/fails.py:Fails"])
    assert len(r.failed) == 4 and max(states) == 7


def test_a_plan_that_needs_too_much_memory_is_refused_before_a_live_run(run: Run) -> None:
    calls: list[int] = []

    def real(seed: int) -> float:
        calls.append(seed)
        return float(seed)

    room.give(30_000)
    try:
        with pytest.raises(room.MemoryRefusal):
            run(real, cores=1)
    finally:
        room.give(None)
    assert not calls


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError("here")])
def test_what_other_live_runs_gave_is_kept_with_an_error(run: Run, error: BaseException) -> None:
    """Ctrl-C of a terminal ends the process of a live run too; the message is the same."""
    calls: list[int] = []
    fails = True

    def real(seed: int) -> float:
        calls.append(seed)
        if fails and seed == 2:
            raise error
        return float(seed)

    def watch(_state: dict[str, Any]) -> None:
        until = time.monotonic() + 20
        while len(calls) < 2 and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(0.1)

    with pytest.raises(Interrupted if isinstance(error, KeyboardInterrupt) else ZeroDivisionError) as raised:
        run(real, progress=watch)
    assert str(raised.value).startswith("stopped after" if isinstance(error, KeyboardInterrupt) else "here")
    assert calls == [1, 2], "an error ends the study, and yet another live run has begun"
    fails = False
    assert shares(run(real)) == [1.0, 2.0, 3.0]
    assert calls == [1, 2, 2, 3]


def test_what_ends_while_it_is_stopped_is_kept(run: Run) -> None:
    calls: list[int] = []

    def real(seed: int) -> float:
        calls.append(seed)
        time.sleep(0.7)
        return float(seed)

    with pytest.raises(Interrupted):
        run(real, cores=1, progress=lambda s: s["elapsed_s"] < 0.3)
    assert shares(run(real)) == [1.0, 2.0, 3.0]
    assert calls == [1, 2, 3]


def test_what_has_ended_is_kept_when_it_is_stopped(run: Run) -> None:
    calls: list[int] = []

    def real(seed: int) -> float:
        calls.append(seed)
        return float(seed)

    with pytest.raises(Interrupted, match="stopped after"):
        run(real, progress=lambda s: s["set"] != "l")
    had = len(calls)
    assert had >= 1
    r = run(real)
    assert shares(r) == [1.0, 2.0, 3.0] and r.reused >= 1
    assert len(calls) < had + 3, "all live runs were done again"


def test_it_can_be_stopped_while_it_waits_for_a_live_run(run: Run) -> None:
    calls: list[int] = []

    def real(seed: int) -> float:
        calls.append(seed)
        time.sleep(0.7)
        return float(seed)

    with pytest.raises(Interrupted, match="stopped after 0 of 7 runs"):
        run(real, cores=1, progress=lambda s: s["elapsed_s"] < 0.3)
    assert calls == [1]


def test_a_live_run_ends_with_its_lane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "sleeps"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(apart, "missing", lambda: "")
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), Lane({0: lambda: apart.live_run("")}):
        while not apart._processes:
            time.sleep(0.01)
        raise KeyboardInterrupt
    assert time.monotonic() - began < 20 and not apart._processes


@pytest.mark.parametrize(
    ("cores", "costs", "live", "says"),
    [
        (2, [300.0], [], "5 min 0 s of CPU time, 2 min 30 s on 2 threads"),
        # A live run takes one of the two threads.
        (2, [300.0], [60.0, 60.0], "5 min 0 s of CPU time and 2 min 0 s of live runs, 3 min 30 s on 2 threads"),
        # They follow one another, whatever else there is to do.
        (2, [10.0], [60.0, 60.0], "10 s of CPU time and 2 min 0 s of live runs, 2 min 0 s on 2 threads"),
        (2, [], [60.0], "1 min 0 s of live runs, 1 min 0 s on 2 threads"),
        # Threads are no faster than the cores that there are.
        (1, [300.0], [60.0], "5 min 0 s of CPU time and 1 min 0 s of live runs, 6 min 0 s on 2 threads"),
        (2, [300.0, math.nan], [math.nan], "5 min 0 s of CPU time, 2 min 30 s on 2 threads; 2 runs of unknown cost"),
    ],
)
def test_the_plan_says_processor_time_and_live_runs_apart(
    monkeypatch: pytest.MonkeyPatch, cores: int, costs: list[float], live: list[float], says: str
) -> None:
    monkeypatch.setattr(estimate, "cores", lambda: cores)
    said = Estimate.of_costs(3, len(costs) + len(live), costs, live).lines(2)
    assert "; ".join(said[1:]) == f"about {says}"
