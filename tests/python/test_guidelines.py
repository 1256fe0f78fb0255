"""REDn's guidelines and the reference allocation against the worked examples of their source, and the command line."""

import json
from fractions import Fraction

import pytest
from click.testing import CliRunner

from tailback.cli import cli
from tailback.core.theory.allocation import Demand, Share, allocate
from tailback.core.theory.predict import PredictError
from tailback.core.theory.redn import Client, guidelines, tolerable_loss

MEGA = 10**6


@pytest.mark.parametrize(
    ("tenths_of_mbps", "high", "middle", "low"),
    [(2016, 2520, 378, 189), (2736, 3420, 513, 256), (4032, 5040, 756, 378)],
)
def test_thresholds_of_the_worked_examples(tenths_of_mbps, high, middle, low):
    g = guidelines(rate=Fraction(tenths_of_mbps * MEGA, 10))
    assert (g.max_threshold, g.middle_threshold, g.min_threshold, g.queue_threshold) == (high, middle, low, low)
    assert g.buffer_above_packets == 2 * high and not g.warnings


def test_the_rate_is_that_of_the_promises_with_headroom():
    clients = [
        Client(Fraction(r * MEGA), Fraction(t, 1000)) for r in (1, 3, 10) for t in (30, 60, 70, 120, 160, 200)
    ] * 2
    g = guidelines(clients)
    assert g.rate_bps == Fraction(2016 * MEGA, 10)
    assert (g.max_threshold, g.middle_threshold, g.min_threshold) == (2520, 378, 189)
    assert g.time_constant == 500 and g.weight == pytest.approx(0.001998, abs=5e-7)
    assert set(g.peak_rates_bps) == {2 * MEGA, 6 * MEGA, 20 * MEGA}


def test_warnings_of_what_is_outside_the_advice():
    def said(**more):
        return " ".join(guidelines(**{"rate": Fraction(2016 * MEGA, 10), **more}).warnings)

    assert "above 0.1" in said(probability=Fraction(2, 10))
    assert "not below half" in said(delay=Fraction(60, 1000))
    assert "below 5 packets" in said(rate=Fraction(4 * MEGA))
    assert "outside 0.0001" in said(clients=[Client(Fraction(10**9), Fraction(1, 5))])
    assert "first window" in said(min_depth=3)


def test_the_loss_a_flow_can_bear():
    client = Client(Fraction(10 * MEGA), Fraction(200, 1000))  # 250 packets
    assert tolerable_loss(client) == Fraction(3, 2) / 250**2
    assert tolerable_loss(client, delayed_acks=True) == Fraction(3, 4) / 250**2
    assert tolerable_loss(Client(Fraction(8000), Fraction(1, 10))) == 1


#: Rates at which twelve flows of each promised rate share 201.6 Mb/s.
TABLE = [
    ((1, 3, 10), {1: 1, 3: 3, 10: 10}),
    ((1, 3), {1: 5, 3: 9}),
    ((1, 3, 5, 10), {1: 1, 3: 3, 5: 5, 10: 5}),
]


def flows_of(rates, each, path):
    return {
        f"{path[-1]}.{len(path)}.{r}.{i}": Demand(path, Fraction(r * MEGA), Fraction(2 * r * MEGA))
        for r in rates
        for i in range(each)
    }


@pytest.mark.parametrize(("rates", "expected"), TABLE)
def test_the_published_table_of_one_bottleneck(rates, expected):
    shares = allocate({"line": Fraction(2016 * MEGA, 10)}, flows_of(rates, 12, ("line",)))
    for name, share in shares.items():
        assert share.total == expected[int(name.split(".")[2])] * MEGA, name


@pytest.mark.parametrize(("rates", "expected"), TABLE)
def test_the_published_table_of_two_bottlenecks(rates, expected):
    links = {"first": Fraction(2016 * MEGA, 10), "second": Fraction(4032 * MEGA, 10)}
    flows = flows_of(rates, 12, ("first", "second")) | flows_of(rates, 12, ("second",))
    assert len(flows) == 24 * len(rates)
    for name, share in allocate(links, flows).items():
        assert share.total == expected[int(name.split(".")[2])] * MEGA, name


def test_the_colours_of_the_undersubscribed_case():
    shares = allocate({"line": Fraction(2016 * MEGA, 10)}, flows_of((1, 3), 12, ("line",)))
    of_one = shares["line.1.1.0"]
    assert of_one == Share(Fraction(MEGA), Fraction(MEGA), Fraction(3 * MEGA))
    assert sum(s.red for s in shares.values()) == 72 * MEGA


