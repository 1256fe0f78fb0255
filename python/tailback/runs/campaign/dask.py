"""Runs chunks of a plan on the workers of a cluster, and stores them in a shard of the plan's folder."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.core.store import fingerprint
from tailback.core.store.keys import stored
from tailback.core.text.given import shown
from tailback.runs.campaign.errand import Errand
from tailback.runs.campaign.progress import HowFar

#: The shard in which the chunks from dask are stored.
DASK = "dask"
#: The number of times that a chunk is sent again after its worker died, in addition to the scheduler's own attempts.
AGAIN = 3
#: The interval between checks whether workers are alive, and the longest time without a working worker before an error.
LOOK_S = 5
PATIENCE_S = 60


class WorkerError(RuntimeError):
    """A worker of dask that cannot do its task. The message gives the remedy."""


def client_of(address: str) -> Any:
    """A client of the scheduler at an address, such as tcp://10.0.0.1:8786."""
    try:
        from distributed import Client
    except ImportError as e:
        raise ImportError(
            "this needs dask.distributed, which is not installed; `pip install 'tailback[dask]'` adds it"
        ) from e
    try:
        return Client(address, timeout="10s")
    except (OSError, ValueError) as e:
        raise WorkerError(f"no scheduler of dask answers at {address}: {e}; write it as tcp://HOST:8786") from e


def on_dask(core: _core.Plan, errand: Errand, client: Any) -> None:
    """Run a plan's chunks on the workers of a cluster, and store the results in a shard of the folder."""
    if errand.queues:
        raise ValueError(
            f"the queue at {next(iter(errand.queues))} is written in Python, and is not sent to workers; run the plan "
            "in this process, or in shards"
        )
    if core.controls():
        raise ValueError(
            f"the congestion control {core.controls()[0]} is written in Python, and is not sent to workers; run "
            "the plan in this process, or in shards"
        )
    if not hasattr(client, "wait_for_workers"):
        raise ValueError(f"client = {shown(client)}; give a client of dask: distributed.Client(ADDRESS)")
    keys = errand.keys(core)
    stored_keys = stored(errand.folder)
    parcels = [(k, [at for at in c if keys[at] not in stored_keys]) for k, c in enumerate(core.chunks())]
    parcels = [(k, part) for k, part in parcels if part]
    if not parcels:
        return
    errand.folder.mkdir(parents=True, exist_ok=True)
    inbox = _core.Inbox(errand.folder, DASK)
    try:
        errand.announce(core, DASK)
        work = core.work()
        work_of_run = [work[r["point"]] for r in core.runs()]
        todo = sum(len(part) for _, part in parcels)
        of_number = dict(parcels)
        state = HowFar(
            errand.tell, len(keys), len(keys) - todo, sum(work_of_run[at] for _, part in parcels for at in part)
        )
        for k, chunks, costs, failed_count in _come_back(core, errand, client, parcels):
            for name, files in chunks:
                # Each worker numbers its chunks from 0. The rest of the name is the digest of the chunk's keys.
                inbox.add(f"{k:06}-{name.rpartition('-')[2]}", files, costs)
                costs = []
            part = of_number[k]
            if not state.ended(sum(work_of_run[at] for at in part), len(part), failed_count):
                raise KeyboardInterrupt
    finally:
        inbox.close()


#: The number of a chunk, its files by the name of their folder, the cost of its runs, and the number of failed runs.
Back = tuple[int, list[tuple[str, list[tuple[str, bytes]]]], list[tuple[str, float, int, int]], int]


def _come_back(core: _core.Plan, errand: Errand, client: Any, parcels: list[tuple[int, list[int]]]) -> Iterator[Back]:
    """Send chunks to the workers, a few more than there are threads, and yield the finished ones."""
    from distributed import wait
    from distributed.scheduler import KilledWorker

    # Without workers this function would wait forever without a message.
    client.wait_for_workers(1, timeout=PATIENCE_S)
    threads = max(1, sum(client.nthreads().values()))
    parcels_left = iter(parcels)
    parcels_sent: dict[Any, tuple[int, list[int], int]] = {}

    def send(number: int, part: list[int], tries: int) -> None:
        future = client.submit(run_chunk, core.only(part), errand.build, pure=False, retries=0)
        parcels_sent[future] = (number, part, tries)

    def again(future: Any, why: BaseException | None) -> None:
        number, part, tries = parcels_sent.pop(future)
        if tries >= AGAIN:
            raise WorkerError(
                f"the workers that ran chunk {number} died {tries + 1} times; look at their logs, or give them more "
                "memory"
            ) from why
        send(number, part, tries + 1)

    for _, (chunk_number, chunk_runs) in zip(range(threads + 2), parcels_left, strict=False):
        send(chunk_number, chunk_runs, 0)
    idle_since: float | None = None
    try:
        while parcels_sent:
            try:
                futures = wait(list(parcels_sent), timeout=LOOK_S, return_when="FIRST_COMPLETED").done
                idle_since = None
            except TimeoutError:
                at_work = any(client.processing().values())
                idle_since = None if at_work else (idle_since or time.monotonic())
                if idle_since is None or time.monotonic() - idle_since < PATIENCE_S:
                    continue
                if not client.nthreads():
                    raise WorkerError(
                        f"there has been no worker of dask for {PATIENCE_S} s; start workers and run the plan again: "
                        "what is finished is stored"
                    ) from None
                # The scheduler has lost the chunks that were on dead workers.
                idle_since = None
                client.cancel(list(parcels_sent))
                for future in list(parcels_sent):
                    again(future, None)
                continue
            for future in futures:
                try:
                    chunks, costs, failed_count = future.result()
                except (KilledWorker, CancelledError) as e:
                    again(future, e)
                    continue
                chunk_number, _, _ = parcels_sent.pop(future)
                following = next(parcels_left, None)
                if following is not None:
                    send(*following, 0)
                future.release()
                yield chunk_number, chunks, costs, failed_count
    finally:
        if parcels_sent:
            client.cancel(list(parcels_sent))


def run_chunk(part: _core.Plan, build: str) -> tuple[Any, Any, int]:
    """Run some runs on one thread of a worker. Returns their chunks as files, the cost of each run, and the number of
    failed runs."""
    if fingerprint.build() != build:
        raise WorkerError(
            f"a worker (process {os.getpid()} on {platform.node()}) has another version of tailback; install the "
            "same one there"
        )
    with tempfile.TemporaryDirectory(prefix="tailback-") as d:
        results = part.execute(d, 1, None, None, build, chunks=True)
        if results.store_error is not None:
            raise results.store_error
        folders = sorted(Path(d, "chunks").iterdir())
        chunks = [(f.name, [(p.name, p.read_bytes()) for p in sorted(f.iterdir())]) for f in folders]
        keys = [r["key"] for r in part.runs(build)]
        spent = [(r["cpu_s"], r["packet_hops"], r["events"]) for r in results.reports]
        return chunks, [(k, *s) for k, s in zip(keys, spent, strict=True)], results.report["failed"]
