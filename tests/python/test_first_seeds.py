"""Points get more seeds only where a row needs them, and the answer does not depend on how it was reached."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailback.study import computed, load
from tailback.study.errors import StudyError
from tailback.study.repeat import Repeat
from tailback.study.reproduce import reproduce, run_shard
from tailback.study.write import Reproduction

STUDY = """\
[discipline.x]
title = "X"
queue = { kind = "droptail" }
[runs.l]
compute = "drawn"
not_repeatable = "real packets"
seeds = { quick = 5, full = 5 }
first_seeds = { quick = 2 }
axis.queue = { disciplines = ["x"] }
axis.spread = { title = "Spread", quick = [0, 1, 2, 3], full = [0, 1, 2, 3] }
[[experiment]]
id = "E"
title = "t"
runs = "l"
[[experiment.output]]
kind = "table"
runs = "l"
measures = ["share"]
"""
STATEMENT = """\
[[statement]]
id = "S"
sentence = "The share is above one half."
source = "c"
experiment = "E"
runs = "l"
measure = "share"
check = [{ of = "x", above = 0.5, where = { spread = [0, 1, 2] } }]
"""
#: Shares by seed. Clear of one half at once; after a third seed; never; and not read by any row.
VALUES = {
    "0": [0.9, 0.901, 0.9, 0.9, 0.9],
    "1": [0.9, 0.6, 0.75, 0.7, 0.8],
    "2": [0.9, 0.2, 0.9, 0.2, 0.4],
    "3": [0.9, 0.2, 0.9, 0.2, 0.4],
}
#: Shares of three disciplines: the interval of the first two's difference is clear of 0 after four seeds.
OF_THREE = {"x": [0.95] * 5, "y": [0.9, 0.7, 0.8, 0.75, 0.8], "z": [0.3, 0.101, 0.2, 0.15, 0.2]}
THREE = """\
[discipline.y]
title = "Y"
queue = { kind = "droptail" }
[discipline.z]
title = "Z"
queue = { kind = "droptail" }
[runs.l]"""
Run = Callable[..., Reproduction]


@pytest.fixture
def calls() -> list[tuple[str, int]]:
    return []


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: list[tuple[str, int]]) -> Run:
    folder = tmp_path / "study"
    (folder / "experiments").mkdir(parents=True)
    (folder / "study.toml").write_text('id = "s"\ntitle = "t"\ncitation = "c"\nquestion = "q"\nmethod = "m"\n')
    (folder / "experiments" / "a.toml").write_text(STUDY)
    (folder / "statements.toml").write_text(STATEMENT)

    def three() -> bool:
        return "discipline.z" in (folder / "experiments" / "a.toml").read_text()

    def live(labels: dict[str, str], seed: int, _options: dict[str, Any]) -> dict[str, Any]:
        calls.append((labels["spread"], seed))
        values = VALUES[labels["spread"]] if labels["queue"] == "x" and not three() else OF_THREE[labels["queue"]]
        return {"values": {"share": values[seed - 1]}}

    monkeypatch.setitem(computed.FUNCTIONS, "drawn", live)
    monkeypatch.setitem(computed.FUNCTIONS, "counted", lambda labels, seed, options: live(labels, seed, options))
    computed._LIVE.add(live)

    def go(out: str = "o", **how: Any) -> Reproduction:
        return reproduce(load.load(str(folder)), how=Repeat(**how), out=tmp_path / out)

    return go


def seeds(r: Reproduction) -> dict[str, int]:
    found = {}
    for spread in VALUES:
        x = r.samples.get("l", ("x", spread), "all", "share")
        assert x is not None and x.tolist() == VALUES[spread][: len(x)]
        found[spread] = len(x)
    return found


def test_a_point_gets_seeds_until_its_rows_are_settled(run: Run, calls: list[tuple[str, int]]) -> None:
    r = run()
    # The interval of 0.9 and 0.6 reaches from -1.2 to 2.7, that of three seeds from 0.38 on, that of four from 0.53 on.
    assert seeds(r) == {"0": 2, "1": 4, "2": 5, "3": 2}
    assert sorted(calls) == sorted((s, k + 1) for s, n in seeds(r).items() for k in range(n))
    assert r.runs == sum(seeds(r).values()) == 13, "what is told are the runs that were needed"
    assert (r.reused, run().reused) == (0, 13)


def test_an_order_of_three_asks_for_seeds_of_the_pair_in_doubt(run: Run, tmp_path: Path) -> None:
    """Of three disciplines the first two are near each other, and the third is far below."""
    folder = tmp_path / "study"
    study = STUDY.replace('["x"]', '["x", "y", "z"]').replace("[runs.l]", THREE).replace("[0, 1, 2, 3]", "[0]")
    (folder / "experiments" / "a.toml").write_text(study)
    order = 'check = [{ order = ["x", "y", "z"] }]\n'
    (folder / "statements.toml").write_text(STATEMENT.split("check =")[0] + order)
    r = run()
    found = {q: r.samples.get("l", (q, "0"), "all", "share") for q in "xyz"}
    assert {q: None if v is None else len(v) for q, v in found.items()} == {"x": 4, "y": 4, "z": 2}


def test_what_was_stored_before_does_not_change_the_answer(run: Run, calls: list[tuple[str, int]]) -> None:
    assert seeds(run(seeds=5)) == dict.fromkeys(VALUES, 5)
    calls.clear()
    assert seeds(run()) == {"0": 2, "1": 4, "2": 5, "3": 2}
    assert calls == [], "all of them are stored"


def test_other_modes_have_all_seeds_at_once(run: Run) -> None:
    assert seeds(run(mode="full")) == dict.fromkeys(VALUES, 5)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("quick = 2 }", "quick = 1 }", "quick = 1; give at least 2, which an interval needs, and at most 5"),
        ("quick = 2 }", "quick = 6 }", "quick = 6; give at least 2, which an interval needs, and at most 5"),
        ('"drawn"', '"counted"', "first_seeds is for runs with packets, and counted has none"),
    ],
)
def test_what_cannot_be_is_refused(run: Run, tmp_path: Path, old: str, new: str, said: str) -> None:
    (tmp_path / "study/experiments/a.toml").write_text(STUDY.replace(old, new))
    with pytest.raises(StudyError, match=f"a.toml, \\[runs.l\\]: .*{said}"):
        run()


SIMULATED = (
    STUDY.replace('compute = "drawn"\nnot_repeatable = "real packets"', 'scenario = "line.toml"')
    .replace('disciplines = ["x"] }', 'disciplines = ["x"], paths = ["topology.queue"], buffer = "40 packets" }')
    .replace("axis.spread", "axis.load")
    .replace("quick = [0, 1, 2, 3], full = [0, 1, 2, 3]", 'paths = ["flows.p.traffic.rate"], both = ["2Mbps", "4Mbps"]')
    .replace('"Spread"', '"Load"')
    .replace('"share"', '"utilisation"')
)
LINE = """\
duration = "1s"
topology = { kind = "dumbbell", rate = "5Mbps", delay = "10ms", queue = { kind = "droptail", buffer = "40 packets" } }
flows.p = { transport = "udp", traffic = { kind = "poisson", rate = "2Mbps" } }
"""


def test_simulated_points_get_seeds_too(run: Run, tmp_path: Path) -> None:
    """The limit is where the values of the greater load are, so that it gets all seeds; the other is far below."""
    folder = tmp_path / "study"
    (folder / "line.toml").write_text(LINE)
    (folder / "experiments" / "a.toml").write_text(SIMULATED)
    (folder / "statements.toml").unlink()

    def found(r: Reproduction) -> dict[str, list[float]]:
        values = {x: r.samples.get("l", ("x", x), "all", "utilisation") for x in ("2Mbps", "4Mbps")}
        return {x: [] if v is None else v.tolist() for x, v in values.items()}

    every = found(run("all", seeds=5))
    assert {x: len(set(v)) for x, v in every.items()} == {"2Mbps": 5, "4Mbps": 5}
    limit = sorted(every["4Mbps"])[2]
    rule = f'check = [{{ of = "x", below = {limit}, where = {{ load = ["2Mbps", "4Mbps"] }} }}]\n'
    (folder / "statements.toml").write_text(STATEMENT.split("check =")[0].replace("share", "utilisation") + rule)
    first = run()
    assert found(first) == {"2Mbps": every["2Mbps"][:2], "4Mbps": every["4Mbps"]}
    assert (first.runs, first.reused, first.failed) == (7, 0, [])
    again = run()
    assert found(again) == found(first)
    assert (again.runs, again.reused) == (7, 7)
    # Of all five seeds of each, which are stored elsewhere, the same are used.
    assert found(run("all")) == found(first)
    study = load.load(str(folder))
    shards = [run_shard(study, study.experiments, Repeat(), tmp_path / "cut", (k, 2))[0] for k in (1, 2)]
    assert sum(shards) == 4, "shards have the first seeds"
    gathered = run("cut")
    assert (found(gathered), gathered.reused) == (found(first), 4)
