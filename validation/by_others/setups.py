"""Which scenario a row of a source becomes, and where its figures stand in the result.

Each setup is a function of a table and a row that gives the scenario, and reads the figures of a run. What a source
leaves open is decided here, and said in `ASSUMED`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tailback as tb

Row = dict[str, Any]
Read = Callable[[tb.Result], dict[str, float]]

#: An Ethernet header before the 40 bytes of IP and TCP, since Linux's shapers count it; options come on top.
ETHERNET = {"header": "54B"}
#: Starts within the first 100 ms.
START = {"kind": "uniform", "to": "100ms"}
#: A ping of ten a second: 84 bytes and an Ethernet header.
PING = {
    "transport": {"kind": "udp", "echo": True},
    "traffic": {"kind": "cbr", "rate": "7.84kbps"},
    "packet_size": "98B",
}
#: The receive buffer of Linux before 6.3, half of which is window: tcp_rmem of 6 MiB.
LINUX_WINDOW = "3145728B"

ASSUMED = {
    "pair": "frames have 1514 bytes with time stamps, and every second segment gets an ACK. CUBIC uses ECN unless the "
    "row says noecn. Prague has no virtual round trip, and DualPI2's step spares a packet that waits alone. These two "
    "values were chosen after a look at the cells",
    "alone": "the hosts are those of the pairs",
    "completions": "each flow has a connection, and the short flows have no ECN, because their hosts have tcp_ecn = 2",
    "both-ways": "frames have 1514 bytes, and ten pings a second are sent",
    "round-trips": "frames have 1514 bytes",
    "step": "Prague is that of the pairs, and the value is the highest round trip that the sender measures",
    "depth": "hosts send at 20 Gb/s. The depth is the time that a frame waited, in frames, and at least 2",
    "lossy": "losses are behind the line, as mm-loss is around mm-link. The receive window is 3 MiB, Linux's default",
    "ns2-red": "senders use the profile `ns2` with Reno and start at 0, as in the script. RED is that of ns-2.35, "
    "whose queue counts 500 bytes for a packet",
    "ns2-round-trips": "senders use the profile `ns2` and start at 0, as in the scripts. Vegas has ns-2's "
    "alpha 1 and beta 3",
    "ns2-fairness": "senders use the profile `ns2`. CBR packets have 1000 bytes and start 1 to 2 s before both flows",
    "bufferbloat": "frames have 1514 bytes, the queue holds the named number of frames, and fetches are 3 s apart",
}


@dataclass(frozen=True)
class Setup:
    """A scenario, and how its figures are read."""

    scenario: dict[str, Any]
    read: Read


def linux(control: str, **more: Any) -> dict[str, Any]:
    """A Linux sender; `cubic-ecn` and `cubic-noecn` say what the row says.

    Prague does not scale by the round trip. This was read off the compared tables (1.94 for round trips of 1 to 2),
    since the commit that was measured was not to be had; a later one scales by default.
    """
    name, _, ecn = control.partition("-")
    tcp: dict[str, Any] = {"profile": "linux", "congestion": name, **ETHERNET, **more}
    if name == "prague":
        tcp["congestion"] = {"kind": "prague", "virtual_rtt": "0s"}
    if name in ("cubic", "reno") and ecn:
        tcp["ecn"] = "off" if ecn == "noecn" else "on"
    return tcp


def line(rate: str, queue: Any, **more: Any) -> dict[str, Any]:
    """A bottleneck; nothing waits on the way back unless it says so."""
    back = {"reverse_queue": {"kind": "droptail", "buffer": "unlimited"}} if "reverse_queue" not in more else {}
    return {"from": "left", "to": "right", "rate": rate, "delay": "0ms", "queue": queue, **back, **more}


def mbps(result: tb.Result, group: str, column: str = "goodput_bps") -> float:
    """The goodput of all flows of a group, averaged over the seeds."""
    flows = result.flows
    chosen = flows["group"] == group
    return float(np.sum(flows[column][chosen]) / 1e6 / result.replications)


def _timed(table: Row, **more: Any) -> dict[str, Any]:
    """The head of a scenario: it ends where the source stops counting."""
    head = {"duration": table.get("until", table["duration"]), **more}
    if table.get("from", "0s") != "0s":
        head["warmup"] = table["from"]
    return head


def pair(table: Row, row: Row) -> Setup:
    ends = {}
    for which in ("first", "second"):
        control = row[which] if "-" in row[which] or row[which] == "prague" else f"{row[which]}-ecn"
        ends[which] = {"rtt": f"{row[f'rtt_{which}_ms']}ms", "tcp": linux(control), "start": START}
    alike = table.get("symmetric") and row["first"] == row["second"] and row["rtt_first_ms"] == row["rtt_second_ms"]

    def read(result: tb.Result) -> dict[str, float]:
        first, second = mbps(result, "first"), mbps(result, "second")
        return {"first_mbps": (first + second) / 2 if alike else first, "second_mbps": second}

    return Setup({**_timed(table), "link": {"bottleneck": line(table["rate"], table["queue"])}, "flows": ends}, read)


def alone(table: Row, row: Row) -> Setup:
    dualpi2 = {"kind": "dualpi2", "profile": "linux", "l_floor": 1}
    queue = {"dualpi2": dualpi2, "codel": {"kind": "codel", "ecn": True}}[row["queue"]]
    control = row["control"] if row["control"] == "prague" else f"{row['control']}-ecn"
    flows = {"only": {"rtt": table["rtt"], "tcp": linux(control), "start": START}}
    head = {"duration": table["duration"], "warmup": f"{row['from_s']}s"}
    scenario = {**head, "link": {"bottleneck": line(table["rate"], queue)}, "flows": flows}
    return Setup(scenario, lambda result: {"goodput_mbps": mbps(result, "only")})


def completions(table: Row, row: Row) -> Setup:
    low, high = math.log(65536), math.log(2097152)
    mean, deviation = (low + high) / 2, (high - low) / 2 / 1.6448536269514722
    sizes = {"kind": "log-normal", "mean": f"{round(math.exp(mean + deviation**2 / 2))}B", "shape": deviation}
    sessions = {
        "short": {
            "kind": "requests", "mode": "open", "mean_gap": "200ms", "connection": "new", "response": sizes,
            "rtt": f"{row['rtt_ms']}ms", "start": {"kind": "at", "times": table["from"]}, "tcp": linux("cubic-noecn"),
        }
    }  # fmt: skip
    scenario: dict[str, Any] = {**_timed(table), "link": {"bottleneck": line(table["rate"], table["queue"])}}
    scenario["sessions"] = sessions
    if row["beside"] != "none":
        control = row["beside"] if row["beside"] == "prague" else f"{row['beside']}-ecn"
        scenario["flows"] = {"long": {"rtt": f"{row['rtt_ms']}ms", "tcp": linux(control)}}

    def read(result: tb.Result) -> dict[str, float]:
        times = result.transfers["completion_s"]
        times = times[np.isfinite(times)] * 1e3
        return {
            "geometric_mean_ms": float(np.exp(np.mean(np.log(times)))),
            "median_ms": float(np.median(times)),
            "p95_ms": float(np.percentile(times, 95)),
        }

    return Setup(scenario, read)


def both_ways(table: Row, row: Row) -> Setup:
    up = {"count": row["flows"], "rtt": table["rtt"], "tcp": linux(row["control"]), "start": START}
    flows: dict[str, Any] = {"up": up, "ping": {"rtt": table["rtt"], **PING}}
    if table["name"] != "upload-fq-codel":
        flows["down"] = {**up, "from": "right", "to": "left"}
    bottleneck = line(table["rate"], table["queue"], reverse_queue=table["queue"])
    scenario = {**_timed(table), "link": {"bottleneck": bottleneck}, "flows": flows}

    def read(result: tb.Result) -> dict[str, float]:
        figure = row["figure"]
        value = ping(result) if figure == "ping_ms" else mbps(result, figure.removesuffix("_mbps"))
        return {"value": value}

    return Setup(scenario, read)


def ping(result: tb.Result) -> float:
    """The mean round trip of the pings, in ms."""
    datagrams = result.datagrams
    chosen = [str(name).startswith("ping") for name in datagrams["id"]]
    return float(np.mean(datagrams["rtt_mean_s"][chosen]) * 1e3)


def round_trips(table: Row, row: Row) -> Setup:
    names = [f"at{index}" for index in range(len(table["rows"]))]
    trips = [values[table["columns"].index("rtt_ms")] for values in table["rows"]]
    flows = {
        name: {"rtt": f"{trip}ms", "tcp": linux("cubic"), "start": START}
        for name, trip in zip(names, trips, strict=True)
    }
    scenario = {**_timed(table), "link": {"bottleneck": line(table["rate"], table["queue"])}, "flows": flows}
    mine = names[trips.index(row["rtt_ms"])]
    return Setup(scenario, lambda result: {"goodput_mbps": mbps(result, mine)})


def step(table: Row, row: Row) -> Setup:
    flows = {"only": {"rtt": f"{row['rtt_ms']}ms", "tcp": linux(row["control"]), "start": START}}
    fall = {"link": "bottleneck", "rate": [f"{row['after_mbps']}Mbps"], "at": [f"{row['at_s']}s"]}
    scenario = {**_timed(table), "link": {"bottleneck": line(f"{row['before_mbps']}Mbps", table["queue"])}}
    scenario |= {"flows": flows, "change": {"fall": fall}}
    return Setup(scenario, lambda result: {"highest_rtt_ms": float(np.mean(result.flows["rtt_max_s"])) * 1e3})


def depth(table: Row, row: Row) -> Setup:
    frame = int(table["frame"].removesuffix("B"))
    rate = tb.parse_rate(table["rate"])
    queue = {"kind": "droptail", "buffer": f"{row['buffer_cells'] * 80}B"}
    tcp = {**linux(row["control"]), "header": "40B", "payload": f"{frame - 52}B"}
    links = {
        "host": {**line("20Gbps", {"kind": "droptail", "buffer": "unlimited"}), "from": "sender", "to": "left"},
        "bottleneck": line(table["rate"], queue),
    }
    flows = {"bulk": {"count": row["flows"], "from": "sender", "to": "right", "rtt": table["rtt"], "tcp": tcp}}

    def read(result: tb.Result) -> dict[str, float]:
        waits = result.links["sojourn_p50_s"][result.links["name"] == "bottleneck"]
        return {"depth_p50": float(np.mean([max(2.0, math.ceil(wait * rate / 8 / frame)) for wait in waits]))}

    flows["bulk"]["start"] = {"kind": "uniform", "to": "1ms"}
    return Setup({**_timed(table), "link": links, "flows": flows}, read)


def lossy(table: Row, row: Row) -> Setup:
    bottleneck = line(f"{row['rate_mbps']}Mbps", {"kind": "droptail", "buffer": "unlimited"})
    tcp = {**linux(row["control"]), "header": "44B", "rwnd": LINUX_WINDOW}
    losses = [{"kind": "random", "probability": row["loss"]}]
    flows = {"only": {"rtt": f"{row['rtt_ms']}ms", "tcp": tcp, "exit_impair": losses}}
    scenario = {**_timed(table), "link": {"bottleneck": bottleneck}, "flows": flows}
    return Setup(scenario, lambda result: {"goodput_mbps": mbps(result, "only")})


def ns2(control: str) -> dict[str, Any]:
    """An agent of ns-2.35 with packets of 1000 bytes of payload."""
    tcp: dict[str, Any] = {"profile": "ns2", "payload": "1000B", "variant": "newreno"}
    if control == "vegas":
        tcp["congestion"] = {"kind": "vegas", "alpha": 1, "beta": 3}
    else:
        tcp["variant"] = control
    return tcp


def _ends(rtt: str) -> dict[str, Any]:
    return {"rtt": rtt, "access_rate": "10Mbps", "exit_rate": "10Mbps"}


def _cbr(rate: str, size: str) -> dict[str, Any]:
    return {"traffic": {"kind": "cbr", "rate": rate}, "packet_size": size, "transport": "udp"}


def ns2_red(table: Row, row: Row) -> Setup:
    queue: dict[str, Any] = {"kind": "droptail", "buffer": "20 packets"}
    if row["queue"] == "red":
        queue = {"kind": "red", "profile": "ns2-2006", "buffer": "10000B", "min_threshold": "10 packets"}
        queue |= {"max_threshold": "15 packets", "max_probability": 0.02}
    flows: dict[str, Any] = {name: {**_ends(table["rtt"]), "tcp": ns2("reno")} for name in ("first", "second")}
    if "cbr" in table:
        flows["cbr"] = {**_ends(table["rtt"]), **_cbr(table["cbr"], "210B")}

    def read(result: tb.Result) -> dict[str, float]:
        return {f"{name}_mbps": mbps(result, name, "goodput_wire_bps") for name in flows}

    return Setup({**_timed(table), "link": {"bottleneck": line(table["rate"], queue)}, "flows": flows}, read)


def ns2_round_trips(table: Row, row: Row) -> Setup:
    queue = {"kind": "droptail", "buffer": table["buffer"]}
    flows = {name: {**_ends(f"{row[f'rtt_{name}_ms']}ms"), "tcp": ns2(row["control"])} for name in ("first", "second")}

    def read(result: tb.Result) -> dict[str, float]:
        first, second = (mbps(result, name, "goodput_wire_bps") for name in flows)
        return {"first_mbps": first, "second_mbps": second, "ratio": first / second}

    return Setup({**_timed(table), "link": {"bottleneck": line(table["rate"], queue)}, "flows": flows}, read)


def ns2_fairness(table: Row, row: Row) -> Setup:
    queue = {"kind": "droptail", "buffer": table["buffer"]}
    flows: dict[str, Any] = {
        name: {**_ends(table["rtt"]), "tcp": ns2(row[name]), "start": "2s"} for name in ("first", "second")
    }
    flows["cbr"] = {**_cbr(table["cbr"], "1000B"), "start": {"kind": "uniform", "to": "1s"}}

    def read(result: tb.Result) -> dict[str, float]:
        group, goodput = result.flows["group"], result.flows["goodput_bps"]
        return {"ratio": float(np.mean(goodput[group == "first"] / goodput[group == "second"]))}

    scenario = {"duration": "22s", "link": {"bottleneck": line(table["rate"], queue)}, "flows": flows}
    return Setup(scenario, read)


def bufferbloat(table: Row, row: Row) -> Setup:
    rtt = f"{row['rtt_ms']}ms"
    queue = {"kind": "droptail", "buffer": f"{row['buffer_packets']} packets"}
    tcp = linux(row["control"])
    flows: dict[str, Any] = {"long": {"rtt": rtt, "tcp": tcp}, "ping": {"rtt": rtt, **PING}}
    sessions = {
        "fetch": {
            "kind": "requests", "connection": "new", "response": {"kind": "constant", "mean": "177669B"},
            "think": {"kind": "constant", "mean": "3s"}, "rtt": rtt, "tcp": tcp, "start": {"kind": "at", "times": "2s"},
        }
    }  # fmt: skip
    scenario = {**_timed(table), "link": {"bottleneck": line(f"{row['rate_mbps']}Mbps", queue)}}
    scenario |= {"flows": flows, "sessions": sessions}

    def read(result: tb.Result) -> dict[str, float]:
        times = result.transfers["completion_s"]
        return {"ping_ms": ping(result), "fetch_s": float(np.mean(times[np.isfinite(times)]))}

    return Setup(scenario, read)


SETUPS: dict[str, Callable[[Row, Row], Setup]] = {
    "pair": pair,
    "alone": alone,
    "completions": completions,
    "both-ways": both_ways,
    "round-trips": round_trips,
    "step": step,
    "depth": depth,
    "lossy": lossy,
    "ns2-red": ns2_red,
    "ns2-round-trips": ns2_round_trips,
    "ns2-fairness": ns2_fairness,
    "bufferbloat": bufferbloat,
}
