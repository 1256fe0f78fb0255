"""Shards: parts of a plan that may run on any machine, each in a separate folder inside the plan's folder, and are
gathered."""

from __future__ import annotations

from collections.abc import Sequence

from tailback import _core
from tailback.core.store.keys import stored
from tailback.runs.campaign.errand import Errand

#: The fewest chunks for a shard. With fewer, one shard may have much more work than another.
FEW = 4


class MissingRuns(RuntimeError):
    """The error if shards are gathered and some runs are missing."""


def shard_name(shard: tuple[int, int]) -> str:
    i, n = shard
    if not 1 <= i <= n:
        raise ValueError(f"there is no shard {i} of {n}; they count from 1/{n} to {n}/{n}")
    return f"{i}-of-{n}"


def shard_runs(core: _core.Plan, shard: tuple[int, int], by_point: bool = False) -> list[int]:
    """The positions of the runs of a shard: every n-th chunk, or every n-th run if there are few chunks. With
    `by_point` it is every n-th point, so that a point's seeds stay together."""
    shard_number, shard_count = shard
    if by_point:
        return [at for at, r in enumerate(core.runs()) if r["point"] % shard_count == shard_number - 1]
    chunks = core.chunks()
    if len(chunks) < FEW * shard_count:
        chunks = [[at] for at in range(len(core))]
    return [at for k, chunk in enumerate(chunks) if k % shard_count == shard_number - 1 for at in chunk]


def in_shard(core: _core.Plan, errand: Errand, shard: tuple[int, int], mine: Sequence[int]) -> _core.Results:
    """Run some runs of a plan in the folder of a shard. Runs that are stored elsewhere in the plan's folder are left
    out.

    Raises OSError while another process runs the same shard, or the whole plan.
    """
    name = shard_name(shard)
    shard_folder = errand.folder / "shards" / name
    keys = errand.keys(core)
    elsewhere = stored(errand.folder) - stored(shard_folder)
    part = core.only([at for at in mine if keys[at] not in elsewhere])
    results = errand.run(part, dir=shard_folder, chunks=True, within=errand.folder)
    if results.store_error is not None:
        raise results.store_error
    return results


def check_all_there(core: _core.Plan, errand: Errand) -> None:
    """Raises MissingRuns, which names the number of missing runs and their shards."""
    stored_keys = stored(errand.folder, failed=True)
    missing_count = sum(key not in stored_keys for key in errand.keys(core))
    if not missing_count:
        return
    shards = _core.status(errand.folder)["shards"] if errand.folder.is_dir() else []
    states = "; ".join(
        f"{s['name'].replace('-of-', '/')} has {s['stored']} of {s['planned']}"
        + (f", process {s['in_use_by']} is at work" if s["in_use_by"] else "")
        for s in shards
    )
    raise MissingRuns(
        f"{missing_count} of {len(core)} runs are not stored in {errand.folder}"
        + (f" ({states})" if states else "")
        + "; run the missing shards, or run the plan without --merge to do the rest here"
    )
