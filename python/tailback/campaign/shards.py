"""Where the runs of a plan are simulated: in this process, in a shard of its folder, or on the workers of dask.

Whatever is chosen, and in whatever mix, the runs are stored under one folder, and the finished tables have the same
bytes: they are made from the stored runs when all of them are there.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.campaign.memory import promise

#: Called with the state of a plan; stops it by returning False.
Tell = Callable[[dict[str, Any]], Any] | None
#: The shard in which the chunks are filed that come back from dask.
DASK = "dask"
#: A chunk whose worker died is sent again so often, beside what the scheduler does on its own.
AGAIN = 3
#: How often is looked whether workers are alive, and how long none may be at work before that is an error.
LOOK_S = 5
PATIENCE_S = 60
#: With fewer chunks for a shard, one may have much more to do than another.
FEW = 4


class MissingRuns(RuntimeError):
    """Shards are to be gathered, and some runs are not there."""


class WorkerError(RuntimeError):
    """A worker of dask that cannot do what it is asked for; the message says what to do."""


@dataclass
class Errand:
    """What it takes to run a plan into a folder."""

    dir: Path
    jobs: int
    tell: Tell
    #: Of the simulator, and of disciplines written in Python.
    build: str
    about: dict[str, Any]
    queues: dict[str, Callable[[], Any]]

    def keys(self, core: _core.Plan) -> list[str]:
        return [r["key"] for r in core.runs(self.build)]

    def stored(self, failed: bool = False) -> set[str]:
        """Keys of the runs that are in the folder, in any shard; with those that failed if `failed`."""
        return stored(self.dir, failed)

    def run(self, core: _core.Plan, *, dir: Path | None = None, **options: Any) -> _core.Results:
        """Run a plan in this process."""
        queues = self.queues or None
        where = dir or self.dir
        promise(core, self.jobs, where, self.build)
        return core.execute(where, self.jobs, self.tell, queues, self.build, about=json.dumps(self.about), **options)


def stored(dir: Path, failed: bool = False) -> set[str]:
    if not dir.is_dir():
        return set()
    return {r["key"] for r in _core.status(dir)["runs"] if r["stored"] or (failed and r["failed"])}


def shard_name(shard: tuple[int, int]) -> str:
    i, n = shard
    if not 1 <= i <= n:
        raise ValueError(f"there is no shard {i} of {n}; they count from 1/{n} to {n}/{n}")
    return f"{i}-of-{n}"


def shard_runs(core: _core.Plan, shard: tuple[int, int], by_point: bool = False) -> list[int]:
    """The positions of the runs of a shard: every n-th chunk, or run where there are few chunks; or every n-th point,
    so that a point's seeds stay together."""
    i, n = shard
    if by_point:
        return [at for at, r in enumerate(core.runs()) if r["point"] % n == i - 1]
    chunks = core.chunks()
    if len(chunks) < FEW * n:
        chunks = [[at] for at in range(len(core))]
    return [at for k, chunk in enumerate(chunks) if k % n == i - 1 for at in chunk]


def announce(core: _core.Plan, errand: Errand, shard: tuple[int, int]) -> None:
    """Say in the folder what plan its shards are of, for `tailback status`."""
    core.announce(errand.dir, shard_name(shard), errand.build, json.dumps(errand.about))


def in_shard(core: _core.Plan, errand: Errand, shard: tuple[int, int], mine: Sequence[int]) -> _core.Results:
    """Run some runs of a plan in the folder of a shard; those that are stored elsewhere in the folder are left out.

    Raises OSError while another process runs the same shard, or the whole plan.
    """
    name = shard_name(shard)
    own = errand.dir / "shards" / name
    keys = errand.keys(core)
    elsewhere = errand.stored() - stored(own)
    part = core.only([at for at in mine if keys[at] not in elsewhere])
    results = errand.run(part, dir=own, chunks=True, within=errand.dir)
    if results.store_error is not None:
        raise results.store_error
    return results


def check_all_there(core: _core.Plan, errand: Errand) -> None:
    """Raises MissingRuns, which says how many runs are missing and whose they are."""
    there = errand.stored(failed=True)
    missing = sum(key not in there for key in errand.keys(core))
    if not missing:
        return
    shards = _core.status(errand.dir)["shards"] if errand.dir.is_dir() else []
    said = "; ".join(
        f"{s['name'].replace('-of-', '/')} has {s['stored']} of {s['planned']}"
        + (f", process {s['in_use_by']} is at work" if s["in_use_by"] else "")
        for s in shards
    )
    raise MissingRuns(
        f"{missing} of {len(core)} runs are not stored in {errand.dir}"
        + (f" ({said})" if said else "")
        + "; run the shards that lack, or run the plan without --merge to do the rest here"
    )


