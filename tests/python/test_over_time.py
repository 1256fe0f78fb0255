"""Groups against time, functions over rows and over time, metrics of one's own, one flow of a group."""

from __future__ import annotations

import numpy as np
import pytest

import tailback as tb
from tailback.core.results.measured import measure
from tailback.show import plots


@pytest.fixture(scope="module")
def swept():
    bbr = {"bbr": {"count": 2, "tcp": {"congestion": "bbr"}}, "cubic": {}}
    net = tb.dumbbell(bottleneck="20Mbps", rtt="20ms", queue="codel", flows=bbr)
    net.set(duration="4s", interval="500ms").record(flows="bbr.1", probes=["cwnd"], every="100ms")
    return tb.Plan.product(net, {"rate": ("topology.rate", ["10Mbps", "20Mbps"])}, replications=2).execute()


def test_a_sum_over_flows_is_not_a_sum_over_time(swept) -> None:
    """It was 720 to 840 Mb/s on a line of 20."""
    over_time = measure(swept, "sum(intervals.goodput_bps[group=bbr])").values()
    assert over_time == pytest.approx(measure(swept, "bbr").values())
    assert (over_time < 20e6).all()


def test_a_group_has_what_its_flows_have_in_each_interval(swept) -> None:
    flows, groups = swept.intervals, swept.group_intervals
    assert len(groups) == 2 * 8 * 4
    for row in list(groups.rows())[::5]:
        mine = flows.where(run=row["run"], group=row["group"], from_s=row["from_s"])
        assert float(np.sum(mine["goodput_bps"])) == pytest.approx(row["goodput_bps"])


def test_quantiles_are_over_the_rows_of_a_run(swept) -> None:
    first = np.asarray(swept.flows.where(run=0)["goodput_bps"])
    assert measure(swept, "median(flows.goodput_bps)").values()[0] == np.median(first)
    assert measure(swept, "p95(flows.goodput_bps)").values()[0] == np.quantile(first, 0.95)


def test_a_metric_of_ones_own_is_drawn(swept) -> None:
    def fastest_flow(run) -> float:
        return float(np.max(run.flows["goodput_bps"]))

    fastest_flow.unit = "bit/s"
    figure = plots.over(swept, fastest_flow, "rate")
    assert figure.axes[0].get_ylabel() == "fastest flow (Mb/s)"
    assert measure(swept, fastest_flow).values() == pytest.approx(measure(swept, "max(flows.goodput_bps)").values())


def test_goodput_against_time_has_a_band_for_each_group(swept) -> None:
    figure = plots.plot(swept, "goodput-over-time", rate="10Mbps")
    axes = figure.axes[0]
    assert axes.get_ylabel() == "goodput (Mb/s)" and len(axes.get_lines()) == 2
    with pytest.raises(ValueError, match='add to the scenario, for example: interval = "500ms"'):
        plots.plot(tb.dumbbell().run(duration="1s"), "goodput-over-time")


def test_one_flow_is_recorded_and_drawn(swept) -> None:
    assert set(swept.series.to_list("what")) == {"flows.bbr.1"}
    assert plots.plot(swept, "cwnd[bbr.1]").axes[0].get_ylabel().startswith("cwnd")
    with pytest.raises(tb.ScenarioError, match=r"(?s)bbr has no flow 2.*give bbr\.0 to bbr\.1"):
        net = tb.dumbbell(flows={"bbr": {"count": 2}}).set(duration="1s")
        net.record(flows="bbr.2", probes=["cwnd"], every="1s").run()


def test_bars_have_the_colour_of_their_group(swept) -> None:
    figure = plots.plot(swept, "goodput", rate="10Mbps")
    assert [t.get_text() for t in figure.legends[0].get_texts()][:2] == ["bbr", "cubic"]


def test_a_difference_that_is_the_same_in_all_seeds_counts() -> None:
    """Late packets 0 % and 100 % both got the star."""
    from tailback.apps.ask.ranking import _difference

    class Late:
        name, better = "late", "less"

    found = _difference(Late(), {"a": [0.0] * 5, "b": [1.0] * 5}, "a", "b", 0.01)
    assert (found.better, found.half_width) == ("a", 0.0)
    assert _difference(Late(), {"a": [0.5] * 5, "b": [0.5] * 5}, "a", "b", 0.0).better == ""
    assert _difference(Late(), {"a": [0.0], "b": [1.0]}, "a", "b", 0.0).better == ""
