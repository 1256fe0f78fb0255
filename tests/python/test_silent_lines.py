"""Lines and queues that once gave a wrong number without a word: each case with what it must be equal to, or reach."""

import pytest

import tailback as tb
from tailback.core.scenario.read import read

LINE = """
duration = "4s"
[link.line]
from = "a"
to = "b"
rate = "{rate}"
delay = "{delay}"
queue = {queue}
"""


def line(rate, delay, queue, rest):
    return LINE.format(rate=rate, delay=delay, queue=queue) + rest


def goodput(run):
    table = run.groups
    return dict(zip(table["group"], table["goodput_bps_mean"], strict=True))


def of_line(run, column):
    table = run.links
    return dict(zip(table["name"], table[column], strict=True))["line"]


@pytest.mark.parametrize("times", ["1\n1\n", "1\n" * 17, "1\n" * 84 + "2\n" * 83])
def test_a_line_of_many_opportunities_in_a_millisecond_is_filled(tmp_path, times):
    """UDP above the line gets 99 % of it."""
    trace = tmp_path / "line.trace"
    trace.write_text(times)
    lines = times.split()
    rate = len(lines) * 1504 * 8 / (int(lines[-1]) * 1e-3)
    text = line(
        "10Mbps",
        "5ms",
        '{ kind = "droptail", buffer = "1000 packets" }',
        f"""
[flows.t]
transport = {{ kind = "udp" }}
packet_size = "1504B"
traffic = {{ kind = "cbr", rate = "{rate * 1.1:.0f}bps" }}
[change.c]
link = "line"
mahimahi = "{trace}"
""",
    )
    run = tb.run(text)
    assert goodput(run)["t"] > 0.99 * rate
    assert 0.99 < of_line(run, "utilisation") <= 1


@pytest.mark.parametrize("queue", ["drr", "red", "codel"])
def test_packets_shorter_than_a_nanosecond_all_leave(queue):
    text = line(
        "1Tbps",
        "1ms",
        f'{{ kind = "{queue}", buffer = "1000 packets" }}',
        """
[flows.t]
count = 20
transport = { kind = "udp" }
packet_size = "40B"
traffic = { kind = "cbr", rate = "1kbps" }
start = "1s"
""",
    )
    run = tb.run(text)
    assert of_line(run, "delivered_packets") == of_line(run, "arrived_packets") > 20
    assert of_line(run, "sojourn_max_s") < 1e-6


def test_an_outage_in_a_list_stops_the_line_and_ends():
    rest = """
[flows.t]
[change.c]
link = "line"
rate = ["0bps", "10Mbps"]
at = ["1s", "2s"]
"""
    run = tb.run(line("10Mbps", "10ms", '"codel"', rest))
    assert 0.55 * 10e6 < goodput(run)["t"] < 0.75 * 10e6
    assert of_line(run, "utilisation") > 0.8


def test_what_is_washed_is_counted_as_it_came():
    rest = """
[flows.green]
dscp = 10
transport = { kind = "udp" }
traffic = { kind = "cbr", rate = "1Mbps" }
[flows.yellow]
dscp = 12
transport = { kind = "udp" }
traffic = { kind = "cbr", rate = "1Mbps" }
start = "1s"
"""

    def of(wash, before):
        queue = f'{{ kind = "cake", wash = {wash}, before = [{{ kind = "{before}" }}] }}'
        return goodput(tb.run(line("10Mbps", "10ms", queue, rest)))

    for before in ["mred", "redn", "rio"]:
        assert of("true", before) == of("false", before)
        assert of("true", before)["green"] > 0.99e6


def test_a_packet_without_a_length_waits_its_turn():
    def run(header):
        rest = f'[flows.g1]\ntcp = {{ header = "{header}" }}\n'
        return tb.run(line("1Mbps", "5ms", '"codel"', rest))

    bare, short = run("0B"), run("1B")
    assert of_line(bare, "max_queue_packets") < 1000
    assert goodput(bare)["g1"] == pytest.approx(goodput(short)["g1"], rel=0.03)


