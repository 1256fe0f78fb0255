"""Stored results, read back as tables."""

from __future__ import annotations

import os
from pathlib import Path

from tailback import _core
from tailback.core.text.arguments import checked


@checked
def read_results(dir: str | os.PathLike[str]) -> _core.Results:
    """Read the stored tables of a finished plan. Raises OSError for a folder without stored tables.

    >>> lab = tb.load_scenario(tb.dumbbell(flows=2, queue="codel"), ["duration=2s"])
    >>> done = tb.Plan.product(lab, {"link.bottleneck.rate": ["5Mbps", "10Mbps"]}).execute("out/rates")
    >>> len(tb.read_results("out/rates").runs)
    2
    """
    return _core.read_results(dir)


@checked
def read_parquet(path: str | os.PathLike[str]) -> _core.Table:
    """Read one Parquet file that tailback wrote. Raises OSError for a file that is not there or is damaged.

    >>> tb.dumbbell(flows=2, queue="codel").run(duration="2s").save("out/mine")
    >>> tb.read_parquet("out/mine/flows.parquet").name
    'flows'
    """
    if not Path(path).exists():
        raise FileNotFoundError(f"{os.fspath(path)}: there is no such file; name a Parquet file that tailback wrote")
    return _core.read_parquet(path)
