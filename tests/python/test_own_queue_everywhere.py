"""A discipline of one's own, `FILE.py:CLASS`, goes where a control goes: run, sweep, compare, conform."""

from __future__ import annotations

from pathlib import Path

import pytest

import tailback as tb

CLASS = '''
import collections

class Half:
    """Drops every second packet while 50 wait."""
    probes = {"mean": "packets"}

    def __init__(self):
        self.stored, self.mean, self.odd = collections.deque(), 0.0, False

    def enqueue(self, packet, line, out):
        self.mean += 0.01 * (len(self.stored) - self.mean)
        self.odd = not self.odd
        if len(self.stored) >= 100 or len(self.stored) > 50 and self.odd:
            out.dropped(packet, "arriving", "early")
        else:
            self.stored.append(packet)

    def dequeue(self, line, out):
        return self.stored.popleft() if self.stored else None
'''
SCENARIO = """
duration = "3s"
topology = { kind = "dumbbell", rate = "10Mbps", delay = "20ms", queue = "mine.py:Half" }
[flows.bulk]
count = 2
[record.m]
link = "bottleneck"
probes = ["queue", "mean"]
every = "50ms"
"""
SWEEP = """
scenario = "s.toml"
[axis.queue]
paths = ["topology.queue"]
values = ["codel", "mine.py:Half"]
"""


@pytest.fixture
def own(cli):
    (cli.cwd / "mine.py").write_text(CLASS)
    (cli.cwd / "s.toml").write_text(SCENARIO)
    return cli


def test_a_scenario_names_it_and_its_probes_are_recorded(own) -> None:
    assert own("check", "s.toml").returncode == 0
    r = own("run", "s.toml", "--out", "o")
    assert r.returncode == 0 and "bottleneck" in r.stdout, r.stderr
    r = own("plot", "o", "mean[bottleneck]", "--to", "m.svg")
    assert r.returncode == 0 and "mean" in (own.cwd / "m.svg").read_text()
    # Stored runs are those of the file as it is.
    assert "2 of them" not in own("run", "s.toml", "--out", "o").stdout
    assert own("run", "s.toml", "--set", "topology.queue=codel", "--set", "record={}").returncode == 0


def test_a_sweep_has_it_beside_others(own) -> None:
    (own.cwd / "sweep.toml").write_text(SWEEP)
    (own.cwd / "s.toml").write_text(SCENARIO.partition("[record.m]")[0])
    r = own("sweep", "sweep.toml", "--out", "o")
    assert r.returncode == 0 and "2 points, 2 runs" in r.stdout, r.stderr
    drops = tb.read_results(own.cwd / "o").links.where(name="bottleneck")
    assert drops["dropped_packets"][1] > 0 and drops.to_list("queue") == ["codel", "mine.py:Half"]


def test_compare_and_conform_take_it(own) -> None:
    words = ["--rate", "10Mbps", "--rtt", "40ms", "--traffic", "bulk", "--replications", "2", "--duration", "6s"]
    r = own("compare", "--queue", "mine.py:Half,codel", *words)
    assert r.returncode == 0 and "Half" in r.stdout and "Linux has no such discipline" in r.stdout, r.stderr


@pytest.mark.slow
def test_the_guidelines_of_rfc_7928(own) -> None:
    r = own("conform", "--queue", "mine.py:Half")
    assert r.returncode == 0 and r.stdout.count("mine.py:Half") > 10, r.stderr


def test_what_is_not_there_is_said(own) -> None:
    for name, word in (("mine.py:Nope", "its classes are Half"), ("none.py:Half", "there is no file none.py")):
        r = own("run", "s.toml", "--set", f"topology.queue={name}")
        assert r.returncode == 2 and word in r.stderr and "Traceback" not in r.stderr, r.stderr
    (own.cwd / "mine.py").write_text(CLASS.replace("self.stored.popleft()", "nothing()"))
    r = own("run", "s.toml")
    assert r.returncode == 1 and "NameError" in r.stderr and "Traceback" not in r.stderr


def test_compare_queues_takes_the_class(tmp_path: Path) -> None:
    space: dict = {"__name__": "own_queue"}
    exec(CLASS, space)
    given = {"rate": "10Mbps", "rtt": "40ms", "flows": 2, "traffic": ["bulk"], "replications": 2, "duration": "6s"}
    answer = tb.compare_queues(queues=["codel", space["Half"]], **given)
    assert sorted(row["queue"] for row in answer.to_dict()["ranking"]) == ["Half", "codel"]