# ------------------------------------------------------------------------------------------------------------ dask


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
    """Have a plan's chunks run by the workers of a cluster, and file what comes back in a shard of the folder."""
    if errand.queues:
        raise ValueError(
            f"the queue at {next(iter(errand.queues))} is written in Python, and is not sent to workers; run the plan "
            "in this process, or in shards"
        )
    keys = errand.keys(core)
    there = errand.stored()
    parcels = [(k, [at for at in c if keys[at] not in there]) for k, c in enumerate(core.chunks())]
    parcels = [(k, part) for k, part in parcels if part]
    if not parcels:
        return
    errand.dir.mkdir(parents=True, exist_ok=True)
    inbox = _core.Inbox(errand.dir, DASK)
    try:
        core.announce(errand.dir, DASK, errand.build, json.dumps(errand.about))
        work = core.work()
        of = [work[r["point"]] for r in core.runs()]
        todo = sum(len(part) for _, part in parcels)
        of_number = dict(parcels)
        state = _State(len(keys), len(keys) - todo, sum(of[at] for _, part in parcels for at in part))
        for k, chunks, costs, failed in _come_back(core, errand, client, parcels):
            for name, files in chunks:
                # Each worker numbers its chunks from 0; what is left of the name is the digest of its keys.
                inbox.add(f"{k:06}-{name.rpartition('-')[2]}", files, costs)
                costs = []
            part = of_number[k]
            state.ended(len(part), failed, sum(of[at] for at in part))
            if errand.tell is not None and errand.tell(state.report()) is False:
                raise KeyboardInterrupt
    finally:
        inbox.close()


#: Number of a chunk, its files by name of their folder, what its runs cost, and how many failed.
Back = tuple[int, list[tuple[str, list[tuple[str, bytes]]]], list[tuple[str, float, int, int]], int]


def _come_back(core: _core.Plan, errand: Errand, client: Any, parcels: list[tuple[int, list[int]]]) -> Iterator[Back]:
    """Send chunks to the workers, a few more than there are threads, and hand back what is finished."""
    from distributed import wait
    from distributed.scheduler import KilledWorker

    # Without workers nothing would ever be said.
    client.wait_for_workers(1, timeout=PATIENCE_S)
    threads = max(1, sum(client.nthreads().values()))
    waiting = iter(parcels)
    sent: dict[Any, tuple[int, list[int], int]] = {}

    def send(number: int, part: list[int], tries: int) -> None:
        future = client.submit(run_chunk, core.only(part), errand.build, pure=False, retries=0)
        sent[future] = (number, part, tries)

    def again(future: Any, why: BaseException | None) -> None:
        number, part, tries = sent.pop(future)
        if tries >= AGAIN:
            raise WorkerError(
                f"the workers that ran chunk {number} died {tries + 1} times over; look at their logs, or "
                "give them more memory"
            ) from why
        send(number, part, tries + 1)

    for _, (number, part) in zip(range(threads + 2), waiting, strict=False):
        send(number, part, 0)
    idle_since: float | None = None
    try:
        while sent:
            try:
                finished = wait(list(sent), timeout=LOOK_S, return_when="FIRST_COMPLETED").done
                idle_since = None
            except TimeoutError:
                at_work = any(client.processing().values())
                idle_since = None if at_work else (idle_since or time.monotonic())
                if idle_since is None or time.monotonic() - idle_since < PATIENCE_S:
                    continue
                if not client.nthreads():
                    raise WorkerError(
                        f"no worker of dask is left since {PATIENCE_S} s; start workers and run the plan again: what "
                        "is finished is stored"
                    ) from None
                # The scheduler has lost what died with its workers.
                idle_since = None
                client.cancel(list(sent))
                for future in list(sent):
                    again(future, None)
                continue
            for future in finished:
                try:
                    chunks, costs, failed = future.result()
                except (KilledWorker, CancelledError) as e:
                    again(future, e)
                    continue
                number, _, _ = sent.pop(future)
                following = next(waiting, None)
                if following is not None:
                    send(*following, 0)
                future.release()
                yield number, chunks, costs, failed
    finally:
        if sent:
            client.cancel(list(sent))


def run_chunk(part: _core.Plan, build: str) -> tuple[Any, Any, int]:
    """On a worker: run some runs on one thread; their chunks as files, what each cost, and how many failed."""
    from tailback.store import fingerprint

    if fingerprint.build() != build:
        raise WorkerError(
            f"a worker (process {os.getpid()} on {os.uname().nodename}) has another version of tailback; install the "
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


class _State:
    """How far the plan is, as progress is told; by the estimate of the runs' packets."""

    def __init__(self, total: int, reused: int, work: float) -> None:
        self.total, self.reused, self.done, self.failed = total, reused, reused, 0
        self.work, self.finished = work, 0.0
        self.started = time.monotonic()

    def ended(self, runs: int, failed: int, work: float) -> None:
        self.done, self.failed, self.finished = self.done + runs, self.failed + failed, self.finished + work

    def report(self) -> dict[str, Any]:
        share = self.finished / self.work if self.work else 1.0
        elapsed = time.monotonic() - self.started
        return {
            "total": self.total,
            "reused": self.reused,
            "done": self.done,
            "failed": self.failed,
            "share": share,
            "elapsed_s": elapsed,
            "remaining_s": elapsed * (1 - share) / share if share > 0 else math.nan,
        }
