"""Plans: order, threads, storing, resuming, interruption, and what happens when the disk is full."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from conftest import SMALL

import tailback as tb

AXES = {
    "queue": ("topology.queue.buffer", ["20 packets", "40 packets"]),
    "link.bottleneck.rate": ["4Mbps", "5Mbps"],
}


def digests(dir: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in dir.glob("*.parquet")}


def test_points_and_runs_are_in_order() -> None:
    plan = tb.Plan.product(SMALL, AXES, replications=2)
    assert [p[0]["link.bottleneck.rate"] for p in plan.points] == ["4Mbps", "5Mbps"] * 2
    assert len(plan) == 8 and [r["seed"] for r in plan.runs()] == [1, 2] * 4
    assert len({r["key"] for r in plan.runs()}) == 8
    assert len(tb.Plan.zip(SMALL, AXES)) == 2
    with pytest.raises(ValueError, match="one length"):
        tb.Plan.zip(SMALL, {"a": ("seed", [1, 2]), "b": ("flows.bulk.count", [1])})
    explicit = tb.Plan.explicit(
        SMALL, [({"n": 1}, {"flows.bulk.count": 1}), ({"n": 3}, {"flows.bulk.count": 3})], seed=9
    )
    r = explicit.execute()
    assert list(r.groups["flows"]) == [1, 3] and list(r.groups["n"]) == ["1", "3"] and list(r.runs["seed"]) == [9, 9]


def test_any_number_of_threads_gives_the_same_bytes(tmp_path: Path) -> None:
    plan = tb.Plan.product(SMALL, AXES, replications=3)
    for jobs in (1, 5):
        assert plan.execute(tmp_path / str(jobs), jobs=jobs).store_error is None
    one = digests(tmp_path / "1")
    assert len(one) == 11 and one == digests(tmp_path / "5")


@pytest.mark.slow
def test_progress_stops_a_plan_and_running_again_finishes_it(tmp_path: Path) -> None:
    plan = tb.Plan.product(SMALL, AXES, replications=20)
    states: list[dict] = []

    def some(state: dict) -> bool:
        states.append(state)
        return state["done"] < 5

    r = plan.execute(tmp_path / "a", jobs=1, progress=some)
    # The engine asks a few times a second, so a fast machine may be done before it asks twice.
    assert r.interrupted or r.report["done"] == 80
    kept = r.report["done"]
    again = plan.execute(tmp_path / "a")
    assert not again.interrupted and len(again.runs) == 80
    assert again.report["reused"] >= min(kept, 1)
    whole = plan.execute(tmp_path / "b")
    assert whole.report["reused"] == 0
    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    assert plan.execute(tmp_path / "b").report["reused"] == 80
    longer = tb.Plan.product(SMALL, AXES, replications=21).execute(tmp_path / "b")
    assert longer.report["reused"] == 80 and len(longer.runs) == 84


def test_an_exception_in_progress_comes_back(tmp_path: Path) -> None:
    def bad(state: dict) -> bool:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        tb.Plan.product(SMALL, AXES).execute(tmp_path / "a", progress=bad)


def test_the_interpreter_runs_while_a_plan_does() -> None:
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.001):
            ticks += 1

    t = threading.Thread(target=tick)
    t.start()
    tb.run(SMALL, duration="200s", replications=2, jobs=1)
    stop.set()
    t.join()
    assert ticks > 3


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished(cli, small, tmp_path: Path) -> None:
    p = cli.start("run", small, "--set", "duration=300s", "--replications", 500, "--jobs", 1, "--out", "o")
    chunks = tmp_path / "o" / "chunks"
    for _ in range(600):
        if chunks.is_dir() and any(c.suffix != ".partial" for c in chunks.iterdir()):
            break
        time.sleep(0.05)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    assert p.returncode == 130 and out == "" and "interrupted" in err and "Traceback" not in err
    assert "kept in o, run the same command" in err
    stored = len(list(chunks.iterdir()))
    assert stored >= 1
    # The same plan takes up what is stored: a shorter one of the same seeds is complete at once.
    done = cli("run", small, "--set", "duration=300s", "--replications", 1, "--out", "o", "--json")
    assert done.returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a tiny disk needs root")
def test_a_full_disk_is_said_and_loses_nothing(cli, small, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=320k", "tmpfs", disk], capture_output=True)
    if mount.returncode != 0:
        pytest.skip("no tmpfs here")
    try:
        first = cli("run", small, "--replications", 1, "--out", disk / "o")
        assert first.returncode == 0, first.stderr
        before = digests(disk / "o")
        full = cli("run", small, "--replications", 60, "--set", "record.queue.every=1ms", "--out", disk / "o")
        assert full.returncode == 1
        assert "no space is left" in full.stderr and "Traceback" not in full.stderr
        after = digests(disk / "o")
        assert before.items() <= after.items() and not list((disk / "o").glob("*.partial"))
        assert len(tb.load_result(disk / "o").flows) == 4
        assert tb.load_result(disk / "o").scenario.digest == tb.load_scenario(small).digest
    finally:
        subprocess.run(["umount", disk], check=False)


def test_a_changed_build_does_not_take_stored_runs(tmp_path: Path, monkeypatch) -> None:
    from tailback.core.store import fingerprint

    plan = tb.Plan([({}, SMALL)])
    plan.execute(tmp_path / "a")
    assert plan.execute(tmp_path / "a").report["reused"] == 1
    monkeypatch.setattr(fingerprint, "build", lambda: "another")
    assert plan.execute(tmp_path / "a").report["reused"] == 0


@pytest.mark.parametrize("label", ["flows", "seed", "run", "group", "name"])
def test_a_label_that_is_a_column_is_refused(label: str) -> None:
    base = tb.dumbbell(flows=1).set(duration="1s")
    with pytest.raises(ValueError, match=f"'{label}' is the name of a column"):
        tb.Plan.product(base, {label: ("duration", ["1s"])})


def test_an_axis_that_another_undoes_is_refused() -> None:
    base = tb.dumbbell(flows=1).set(duration="1s")
    with pytest.raises(ValueError, match="'a' and 'b' both set duration"):
        tb.Plan.product(base, {"a": ("duration", ["1s"]), "b": ("duration", ["2s"])})
    queues = {"buffer": ("link.bottleneck.queue.buffer", ["10 packets", "90 packets"])}
    kinds = {"queue": ("link.bottleneck.queue", [{"kind": "red"}, {"kind": "codel"}])}
    with pytest.raises(ValueError, match=r"put 'buffer' after 'queue'"):
        tb.Plan.product(base, {**queues, **kinds})
    # In the other order each means what it says.
    plan = tb.Plan.product(base, {**kinds, **queues})
    assert len({scenario.digest for _, scenario in plan.points}) == 4
