"""Sweep files: what they say, where their runs are done, and that it makes no difference to the results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailback as tb
from tailback import _core
from tailback.core import stats
from tailback.core.declared import FileError
from tailback.runs.campaign import grow
from tailback.runs.campaign.files import StopTable

SCENARIO = """
duration = "500ms"
[topology]
kind = "dumbbell"
rate = "5Mbps"
delay = "5ms"
queue = { kind = "droptail", buffer = "20 packets" }
[flows.bulk]
count = 2
rtt = ["20ms", "40ms"]
start = { kind = "uniform", to = "100ms" }
"""

QUEUE = {"paths": ["topology.queue.kind"], "values": ["droptail", "codel"]}
BUFFER = {"paths": ["topology.queue.buffer"], "unit": "packets", "values": [10, 40]}


def sweep(**table: Any) -> Any:
    return tb.load_sweep({"scenario": SCENARIO, **table})


def labels(s: Any) -> list[tuple[str, ...]]:
    return [tuple(point.values()) for point, _ in s.points]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "lab.toml").write_text(SCENARIO)
    path = tmp_path / "plan.toml"
    path.write_text(
        'scenario = "lab.toml"\nreplications = 3\n'
        '[axis.queue]\npaths = ["topology.queue.kind"]\nvalues = ["droptail", "codel"]\n'
        '[axis.buffer]\npaths = ["topology.queue.buffer"]\nunit = "packets"\nvalues = [10, 40]\n'
        '[compare]\naxis = "queue"\nagainst = "droptail"\n'
    )
    return path


GROW = (
    '\n[stop]\nmetric = "links.utilisation"\nwhere = { name = "bottleneck" }\n'
    "half_width = 0.01\nat_least = 3\nat_most = 12\n"
)


def tables(dir: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(dir.glob("*.parquet"))}


def run(*args: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "tailback", *args]
    return subprocess.run(argv, cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, check=False)


def test_axes_are_multiplied_the_last_one_fastest() -> None:
    s = sweep(axis={"queue": QUEUE, "buffer": BUFFER}, replications=3, seed=7)
    assert labels(s) == [("droptail", "10"), ("droptail", "40"), ("codel", "10"), ("codel", "40")]
    assert len(s) == 12
    assert [(link["queue"], link["buffer"]) for _, p in s.points for link in p.spec["links"][:1]] == [
        ("droptail", "10 packets"),
        ("droptail", "40 packets"),
        ("codel", "10 packets"),
        ("codel", "40 packets"),
    ]
    # Every point has the same seeds: differences between points are paired.
    assert [r["seed"] for r in s.plan().runs()] == [7, 8, 9] * 4


def test_axes_in_step_are_one_factor() -> None:
    rate = {"paths": ["topology.rate"], "unit": "Mbps", "values": [5, 5]}
    s = sweep(axis={"queue": QUEUE, "buffer": BUFFER, "rate": rate}, zip=[["buffer", "rate"]])
    assert labels(s) == [("droptail", "10", "5"), ("droptail", "40", "5"), ("codel", "10", "5"), ("codel", "40", "5")]


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({"from": 10, "to": 40, "step": 10}, ["10", "20", "30", "40"]),
        ({"from": 0.1, "to": 0.5, "step": 0.1}, ["0.1", "0.2", "0.3", "0.4", "0.5"]),
        ({"from": 0, "to": 1, "count": 3}, ["0", "0.5", "1"]),
        ({"from": 1, "to": 1000, "count": 4, "scale": "log"}, ["1", "10", "100", "1000"]),
        ({"from": 1, "to": 10, "count": 3, "scale": "log"}, ["1", "3.16228", "10"]),
        ({"from": 1, "to": 10, "count": 3, "scale": "log", "whole": True}, ["1", "3", "10"]),
    ],
)
def test_ranges(given: dict[str, Any], values: list[str]) -> None:
    from tailback.runs.campaign.values import labelled

    assert [label for label, _ in labelled(given, "ms", "here")] == values
    assert [text for _, text in labelled(given, "ms", "here")] == [f"{v} ms" for v in values]


def test_studies_have_the_same_ranges(tmp_path: Path) -> None:
    from tailback.study import load
    from tailback.study.runs import Columns, read_runs

    study = load.load("appenzeller-2004")
    name, known = next(iter(study.runs.items()))
    axis = {"paths": ["duration"], "unit": "s", "both": {"from": 1, "to": 100, "count": 3, "scale": "log"}}
    assert known.scenario is not None
    table = {"scenario": known.scenario.name, "axis": {"t": axis}}
    runs = read_runs(study.path, tmp_path, name, table, Columns({}, {}))
    assert [p.overrides for p in runs.points("quick")] == [["duration=1 s"], ["duration=10 s"], ["duration=100 s"]]


def test_cases_and_what_is_set_at_some_points() -> None:
    cases = [
        {"labels": {"load": "low"}, "set": ["flows.bulk.count=1"]},
        {"labels": {"load": "high"}, "set": ["flows.bulk.count=9"]},
    ]
    at = [{"where": {"queue": "codel", "load": ["high"]}, "set": ["topology.queue.target=9ms"]}]
    s = sweep(axis={"queue": QUEUE}, case=cases, at=at, then=["duration=250ms"])
    assert labels(s) == [("droptail", "low"), ("droptail", "high"), ("codel", "low"), ("codel", "high")]
    assert ["9ms" in p.json for _, p in s.points] == [False, False, False, True]
    assert {p.duration_s for _, p in s.points} == {0.25}
    assert [g["count"] for _, p in s.points for g in p.spec["flows"]] == [1, 9, 1, 9]


def test_a_label_may_set_several_things() -> None:
    mixed = {"set": {"few": ["flows.bulk.count=1"], "slow": ["flows.bulk.count=3", "topology.rate=1Mbps"]}}
    s = sweep(axis={"mix": mixed})
    assert [(g["count"], p.spec["links"][0]["rate_bps"]) for _, p in s.points for g in p.spec["flows"]] == [
        (1, 5e6),
        (3, 1e6),
    ]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"axis": {"q": {"paths": ["topology.rate"], "value": [1]}}}, 'did you mean "values"'),
        ({"axis": {"q": {"values": [1]}}}, "it sets nothing; add paths"),
        ({"axis": {"q": {"paths": ["topology.rate"]}}}, "it needs values"),
        ({"axis": {"q": {"paths": ["topology.rate"], "values": []}}}, "values is empty"),
        ({"axis": {"q": {"paths": ["a"], "values": {"from": 1, "to": 9}}}}, "either step or count"),
        ({"axis": {"q": {"paths": ["a"], "values": {"from": 9, "to": 1, "step": 1}}}}, "smaller number first"),
        ({"axis": {"q": {"paths": ["a"], "values": {"from": 0, "to": 1, "count": 3, "scale": "log"}}}}, "above zero"),
        ({"axis": {"q": {"paths": ["a"], "values": {"from": 0, "to": 1, "step": 1e-9}}}}, "at most 100000 values"),
        ({"axis": {"q": {"paths": ["a"], "values": {"from": 0, "to": float("nan"), "count": 3}}}}, "to = nan; write"),
        ({"axis": {"q": {"paths": ["a"], "values": {"from": 1, "to": 9, "count": 3, "scale": "lin"}}}}, "linear, log"),
        ({"axis": {"q": QUEUE}, "zip": [["q"]]}, "the list of 'q' has only this axis"),
        ({"axis": {"q": QUEUE, "r": QUEUE}}, "both set topology.queue.kind"),
        ({"axis": {"b": BUFFER, "k": {"paths": ["topology.queue"], "values": ["red"]}}}, "put 'b' after 'k'"),
        ({"axis": {"q": QUEUE}, "zip": [["q", "z"]]}, "no axis 'z'"),
        ({"axis": {"q": QUEUE, "b": {**BUFFER, "values": [1]}}, "zip": [["q", "b"]]}, "axes of one length"),
        (
            {"axis": {"q": QUEUE}, "compare": {"axis": "q", "against": "red"}},
            "give one of the labels of q: droptail, codel",
        ),
        ({"axis": {"q": QUEUE}, "compare": {"axis": "b", "against": "red"}}, "no such axis; there are q"),
        ({"axis": {"q": QUEUE}, "at": [{"where": {"p": 1}, "set": []}]}, "no axis 'p'"),
        ({"axis": {"q": QUEUE}, "at": [{"where": {"q": "red"}, "set": []}]}, "no point has these labels"),
        ({"axis": {"q": QUEUE}, "case": [{"labels": {"q": "x"}}]}, "an axis and a label of the cases"),
        ({"axis": {"b": {**BUFFER, "values": [5, 5]}}}, "two points have b = 5"),
        ({"stop": {"metric": "links.utilisation"}}, "give one bound"),
        ({"stop": {"metric": "utilisation", "relative": 0.1}}, "write TABLE.COLUMN"),
        ({"stop": {"metric": "links.x", "relative": 0.1, "at_least": 1}}, "an interval takes 2 seeds"),
        ({"stop": {"metric": "links.x", "relative": 0.1}, "replications": 5}, "contradict each other"),
        ({"replications": 0}, "write a number from 1"),
        ({"scenario": "nowhere.toml"}, "is not there; paths begin where the file is"),
    ],
)
def test_what_is_wrong_is_said_with_its_key_and_a_remedy(table: dict[str, Any], said: str) -> None:
    with pytest.raises(FileError, match="sweep") as e:
        sweep(**table)
    assert said in str(e.value)


def test_a_file_that_is_wrong_ends_with_status_2(file: Path) -> None:
    file.write_text(file.read_text().replace("values = [10", "value = [10"))
    done = run("sweep", str(file))
    assert done.returncode == 2 and "axis.buffer" in done.stderr and "Traceback" not in done.stderr
    file.write_text("replications = ]")
    assert run("sweep", str(file)).returncode == 2
    file.write_text('scenario = "lab.toml"\n[axis.q]\npaths = ["topology.rat"]\nvalues = [1]\n')
    done = run("sweep", str(file))
    assert done.returncode == 2 and "topology.rat" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("growing", [False, True])
def test_shards_leave_the_bytes_of_one_run(file: Path, tmp_path: Path, growing: bool) -> None:
    if growing:
        text = file.read_text().replace("replications = 3\n", "")
        file.write_text(text.replace("\n[compare]", f"{GROW}\n[compare]"))
    s = tb.load_sweep(file)
    whole = s.execute(tmp_path / "whole", jobs=2)
    for i in (3, 1, 2):
        assert s.execute(tmp_path / "parts", shard=(i, 3)).report["total"] > 0
    kept = _core.status(tmp_path / "parts")
    assert [x["name"] for x in kept["shards"]] == ["1-of-3", "2-of-3", "3-of-3"]
    assert kept["status"] == "in shards" and sum(r["stored"] for r in kept["runs"]) == len(whole.runs)
    done = s.execute(tmp_path / "parts")
    assert done.report["reused"] == len(whole.runs) == done.report["total"]
    assert tables(tmp_path / "parts") == tables(tmp_path / "whole")
    # Shards are gone, and what they cost is known.
    assert not (tmp_path / "parts/shards").exists()
    assert all(r["cpu_s"] > 0 for r in _core.status(tmp_path / "parts")["runs"])
    if growing:
        counts = np.unique(np.asarray(whole.runs["buffer"], str), return_counts=True)[1]
        assert len(whole.runs) > 12 and max(counts) <= 24
        assert whole == s.execute()


def test_a_shard_then_the_rest_here_and_no_run_twice(file: Path, tmp_path: Path) -> None:
    s = tb.load_sweep(file)
    s.execute(tmp_path / "whole")
    s.execute(tmp_path / "mixed", shard=(1, 2))
    there = sum(r["stored"] for r in _core.status(tmp_path / "mixed")["runs"])
    assert 0 < there < len(s)
    assert s.execute(tmp_path / "mixed").report["reused"] == there
    assert tables(tmp_path / "mixed") == tables(tmp_path / "whole")
    # A plan that is finished leaves nothing for a shard to do.
    assert s.execute(tmp_path / "mixed", shard=(2, 3)).report["total"] == 0
    s.execute(tmp_path / "mixed")
    assert tables(tmp_path / "mixed") == tables(tmp_path / "whole")


def test_a_plan_in_python_has_shards_too(tmp_path: Path) -> None:
    plan = tb.Plan.product(SCENARIO, {"link.bottleneck.rate": ["4Mbps", "5Mbps"]}, replications=4)
    plan.execute(tmp_path / "whole")
    for i in (1, 2):
        plan.execute(tmp_path / "parts", shard=(i, 2))
    assert plan.execute(tmp_path / "parts").report["reused"] == 8
    assert tables(tmp_path / "parts") == tables(tmp_path / "whole")
    with pytest.raises(ValueError, match="no shard 3 of 2"):
        plan.execute(tmp_path / "parts", shard=(3, 2))
    with pytest.raises(ValueError, match="give dir"):
        plan.execute(shard=(1, 2))


def test_who_is_at_work_is_not_disturbed(file: Path, tmp_path: Path) -> None:
    s = tb.load_sweep(file)
    out = tmp_path / "out"
    shard = _core.Inbox(out, "1-of-2")
    for refused in ((1, 2), None):
        with pytest.raises(OSError, match=r"shards/1-of-2 is in use by process \d+"):
            s.execute(out, shard=refused)
    s.execute(out, shard=(2, 2))
    done = run("sweep", str(file), "--out", str(out), "--shard", "1/2")
    assert done.returncode == 1 and "is in use by process" in done.stderr and "Traceback" not in done.stderr
    said = run("status", str(out)).stdout
    assert "2/2" in said and f"1/2 has 0 runs: process {os.getpid()} is at work" in said
    shard.close()
    s.execute(out, shard=(1, 2))
    s.execute(out)


def test_shards_are_gathered_only_when_all_are_there(file: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    assert run("sweep", str(file), "--out", out, "--shard", "1/2").returncode == 0
    done = run("sweep", str(file), "--out", out, "--merge")
    assert done.returncode == 1 and "6 of 12 runs are not stored" in done.stderr and "1/2 has 6 of 6" in done.stderr
    assert run("sweep", str(file), "--out", out, "--shard", "2/2").returncode == 0
    assert run("sweep", str(file), "--out", out, "--merge").returncode == 0
    tb.load_sweep(file).execute(tmp_path / "whole")
    assert tables(tmp_path / "out") == tables(tmp_path / "whole")


def test_the_batch_file_for_slurm_runs(file: Path, tmp_path: Path) -> None:
    made = run("sweep", file.name, "--out", "out", "--emit", "slurm", "--shards", "2", "--cpus", "1", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "#SBATCH --array=1-2" in made.stdout and "#SBATCH --cpus-per-task=1" in made.stdout
    batch = tmp_path / "batch.sh"
    batch.write_text(made.stdout)
    for task in ("1", "2"):
        env = {**os.environ, "SLURM_ARRAY_TASK_ID": task, "SLURM_CPUS_PER_TASK": "1"}
        subprocess.run(["bash", str(batch)], env=env, check=True, cwd="/", capture_output=True)
    # What gathers them stands in the head of the file.
    line = next(x for x in made.stdout.splitlines() if "--wrap=" in x)
    gather = f'wrapped={line.partition("--wrap=")[2]}; eval "$wrapped"'
    subprocess.run(["bash", "-c", gather], check=True, capture_output=True)
    tb.load_sweep(file).execute(tmp_path / "whole")
    assert tables(tmp_path / "out") == tables(tmp_path / "whole")


def test_a_dry_run_tells_and_stores_nothing(file: Path, tmp_path: Path) -> None:
    done = run("sweep", str(file), "--dry-run", "--json", cwd=tmp_path)
    said = json.loads(done.stdout)
    assert (said["points"], said["runs"], said["stored"]) == (4, 12, 0)
    assert said["cpu_s"] > 0 and said["bytes"] > 10_000
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lab.toml", "plan.toml"]
    tb.load_sweep(file).execute(tmp_path / "out/plan")
    spent = sum(r["cpu_s"] for r in _core.status(tmp_path / "out/plan")["runs"])
    # Within a factor: runs of milliseconds are timed on a machine that others use.
    assert spent / 5 < said["cpu_s"] < spent * 5
    assert "12 stored" in run("sweep", str(file), "--dry-run", cwd=tmp_path).stdout


def test_seeds_are_added_until_the_interval_is_narrow() -> None:
    stop = StopTable(metric="links.utilisation", half_width=0.1, at_least=3, at_most=50)
    assert grow.wanted(stop, [1.0, 1.0, 1.0]) == 3
    wide = [0.0, 1.0, 2.0]
    assert grow.wanted(stop, wide) == 6, "at most twice as many at once"
    near = [0.9, 1.0, 1.1]
    half = stats.ci95(near)
    assert grow.wanted(stop, near) == min(6, int(np.ceil(3 * (half / 0.1) ** 2)))
    assert grow.wanted(stop, wide * 16) == 50 and grow.wanted(stop, [*wide * 16, 1.0, 1.0]) == 50
    relative = StopTable(metric="links.utilisation", relative=0.5, at_least=3)
    assert grow.enough(relative, [1.0, 1.1, 1.2]) and not grow.enough(relative, wide)


def test_a_metric_that_no_run_has_is_refused_before_any_run(file: Path, tmp_path: Path) -> None:
    text = file.read_text().replace("replications = 3\n", "")
    for given, said in (
        (GROW.replace('where = { name = "bottleneck" }\n', ""), "is in 2 rows of a run (name = bottleneck;"),
        (GROW.replace("links.utilisation", "links.use"), "has no column 'use'"),
        (GROW.replace("links.utilisation", "links.utilization"), 'did you mean "utilisation"?'),
        (GROW.replace('name = "bottleneck"', 'name = "neck"'), "is in 0 rows of a run; there are: name = bottleneck;"),
    ):
        file.write_text(text + given)
        done = run("sweep", str(file), "--out", str(tmp_path / "out"))
        assert done.returncode == 2 and said in " ".join(done.stderr.split()) and file.name in done.stderr
        assert not (tmp_path / "out").exists()


def test_a_point_that_has_all_its_seeds_and_a_wide_interval_is_said(file: Path, tmp_path: Path) -> None:
    text = file.read_text().replace("replications = 3\n", "")
    for bound, wide in (("relative = 1e-9", True), ("relative = 1e9", False)):
        own = f'[stop]\nmetric = "links.utilisation"\nwhere = {{ name = "bottleneck" }}\n{bound}\nat_most = 6\n'
        file.write_text(text + own)
        done = run("sweep", str(file), "--out", str(tmp_path / "out"))
        assert done.returncode == 0 and ("is above the bound with 6 seeds" in done.stdout) == wide, done.stderr
        rows = [line.split() for line in done.stdout.splitlines() if line.startswith(("queue ", "droptail ", "codel "))]
        assert rows[0] == ["queue", "buffer", "seeds", "links.utilisation", "+-", "bound"] and len(rows) == 5
        assert {row[2] for row in rows[1:]} == {"6" if wide else "5"}
        assert all(("too" in row) == wide for row in rows[1:])
        points = json.loads(run("sweep", str(file), "--out", str(tmp_path / "out"), "--json").stdout)["points"]
        assert [p["enough"] for p in points] == [not wide] * 4
        assert [p["labels"]["buffer"] for p in points] == ["10", "40", "10", "40"]
