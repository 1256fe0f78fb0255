"""Code as users write it, held to the strictest types; every public name is used. Nothing here is run."""

from __future__ import annotations

from typing import assert_type

import numpy as np
from matplotlib.figure import Figure

import tailback as tb
from tailback._core import ControlAck, ControlRules, ControlSign, MediaFeedback, MediaTerms, StackPair


def networks() -> list[tb.Network]:
    red: tb.Queue = tb.queue("red", buffer="1000 packets")
    lab = tb.dumbbell(flows=100, bottleneck="500Mbps", rtt="100ms", queue=red)
    lab.flows("mice", count=10).record(link="bottleneck", probes=["queue"], every="10ms").set(warmup="1s")
    chain = tb.parking_lot(hops=3, flows={"long": {"count": 2}}, queue="droptail")
    ports: tb.Queue = tb.queue("droptail", buffer="100 packets")
    fabrics = [
        tb.star(4, rate="10Gbps", delay="1us", queue=ports),
        tb.leaf_spine(2, 2, 4, rate="10Gbps", delay="1us", queue=ports).set(paths="flow"),
        tb.fat_tree(4, rate="10Gbps", delay="1us", queue=ports),
    ]
    fabrics[1].workload("search", sizes="web-search", load=0.5)
    return [lab, chain, *fabrics, tb.network(), tb.network(lab.to_dict())]


def results(net: tb.Network) -> None:
    try:
        result = net.run(duration="10s", seed=1, replications=5)
    except (tb.RunError, tb.ScenarioError) as e:
        print(e)
        return
    assert_type(result, tb.Result)
    table: tb.Table = result.flows
    goodput: np.ndarray = table["goodput_bps"]
    print(goodput.mean(), table.units["goodput_bps"], len(table.where(group="bulk")), table.to_list("group"))
    figure: Figure = result.plot("queue")
    figure.savefig("queue.png")
    result.save("out")
    again: tb.Result = tb.load_result("out")
    tables: tb.Results = tb.read_results("out")
    print(again.summary(), tables.links["utilisation"], tb.read_parquet("out/flows.parquet").columns)


def sweeps(net: tb.Network) -> int:
    queues = {"paths": ["topology.queue.kind"], "values": ["red", "codel"]}
    sweep: tb.Sweep = tb.load_sweep({"scenario": net, "axis": {"queue": queues}, "replications": 5})
    found: tb.Results = sweep.execute("out/sweep", shard=(1, 2))
    clear = [d for d in tb.compare_points(found, "queue", "red", columns=["utilisation"]) if d.clear]
    return len(sweep) + len(found.runs) + len(clear)


def comparisons(a: tb.Result, b: tb.Results) -> list[str]:
    return [f"{d.table} {d.row} {d.column}: {d.difference} {d.ci95} {d.unit}" for d in tb.compare(a, b) if d.clear]


def told(state: dict[str, object]) -> bool:
    return state["done"] != state["total"]


def scenarios() -> tb.Scenario:
    scenario = tb.load_scenario("lab.toml", overrides=["link.bottleneck.rate=5Mbps"])
    result: tb.Result = tb.run(scenario, replications=2)
    print(result.replications, tb.schema()["$schema"], tb.describe("red"), tb.__version__)
    return scenario


def plans() -> int:
    plan = tb.Plan.product("lab.toml", {"queue": ("link.b.queue.kind", ["red", "codel"])}, replications=10)
    tables = plan.execute("out/lab", jobs=2, progress=True)
    assert_type(tables, tb.Results)
    tb.run("lab.toml", progress=told)
    print(tables.flows)
    return len(plan)


def which_queue() -> str:
    found = tb.compare_queues(
        rate="50Mbps", rtt=["20ms", "80ms"], flows=16, queues=["codel", {"kind": "red", "ecn": True}]
    )
    found.write_page("out/compare")
    return found.text(80)


def at_home() -> float:
    found = tb.home_line(down="100Mbps", up="20Mbps", rtt="30ms", link="docsis", queues=["cake"], traffic=["bulk"])
    found.write_page("out/home")
    return found.added(found.best)


def quantities() -> tuple[float, float, int]:
    size, unit = tb.parse_size("1000 packets")
    level, of = tb.parse_level("20%")
    print(size, unit, level, of)
    return tb.parse_rate("5Mbps"), tb.parse_time("10ms"), tb.parse_bytes("64KB")


def by_hand() -> None:
    colours: list[int | None] = tb.mark({"kind": "tsw2cm", "committed_rate": "1Mbps"}, [(0.0, 1000), (0.1, 1000)])
    assert colours == [10, 10]
    queue = tb.drive(tb.queue("codel", buffer="100 packets"), rate="10Mbps")
    packet: tb.Packet = tb.packet(flow=1, ecn=True)
    queue.enqueue(packet, now=0.0)
    given = queue.dequeue(now=0.010)
    if isinstance(given, tb.Wait):
        print(given.until)
    elif given is not None:
        print(given.bytes, queue.drops, queue.marks)


class Fifo:
    """A discipline written in Python."""

    def __init__(self) -> None:
        self.waiting: list[tb.Packet] = []

    def enqueue(self, packet: tb.Packet, line: tb.Line) -> None:
        self.waiting.append(packet)

    def dequeue(self, line: tb.Line) -> tb.Packet | None:
        return self.waiting.pop(0) if self.waiting else None


def own_discipline() -> tb.Network:
    return tb.dumbbell(queue=Fifo)


class Fixed:
    """A congestion control written in Python."""

    def __init__(self, rules: ControlRules, *, segments: float = 10.0) -> None:
        self.cwnd = segments * rules.segment

    def on_ack(self, ack: ControlAck) -> None:
        assert_type(ack.rtt, float | None)

    def on_congestion(self, sign: ControlSign) -> None: ...


class Ticker:
    """A transport written in Python."""

    def __init__(self, pair: StackPair, *, gap: float = 0.01) -> None:
        self.timeout = 0.0 if pair.first else None
        self.gap = gap

    def receive(self, data: bytes, ecn: int, now: float) -> None: ...

    def transmit(self, now: float) -> bytes | tuple[bytes, int] | None:
        return None


def own_stack() -> tb.Network:
    return tb.dumbbell(flows={"mine": {"transport": tb.stack(Ticker, gap=0.5)}})


class Level:
    """A rate control written in Python."""

    def __init__(self, terms: MediaTerms, *, share: float = 0.5) -> None:
        self.target = share * terms.max

    def on_feedback(self, feedback: MediaFeedback) -> None:
        assert_type(feedback.packets[0].received, float | None)


def own_rate_control() -> tb.Network:
    control = tb.rate_control(Level, share=0.8)
    by_hand = tb.drive_rate_control(control)
    assert_type(by_hand.feedback(0.1, [(0, 1240, 0.02, 0.05)], rtt=0.05), float)
    return tb.dumbbell().flows("call", traffic="video", rtp={"control": control})


def own_control() -> tb.Network:
    control = tb.drive_congestion(tb.congestion(Fixed, segments=4))
    assert_type(control.ack(0.1, 1000), float)
    return tb.dumbbell(tcp={"congestion": tb.congestion(Fixed, segments=4)})
