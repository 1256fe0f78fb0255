"""Memory is promised before it is taken: bounds, limits, refusals, and what is not refused."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import tailback as tb
from tailback import _core
from tailback.core.scenario.read import as_text, load_scenario
from tailback.core.text import room as free
from tailback.runs.campaign import memory
from tailback.study import load as study

EXAMPLES = Path(tb.__file__).parent / "examples"
LINE = 'topology = { kind = "dumbbell", rate = "10Mbps", delay = "5ms", queue = "droptail" }\n'
#: What a recording of a million buckets takes.
BUCKETS = """\
duration = "10s"
[link.line]
from = "a"
to = "b"
rate = "10Mbps"
delay = "5ms"
queue = { kind = "sfq", buckets = 996713 }
[flows.bulk]
count = 20
[record.buckets]
link = "line"
probes = "queue_packets"
every = "10ms"
"""


def total(text: str, *overrides: str) -> int:
    return memory.total(_core.load(text, "toml", "test", list(overrides), False).memory)


def point(bytes: int, kept: int = 0, key: str = "record.a") -> list[dict[str, object]]:
    return [{"key": key, "bytes": bytes, "kept": kept}]


def room(gigabytes: float) -> free.Room:
    return free.Room(1e9 * gigabytes, "the test")


def test_a_bound_names_the_keys_that_cause_it() -> None:
    text = (
        f'duration = "100s"\n{LINE}[flows.many]\ncount = 5000\n[record.fine]\nlink = "bottleneck"\nprobes = "queue"\n'
    )
    parts = _core.load(text + 'every = "1ms"\n', "toml", "test", [], False).memory
    assert [p["key"] for p in parts[:2]] == ["flows.many", "record.fine"]
    # 100,000 samples of 20 B, and rows of 56 B in two copies.
    fine = next(p for p in parts if p["key"] == "record.fine")
    assert 100_000 * 132 < fine["bytes"] < 100_000 * 250 and fine["kept"] == pytest.approx(100_001 * 56, rel=0.001)


@pytest.mark.parametrize("traffic", ["voice", "video", "telnet"])
def test_a_source_without_a_rate_has_an_end(traffic: str) -> None:
    text = f'duration = "60s"\n{LINE}[flows.x]\ncount = 3\ntraffic = "{traffic}"\n'
    assert total(text, "link.bottleneck.queue.buffer=unlimited") < 10e6


@pytest.mark.parametrize("transport", ["generic", "jacobson-karels", "decbit", "packet-pair", "tfrc"])
def test_windows_of_any_kind_are_read(transport: str) -> None:
    assert total(f'duration = "60s"\nmarking = true\n{LINE}[flows.x]\ntransport = "{transport}"\n') < 50e6


def test_check_stays_quick() -> None:
    s = load_scenario(EXAMPLES / "web.toml", [])
    began = time.process_time()
    for _ in range(20):
        assert s.memory
    assert time.process_time() - began < 0.2


def test_examples_are_small() -> None:
    for file in EXAMPLES.glob("*.toml"):
        assert memory.total(load_scenario(file, []).memory) < 20e6, file.name


@pytest.mark.slow
def test_every_point_of_every_study_stays_below_two_gigabytes() -> None:
    for name in study.known():
        for runs in study.load(name).runs.values():
            if runs.scenario is None:
                continue
            text = as_text(runs.scenario)
            for mode in ("quick", "full"):
                for p in runs.points(mode, None):
                    s = _core.load(*text, p.overrides, True)
                    assert memory.total(s.memory) < 2e9, (name, runs.name, p.labels, s.memory[:3])


def test_what_is_too_much_is_refused_with_its_keys(cli, tmp_path) -> None:
    file = tmp_path / "buckets.toml"
    file.write_text(BUCKETS)
    r = cli("run", file, "--memory", "1GB")
    assert r.returncode == 2 and r.stdout == ""
    assert "record.buckets (" in r.stderr and "1.0 GB are free (--memory)" in r.stderr and "--memory " in r.stderr
    r = cli("check", file, "--memory", "1GB")
    assert (r.returncode, r.stdout) == (0, "ok\n") and r.stderr.startswith("warning: the run may take")
    assert cli("run", file, "--memory", "much").returncode == 2


def test_a_limit_of_the_process_is_seen(cli, small) -> None:
    import resource
    import subprocess
    import sys

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (600_000_000, 600_000_000))

    many = ["--set", "flows.bulk.count=200000"]
    command = [sys.executable, "-m", "tailback", "run", small, "--jobs", "1"]
    r = subprocess.run([*command, *many], capture_output=True, text=True, preexec_fn=little)
    assert r.returncode == 2 and "flows.bulk (" in r.stderr and "ulimit -v" in r.stderr
    assert subprocess.run(command, capture_output=True, preexec_fn=little).returncode == 0


def test_runs_at_once_share_what_is_free() -> None:
    one = [(point(3 * 10**9), 10)]
    assert memory.too_much(one, 1, False, room(8)) is None
    assert memory.too_much(one, 2, False, room(8)) is None
    said = memory.too_much(one, 4, False, room(8))
    assert said is not None and "4 runs at once may take 12.0 GB" in said and "--jobs 2" in said
    alone = memory.too_much(one, 4, False, room(2))
    assert alone is not None and "--jobs" not in alone


def test_tables_that_stay_count_for_every_run() -> None:
    one = [(point(2 * 10**9, 10**9), 10)]
    assert memory.too_much(one, 1, False, room(8)) is None
    said = memory.too_much(one, 1, True, room(8))
    assert said is not None and "--out DIR" in said


def test_python_refuses_too() -> None:
    free.give(10**9)
    try:
        with pytest.raises(free.MemoryRefusal, match=r"record\.buckets"):
            tb.run(BUCKETS)
    finally:
        free.give(None)


@pytest.mark.parametrize("version", [1, 2])
def test_control_groups(version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    base = groups if version == 2 else groups / "memory"
    inner = base / "batch/job"
    inner.mkdir(parents=True)
    line = "0::/batch/job" if version == 2 else "5:cpu,memory:/batch/job"
    (proc / "self/cgroup").write_text(f"{line}\n")
    names = [("max", "current", "inactive_file"), ("limit_in_bytes", "usage_in_bytes", "total_inactive_file")][
        version % 2
    ]
    for folder, most, used in ((inner, "9000", 1000), (inner.parent, "5000", 2000)):
        (folder / f"memory.{names[0]}").write_text(most)
        (folder / f"memory.{names[1]}").write_text(str(used))
        (folder / "memory.stat").write_text(f"anon 1\n{names[2]} 500\n")
    monkeypatch.setattr(free, "PROC", proc)
    monkeypatch.setattr(free, "GROUPS", groups)
    # The group above is the narrower one.
    assert free.room().free == 5000 - 2000 + 500
    (proc / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:       3 kB\n")
    assert free.room() == free.Room(3072, "what is available on the machine")


def test_a_call_beside_transfers_is_compared(cli) -> None:
    r = cli(
        "compare", "--rate", "100Mbps", "--rtt", "30ms", "--traffic", "bulk,voice", "--queue", "droptail,codel",
        "--replications", "1", "--duration", "1s", "--memory", "400MB", "--jobs", "1",
    )  # fmt: skip
    assert r.returncode == 0, r.stderr


class Sampled:
    """A control of one's own that wants delivery rates."""

    wants_rate = True

    def __init__(self, rules: object) -> None:
        self.cwnd = 14_480.0

    def on_ack(self, ack: object) -> None:
        pass

    def on_congestion(self, sign: object) -> None:
        pass


class Plain(Sampled):
    """The same without them."""

    wants_rate = False


def test_a_control_that_keeps_records_is_promised_them() -> None:
    def promised(congestion: object) -> float:
        net = tb.dumbbell(flows=20, bottleneck="100Mbps", rtt="100ms", tcp={"congestion": congestion})
        return memory.total(net.set(duration="20s").load().memory)

    # HyStart++ measures round trips of single segments; what wants delivery rates records each segment, as BBR does.
    plain, records = promised("reno"), promised("bbr")
    assert promised(tb.congestion(Plain)) == plain < records
    assert promised({"kind": "reno", "hystart": True}) == promised(tb.congestion(Sampled)) == records
