"""The places in which the runs of a plan are simulated: this process, a shard of its folder, or the workers of dask.

In every place, or in several of them, the runs are stored in one folder. The finished tables have the same bytes,
because they are made from the stored runs when all runs are there.
"""

from __future__ import annotations

from typing import Any

from tailback import _core
from tailback.core.text import given
from tailback.runs.campaign.errand import Errand
from tailback.runs.campaign.shards import in_shard, shard_name, shard_runs


def check_shard(shard: Any) -> None:
    """Raises ValueError if there is no such shard."""
    if shard is not None:
        if len(shard) != 2 or any(not isinstance(n, int) for n in shard):
            raise ValueError(f"shard = {given.shown(shard)}; give (I, N) with I from 1 to N, such as (1, 4)")
        shard_name(shard)


def perform(
    plan: _core.Plan, errand: Errand, shard: tuple[int, int] | None = None, client: Any = None, **options: Any
) -> _core.Results:
    """Run one shard of a plan, or run the plan on the workers of a cluster or in this process."""
    if shard is not None:
        errand.announce(plan, shard_name(shard))
        return in_shard(plan, errand, shard, shard_runs(plan, shard))
    if client is not None:
        from tailback.runs.campaign.dask import on_dask

        on_dask(plan, errand, client)
    return errand.run(plan, **options)