def test_max_min_over_a_parking_lot_with_whole_access_links():
    links = {"a": 12, "b": 6, "access": 1}
    flows = {
        "long": Demand(("a", "b")),
        "short": Demand(("a",)),
        "slow": Demand(("access", "b")),
        "promised": Demand(("b",), Fraction(3), Fraction(4)),
    }
    shares = allocate(links, flows, whole=["access"])
    # b has 5: 3 green, 1 yellow, and 1 that three flows share; a has 10.
    third = Fraction(1, 3)
    assert {n: s.total for n, s in shares.items()} == {
        "long": third,
        "slow": third,
        "promised": 4 + third,
        "short": 10 - third,
    }
    slow = allocate({**links, "b": 60}, flows, whole=["access"])
    assert slow["slow"].total == 1, "its access link, without headroom"


def test_what_cannot_be_shared_is_said():
    for flows in ({"x": Demand(("lost",))}, {"x": Demand(())}, {"x": Demand(("a",), Fraction(2), Fraction(1))}):
        with pytest.raises(PredictError):
            allocate({"a": 1}, flows)


def run(*args):
    return CliRunner().invoke(cli, ["predict", *args])


def test_the_command_prints_the_settings_and_what_to_write():
    done = run("redn", "--rate", "201.6Mbps", "--rtt", "500ms", "--flow", "10Mbps,200ms")
    assert done.exit_code == 0, done.output
    for text in ("2520", "378", "189", "0.001998", 'kind = "redn"'):
        assert text in done.output, text
    answer = json.loads(run("redn", "--flow", "12x10Mbps,200ms", "--flow", "12x4Mbps,60ms", "--json").output)
    assert answer["rate_bps"] == 201_600_000 and answer["time_constant"] == 500
    assert answer["flows"][0] == {
        **{"count": 12, "committed_bps": 10_000_000, "peak_bps": 20_000_000, "rtt_s": 0.2},
        **{"tolerable_loss": 2.4e-05, "tolerable_loss_delayed_acks": 1.2e-05},
    }


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "give the rate of the link, or the flows"),
        (("--rate", "0Mbps"), "above zero"),
        (("--rate", "10Mbps", "--probability", "2"), "between 0 and 1"),
        (("--flow", "10Mbps"), "such as 10Mbps,200ms"),
        (("--flow", "0x10Mbps,1s"), "such as 10Mbps,200ms"),
        (("--rate", "10Mbps", "--headroom", "none"), "headroom"),
    ],
)
def test_wrong_input_is_answered(args, said):
    done = run("redn", *args)
    assert done.exit_code == 2 and said in done.output and "Traceback" not in done.output, done.output


SCENARIO = """
duration = "1s"
topology = {{ kind = "dumbbell", rate = "201.6Mbps", delay = "2ms", queue = {{ kind = "redn" }} }}
{flows}
"""
GROUP = """
[flows.r{rate}]
count = 12
access_rate = "100Mbps"
access_delay = "10ms"
conditioner = {{ kind = "trtcm", committed_rate = "{rate}Mbps", peak_rate = "{twice}Mbps", committed_burst = "9KB",
                 peak_burst = "9KB" }}
"""


@pytest.mark.parametrize(("rates", "expected"), TABLE)
def test_the_allocation_of_a_scenario(tmp_path, rates, expected):
    groups = "".join(GROUP.format(rate=r, twice=2 * r) for r in rates).replace(",\n                ", ",")
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO.format(flows=groups))
    answer = json.loads(run("allocation", str(file), "--json").output)
    rows = {row["flow"]: row["total_bps"] for row in answer["flows"]}
    assert len(rows) == 12 * len(rates)
    assert all(rows[f"r{r}.{i}"] == expected[r] * MEGA for r in rates for i in range(12))
    some = json.loads(run("allocation", str(file), "--flows", "r1", "--headroom", "1", "--json").output)
    assert {row["total_bps"] for row in some["flows"]} == {16.8 * MEGA}
    shown = run("allocation", str(file)).output
    assert "headroom 1.2" in shown and "r1" in shown
    wrong = run("allocation", str(file), "--flows", "r9")
    assert wrong.exit_code == 2 and 'no flows "r9"' in wrong.output, wrong.output
