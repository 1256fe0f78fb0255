"""RED's equilibrium and the square-root law, against themselves and against runs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import tailback as tb
from tailback.cli import cli
from tailback.core.theory.predict import PredictError
from tailback.core.theory.steady import Ramp, red_equilibrium, square_root, with_timeouts

PACKETS_PER_S = 10e6 / 8 / 1500
LINK = ["--rate", "10Mbps", "--rtt", "100ms", "--min-threshold", "20 packets"]


def predicted(*args: str) -> dict:
    r = CliRunner().invoke(cli, ["predict", *args, "--json"])
    assert r.exit_code == 0, r.output
    return json.loads(r.stdout)


def test_the_laws_at_values_that_can_be_done_by_hand():
    # sqrt(3/2 / 0.015) = 10 packets a round trip; half as many ACKs, sqrt(2) less.
    assert square_root(0.015, 0.1) == pytest.approx(100)
    assert square_root(0.015, 0.1, acked=2) == pytest.approx(100 / np.sqrt(2))
    # RFC 5348: without a timeout it is the square-root law.
    assert with_timeouts(0.015, 0.1, timeout_s=0) == pytest.approx(100)
    assert with_timeouts(0.24, 1, timeout_s=1) == pytest.approx(1 / (0.4 + 3 * 0.3 * 0.24 * (1 + 32 * 0.24**2)))


@pytest.mark.parametrize("gentle", [True, False])
@pytest.mark.parametrize("spacing", ["geometric", "uniform", "wait"])
@pytest.mark.parametrize("flows", [1, 7, 30, 90])
def test_an_equilibrium_fills_the_line(flows, spacing, gentle):
    ramp = Ramp(10, 30, 0.1, gentle, spacing)
    e = red_equilibrium(flows, PACKETS_PER_S, 0.1, ramp)
    assert e.signalled == pytest.approx(min(1, 1.5 / e.window**2), rel=1e-6)
    assert e.window * flows == pytest.approx(PACKETS_PER_S * e.rtt_s)
    assert (e.region == "beyond") == (e.average == pytest.approx(ramp.end))
    if e.region != "beyond":
        assert flows * square_root(ramp.signalled(e.average), e.rtt_s) == pytest.approx(PACKETS_PER_S)


@pytest.mark.parametrize("spacing", ["geometric", "uniform", "wait"])
@pytest.mark.parametrize("average", [40, 65, 100])
def test_the_share_of_signals_is_that_of_the_queue(spacing, average):
    """An average that stands still: RED signals the share that the ramp gives, on its second part too."""
    how = {"geometric": {"spread": False}, "uniform": {"wait": False}, "wait": {}}[spacing]
    red = tb.queue(
        "red",
        weight=0,
        initial_average=f"{average} packets",
        min_threshold="20 packets",
        max_threshold="60 packets",
        **how,
    )
    net = tb.dumbbell(flows=1, bottleneck="10Mbps", rtt="100ms", queue=red)
    net.flows("bulk", transport="udp", traffic={"kind": "cbr", "rate": "9Mbps"})
    result = net.run(duration="120s", seed=1)
    (sent,), (lost,) = result.flows["sent_packets"], result.flows["dropped_packets"]
    expected = Ramp(20, 60, 0.1, True, spacing).signalled(average)
    assert lost / sent == pytest.approx(expected, abs=4 * np.sqrt(expected / sent))


@pytest.mark.parametrize("flows", [10, 20])
def test_runs_settle_where_the_model_says(flows):
    """Within a fifth, over seeds; with marks, since repairs and timeouts are not in the model."""
    red = tb.queue(
        "red",
        buffer="400 packets",
        min_threshold="20 packets",
        max_threshold="60 packets",
        ecn=True,
        mark_above_max=True,
        mark_cap=1.0,
    )
    net = tb.dumbbell(flows=flows, bottleneck="10Mbps", rtt="100ms", queue=red)
    net.flows("bulk", start={"kind": "uniform", "to": "2s"}, tcp={"delayed_ack": 1})
    net.record(link="bottleneck", probes=["average"], every="50ms")
    series = net.run(duration="60s", seed=1, replications=3).series
    late = series["value"][series["time_s"] > 20]
    found = predicted(
        "red", "--flows", str(flows), "--rate", "10Mbps", "--rtt", "100ms", "--min-threshold", "20 packets"
    )
    assert late.mean() == pytest.approx(found["rows"][0]["average"], rel=0.2)


def test_what_does_not_hold_is_said():
    words = ["predict", "red", "--flows", "400", *LINK]
    said = CliRunner().invoke(cli, words).stdout
    assert "the average swings around its end" in said and "timeouts" in said
    few = CliRunner().invoke(cli, ["predict", "red", "--flows", "10", *words[4:]]).stdout
    assert "swings" not in few and "timeouts" not in few


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["tcp", "--loss", "2", "--rtt", "1s"], "a loss probability of 2"),
        (["tcp", "--loss", "much", "--rtt", "1s"], "much is not a probability; write one such as 0.01 or 1%"),
        (["tcp", "--loss", "1%", "--rtt", "0s"], "a round trip above zero"),
        (["red", "--flows", "3", *LINK, "--min-threshold", "unlimited"], "packets or bytes"),
        (["red", "--flows", "3", *LINK, "--max-threshold", "9KB"], "the second must be larger"),
    ],
)
def test_wrong_options_are_refused(args, says):
    r = CliRunner().invoke(cli, ["predict", *args])
    assert r.exit_code == 2 and says in " ".join(r.output.split())


def test_a_model_refuses_what_it_cannot_take():
    for wrong in (lambda: Ramp(5, 4), lambda: Ramp(5, 6, 0), lambda: red_equilibrium(0, 1, 1, Ramp(1, 2))):
        with pytest.raises(PredictError):
            wrong()
