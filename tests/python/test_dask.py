"""A plan on a cluster of worker processes: the same files and bytes, also when a worker is killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import SHORT
from test_sweep import SCENARIO, tables

import tailback as tb
from tailback import _core
from tailback.runs.campaign import dask as places

distributed = pytest.importorskip(
    "distributed", reason="dask.distributed is not installed: pip install 'tailback[dask]'"
)

pytestmark = pytest.mark.slow


def sweep(replications: int = 300, **table: Any) -> Any:
    buffer = {"paths": ["topology.queue.buffer"], "unit": "packets", "values": [20, 40]}
    return tb.load_sweep({"scenario": SHORT, "axis": {"buffer": buffer}, "replications": replications, **table})


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Three worker processes of one thread each."""
    made = distributed.LocalCluster(3, threads_per_worker=1, processes=True, dashboard_address=None)
    client = distributed.Client(made)
    yield client
    client.close()
    made.close()


def test_a_cluster_leaves_the_bytes_of_a_local_run(cluster: Any, tmp_path: Path) -> None:
    s = sweep()
    s.execute(tmp_path / "whole")
    told: list[dict[str, Any]] = []
    s.execute(tmp_path / "far", progress=told.append, client=cluster)
    assert tables(tmp_path / "far") == tables(tmp_path / "whole")
    far = [t for t in told if t["done"] > t["reused"]]
    assert len(far) > 5 and far[-1]["done"] == len(s) and far[-1]["share"] == pytest.approx(1)
    # A shard, some here, the rest on the cluster.
    s.execute(tmp_path / "mixed", shard=(1, 3))
    with pytest.raises(KeyboardInterrupt):
        s.execute(tmp_path / "mixed", client=cluster, progress=lambda t: t["done"] < 400)
    s.execute(tmp_path / "mixed", client=cluster)
    assert tables(tmp_path / "mixed") == tables(tmp_path / "whole")
    assert not (tmp_path / "mixed/shards").exists()


def test_a_fabric_on_a_cluster_leaves_the_bytes_of_a_local_run(cluster: Any, tmp_path: Path) -> None:
    net = tb.leaf_spine(2, 2, 2, rate="10Gbps", delay="1us", queue=tb.queue("droptail", buffer="100 packets"))
    net = net.set(paths="packet", duration="3ms").workload("w", sizes="web-search", load=0.6, connection="keep")
    plan = tb.Plan.product(net, {"workload.w.load": [0.3, 0.6]}, replications=4)
    plan.execute(tmp_path / "whole")
    plan.execute(tmp_path / "far", client=cluster)
    whole = tables(tmp_path / "whole")
    assert {"slowdowns.parquet", "layers.parquet"} <= whole.keys() and tables(tmp_path / "far") == whole


def test_a_worker_that_is_killed_loses_nothing(cluster: Any, tmp_path: Path) -> None:
    s = sweep(600)
    s.execute(tmp_path / "whole")
    victims = [w["pid"] for w in cluster.run(lambda: {"pid": os.getpid()}).values()]
    out = tmp_path / "far"

    def kill() -> None:
        while not list(out.glob("shards/dask/chunks/*")):
            time.sleep(0.01)
        os.kill(victims[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    s.execute(out, client=cluster)
    killer.join()
    assert tables(out) == tables(tmp_path / "whole")


def test_a_sweep_that_grows_grows_alike(cluster: Any, tmp_path: Path) -> None:
    where = {"name": "bottleneck"}
    stop = {"metric": "links.utilisation", "where": where, "relative": 0.01, "at_least": 3, "at_most": 20}
    queue = {"paths": ["topology.queue.kind"], "values": ["droptail", "red"]}
    s = tb.load_sweep({"scenario": SCENARIO, "axis": {"queue": queue}, "stop": stop})
    s.execute(tmp_path / "whole")
    s.execute(tmp_path / "far", client=cluster)
    assert tables(tmp_path / "far") == tables(tmp_path / "whole")
    assert s.execute(client=cluster) == s.execute()


def test_what_cannot_be_done_far_away_is_said(cluster: Any, tmp_path: Path) -> None:
    class Mine:
        pass

    net = tb.dumbbell(flows=1, bottleneck="1Mbps", rtt="10ms", queue=Mine).set(duration="1s")
    with pytest.raises(ValueError, match="queue at bottleneck is written in Python"):
        tb.Plan.product(net, {"link.bottleneck.rate": ["1Mbps"]}).execute(tmp_path / "a", client=cluster)
    far = cluster.submit(places.run_chunk, sweep(1).plan()._core, "another version", pure=False)
    with pytest.raises(places.WorkerError, match="another version of tailback; install the same"):
        far.result()
    with pytest.raises(places.WorkerError, match=r"no scheduler of dask answers at tcp://127\.0\.0\.1:9"):
        places.client_of("tcp://127.0.0.1:9")
    inbox = _core.Inbox(tmp_path / "b", "dask")
    with pytest.raises(OSError, match="shards/dask is in use by process"):
        sweep(1).execute(tmp_path / "b", client=cluster)
    inbox.close()
    with pytest.raises(OSError, match="came back damaged"):
        inbox = _core.Inbox(tmp_path / "b", "dask")
        inbox.add("000000-x", [("runs.parquet", b"PAR1")], [])