def test_a_newcomers_exponential_sizes_are_the_m_m_1_queue():
    """A source of 500 kb/s on 1 Mb/s, mean 1500 B: the mean number in the system is 1, the mean wait 12 ms."""
    net = tb.network()
    net.link("line", "a", "b", rate="1Mbps", delay="1ms", queue=tb.queue("droptail", buffer="unlimited"))
    net.flows("t", "a", "b", transport="udp", traffic={"kind": "poisson", "rate": "500kbps"}, sizes=EXPONENTIAL)
    used, waits = [], []
    for seed in range(1, 7):
        run = net.run(duration="20000s", seed=seed)
        used.append(of_line(run, "utilisation"))
        waits.append(of_line(run, "sojourn_mean_s"))
    assert sum(used) / 6 == pytest.approx(0.5, rel=0.005)
    assert sum(waits) / 6 == pytest.approx(0.012, rel=0.02)


EXPONENTIAL = {"kind": "exponential", "mean": "1500B"}


@pytest.mark.parametrize("seed", range(1, 11))
def test_data_that_waited_behind_a_hole_of_the_warm_up_are_not_counted(seed):
    """The goodput is at most what the line carried, and what was under way when the counting began."""
    reno = {"r": {"count": 4, "tcp": {"congestion": "reno"}}}
    net = tb.dumbbell(bottleneck="10Mbps", rtt="40ms", queue=tb.queue("red", buffer="100 packets"), flows=reno)
    run = net.run(duration="3s", warmup="2s", seed=seed)
    carried = float(run.links["throughput_bps"][0])
    assert float(run.groups["goodput_bps_sum"][0]) <= carried + 10e6 * 0.02


def test_a_buffer_of_two_pebibytes_is_no_buffer_that_is_never_reached():
    """2305843009213694 B are 1.8e16 bits: a product of the two units wraps."""
    net = tb.dumbbell(queue=tb.queue("codel", buffer="2305843009213694B")).set(duration="1s")
    assert not [said for said in read(net).warnings if "never reached" in said]


def warned(net_or_text):
    return " ".join(read(net_or_text).warnings)


def test_a_line_that_carries_nothing_is_said(tmp_path):
    net = tb.dumbbell().set(duration="10s")
    assert "carries nothing from 4.000 s to the end" in warned(
        tb.dumbbell().set(duration="10s").change(link="bottleneck", rate=["0bps"], at=["4s"])
    ).replace("from 4s", "from 4.000 s")
    back = tb.dumbbell().set(duration="10s").change(link="bottleneck", rate=["0bps", "5Mbps"], at=["4s", "5s"])
    assert "carries" not in warned(back) + warned(net)
    slow = tmp_path / "slow.csv"
    slow.write_text("time_s,rate_bps\n0,24\n100,24\n")
    trace = tb.dumbbell().set(duration="10s").change(link="bottleneck", trace=str(slow))
    assert "carries not one packet in the whole run" in warned(trace)


def test_a_link_that_no_flow_uses_is_said():
    """Two spines of equal delay: one carries everything."""
    net = tb.network().set(duration="1s")
    for spine in ("s1", "s2"):
        net.link(f"up-{spine}", "leaf1", spine, rate="10Mbps", delay="1ms", queue="codel")
        net.link(f"down-{spine}", spine, "leaf2", rate="10Mbps", delay="1ms", queue="codel")
    net.flows("bulk", "leaf1", "leaf2", count=4)
    said = warned(net)
    assert "no flow crosses link up-s2" in said and "no flow crosses link down-s2" in said
    assert "no flow crosses" not in warned(tb.dumbbell().set(duration="1s"))


def test_windows_that_keep_flows_far_below_their_line_are_said():
    """ns-2's own 20 segments of 500 B: 1.9 of 10 Mb/s."""
    ns2 = {"bulk": {"tcp": {"profile": "ns2", "window_cap": "20 packets", "payload": "500B"}}}
    said = warned(tb.dumbbell(bottleneck="10Mbps", rtt="44ms", flows=ns2).set(duration="1s"))
    assert "can send at most 1.96 Mb/s" in said and "give a larger window_cap or rwnd" in said
    many = {"bulk": {**ns2["bulk"], "count": 8}}
    assert "can send at most" not in warned(tb.dumbbell(bottleneck="10Mbps", rtt="44ms", flows=many).set(duration="1s"))
