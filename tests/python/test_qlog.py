"""`tailback export DIR series --flow F --to FILE.sqlog`: the file that the Rust test reads with the crate `qlog`."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from tailback.core.results.qlog import qlog

ROOT = Path(__file__).resolve().parents[2]
#: What crates/tailback-capture/tests/qlog.rs reads.
FILE = ROOT / "crates/tailback-capture/tests/flow.sqlog"
SCENARIO = """\
name = "flow"
duration = "4s"
marking = false
log_drops = true

[link.bottleneck]
from = "left"
to = "right"
rate = "4Mbps"
delay = "10ms"
queue = { kind = "droptail", buffer = "15 packets" }

[flows.bulk]
count = 2
rtt = "60ms"

[record.windows]
flows = "bulk"
probes = ["cwnd", "ssthresh", "srtt", "rttvar", "rto", "outstanding", "phase", "backoff", "dupacks"]
every = "100ms"
"""


def exported(cli, folder: Path) -> str:
    (folder / "flow.toml").write_text(SCENARIO)
    done = cli("run", folder / "flow.toml", "--out", folder / "flow")
    assert done.returncode == 0, done.stderr
    done = cli("export", folder / "flow", "series", "--flow", "bulk.0", "--to", folder / "flow.sqlog")
    assert done.returncode == 0, done.stderr
    return (folder / "flow.sqlog").read_text(encoding="utf-8")


def test_the_file_is_the_one_that_the_crate_reads(cli, tmp_path: Path) -> None:
    assert exported(cli, tmp_path) == FILE.read_text(encoding="utf-8")


def test_events_have_what_has_changed(cli, tmp_path: Path) -> None:
    head, *events = [json.loads(r) for r in exported(cli, tmp_path).split("\x1e")[1:]]
    assert head["trace"]["vantage_point"] == {"name": "bulk.0", "type": "client"}
    assert [e["time"] for e in events] == sorted(e["time"] for e in events)
    said: dict[str, float] = {}
    for e in (e for e in events if e["name"] == "quic:recovery_metrics_updated"):
        assert all(said.get(k) != v for k, v in e["data"].items())
        said |= e["data"]
    states = [e["data"] for e in events if e["name"] == "quic:congestion_state_updated"]
    assert all(b["old"] == a["new"] for a, b in pairwise(states))


def test_a_kernel_without_a_threshold_has_none() -> None:
    rows = [
        {"what": "flows.a.0", "probe": p, "time_s": 0.0, "value": v} for p, v in (("cwnd", 10), ("ssthresh", 2**31 - 1))
    ]
    _, metrics, state = (json.loads(r[1:]) for r in qlog(iter(rows), iter([]), "a.0", 1000, "a"))
    assert metrics["data"] == {"congestion_window": 10_000} and state["data"] == {"new": "slow_start"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("flows", "--flow", "bulk.0", "--to", "x.sqlog"), "qlog has the series of a flow"),
        (("series", "--to", "x.sqlog"), "qlog has the series of a flow"),
        (("series", "--flow", "bulk.0", "--to", "x.csv"), "qlog has the series of a flow"),
        (("series", "--flow", "bulk.7", "--to", "x.sqlog"), "the results have no windows of bulk.7; record them"),
        (("series", "--flow", "bluk.0", "--to", "x.sqlog"), "there is no group of 'bluk.0'; give one of bulk"),
        (("series", "--flow", "bulk.0", "--seed", "7", "--to", "x.sqlog"), "there are the seeds 1"),
    ],
)
def test_wrong_input_is_said(cli, tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    exported(cli, tmp_path)
    done = cli("export", tmp_path / "flow", *words)
    assert done.returncode == 2 and says in done.stderr, done.stderr
