"""Percentiles of the time in a queue, as a recording: the whole distribution that the table of links has three of."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import Cli

import tailback as tb

SCENARIO = """
duration = "6s"
warmup = "1s"
topology = {{ kind = "dumbbell", rate = "5Mbps", delay = "10ms", queue = {{ kind = "{queue}", buffer = "60KB" }} }}
[flows.bulk]
count = 4
rtt = ["40ms", "80ms"]
[record.waits]
link = "bottleneck"
probes = ["sojourn_percentiles"]
{when}
"""


@pytest.mark.parametrize("queue", ["droptail", "codel"])
def test_percentiles_are_those_of_the_table(queue: str) -> None:
    result = tb.run(SCENARIO.format(queue=queue, when='every = "5999999us"'))
    assert list(result.series["index"]) == list(range(101)) and set(result.series.to_list("probe")) == {
        "sojourn_percentiles"
    }
    waits = np.asarray(result.series["value"])
    line = result.links.where(name="bottleneck")[0]
    assert (np.diff(waits) >= 0).all() and waits[0] < waits[50]
    for percent, column in (
        (50, "sojourn_p50_s"),
        (95, "sojourn_p95_s"),
        (99, "sojourn_p99_s"),
        (100, "sojourn_max_s"),
    ):
        assert waits[percent] == pytest.approx(line[column], rel=1e-3), column
    # Means of quantiles are means of what they are of, to the width of a bin and of a percent.
    assert np.mean((waits[1:] + waits[:-1]) / 2) == pytest.approx(line["sojourn_mean_s"], rel=0.02)


def test_they_are_counted_from_the_warm_up_on_and_may_be_taken_at_a_step() -> None:
    series = tb.run(SCENARIO.format(queue="droptail", when='every = "2s"')).series
    times = np.asarray(series["time_s"])
    assert set(times) >= {2.0, 4.0} and all((times == t).sum() == 101 for t in (2.0, 4.0))


def test_on_change_is_refused(cli: Cli) -> None:
    file = cli.cwd / "lab.toml"
    file.write_text(SCENARIO.format(queue="droptail", when="on_change = true"))
    done = cli("run", file)
    said = "is sampled at an interval, not on change"
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
