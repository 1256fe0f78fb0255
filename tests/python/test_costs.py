"""`benches/costs.py`: the declared cost of the runs of a study, beside what a sample of them takes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

STUDY = """\
[discipline.x]
title = "X"
queue = { kind = "droptail" }
[runs.dear]
scenario = "s.toml"
seeds = { quick = 3, full = 4 }
cost_s = 1000
axis.queue = { disciplines = ["x"], paths = ["topology.queue"], buffer = "10 packets" }
[runs.cheap]
like = "dear"
cost_s = { quick = COST, full = 1000 }
[[experiment]]
id = "E"
title = "t"
runs = RUNS
"""
SCENARIO = """\
duration = "1s"
topology = { kind = "dumbbell", rate = "10Mbps", delay = "10ms", queue = { kind = "droptail", buffer = "10 packets" } }
flows.bulk = { count = 1 }
"""


@pytest.fixture(scope="module")
def costs() -> ModuleType:
    file = Path(__file__).resolve().parents[2] / "benches/costs.py"
    spec = importlib.util.spec_from_file_location("costs", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def study(at: Path, runs: str, cost: float = 1.0) -> str:
    (at / "experiments").mkdir(parents=True)
    (at / "study.toml").write_text('id = "s"\ntitle = "t"\ncitation = "c"\nquestion = "q"\nmethod = "m"\n')
    text = STUDY.replace("RUNS", runs).replace("COST", str(cost))
    (at / "experiments" / "a.toml").write_text(text)
    (at / "s.toml").write_text(SCENARIO)
    return str(at)


def test_what_is_declared_too_high_is_marked(
    costs: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "measured", lambda _work, chosen, _most: [2.0] * len(chosen))
    assert costs.main([study(tmp_path / "a", '["dear", "cheap"]', 3.0), "--sample", "2"]) == 1
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert said[1] == ["dear", "3", "1e+03", "2", "500.00", "2", "!"]
    assert said[2] == ["cheap", "3", "3", "2", "1.50", "2"]
    assert costs.main([study(tmp_path / "b", '"cheap"', 3.0)]) == 0
    assert costs.main([study(tmp_path / "c", '"cheap"', 3.0), "--full"]) == 1


def test_a_sample_is_drawn_by_its_seed_and_is_simulated(
    costs: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[list[int]] = []
    simulate = costs.measured

    def watch(work: object, chosen: list[int], most_s: float) -> list[float]:
        drawn.append(chosen)
        found: list[float] = simulate(work, chosen, most_s)
        assert len(found) == len(chosen) and all(0 < x < 10 for x in found)
        return found

    monkeypatch.setattr(costs, "measured", watch)
    folder = study(tmp_path / "a", '"dear"')
    for seed in ("1", "1", "2", "3", "4"):
        costs.main([folder, "--sample", "2", "--full", "--seed", seed])
    assert drawn[0] == drawn[1] and any(x != drawn[0] for x in drawn[2:])


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["nothere"], 'no study "nothere"'),
        (["keshav-1991", "--sample", "0"], "at least 1 run"),
        (["keshav-1991", "--most", "0"], "more than 0 seconds"),
    ],
)
def test_bad_input_gets_one_message(
    costs: ModuleType, capsys: pytest.CaptureFixture[str], args: list[str], says: str
) -> None:
    with pytest.raises(SystemExit) as e:
        costs.main(args)
    assert e.value.code == 2 and says in capsys.readouterr().err.splitlines()[-1]
