"""The cases of queue_references.py as scenarios: ten flows through one discipline, as ns-2.35 and ns-3.37 were asked.

Flows behind 100 Mb/s with round trips of 60 to 140 ms by propagation, then 10 Mb/s and 10 ms with the queue under
test. Data packets are 1000 B on the wire. Thresholds, weights and limits are those of
`tests/reference/queues/README.md`. Nothing here knows what came out.
"""

from __future__ import annotations

from typing import Any

from reference_cases import NS3, SACK, Case, Table, bottleneck, droptail, even, long_flows, red

LIMIT = "200 packets"


def automatic(delay: str, **more: Any) -> Table:
    """Adaptive RED: thresholds and weight from the line."""
    return {"kind": "ared", "buffer": LIMIT, "delay_target": delay, "mean_packet": "1000B", **more}


def ramp(kind: str, **more: Any) -> Table:
    return {
        **{"kind": kind, "buffer": LIMIT, "min_threshold": "20 packets", "max_threshold": "60 packets"},
        **{"weight": 0.002, "max_probability": 0.1, "mean_packet": "1000B", **more},
    }


def pi(times: float) -> Table:
    gains = {"a": 1.822e-5 * times, "b": 1.816e-5 * times}
    return {"kind": "pi", "buffer": LIMIT, "reference": "50 packets", "mean_packet": "1000B", **gains}


def rio() -> Table:
    return {
        **{"kind": "rio", "profile": "ns2-2006", "buffer": LIMIT, "weight": 0.002, "mean_packet": "1000B"},
        **{"in_min_threshold": "40 packets", "in_max_threshold": "70 packets", "in_max_probability": 0.02},
        **{"out_min_threshold": "10 packets", "out_max_threshold": "30 packets", "out_max_probability": 0.1},
    }


def red_pd(rtt: str) -> Table:
    return {**red(20, 200), "kind": "red-pd", "profile": "ns2-2006", "target_rtt": rtt, "first_list": "10.1s"}


#: What is in profile of even and odd flows.
PROFILES = {"rio_tb": ("800kbps", "200kbps"), "rio_low": ("100kbps", "25kbps")}
#: By the name of the case without its transport: what the queue is, ECN apart.
QUEUES: dict[str, Table] = {
    "droptail": droptail(200),
    "red_gentle": red(20, 200),
    "red_hard": {**red(20, 200), "gentle": False},
    "ared5": automatic("5ms", ns2_guards=True, clock="arrival", lowest=0.008),
    "ared30": automatic("30ms", ns2_guards=True, clock="arrival", lowest=0.008),
    "feng": ramp("feng-red", ns2_guards=True),
    "redbyte": {
        **{"kind": "red", "buffer": "200kB", "min_threshold": "20kB", "max_threshold": "60kB", "weight": 0.002},
        **{"max_probability": 0.1, "mean_packet": "500B", "bytes": True, "ns2_guards": True},
    },
    "redpkt_mixed": red(20, 200),
    "pi": pi(1),
    "pi4": pi(4),
    "rem": {"kind": "rem", "buffer": "199 packets", "mean_packet": "1000B"},
    "avq": {"kind": "avq", "buffer": "200kB", "mean_packet": "1000B"},
    "red_cbr": red(20, 200),
    "rio_tb": rio(),
    "rio_low": rio(),
    "redpd_cbr10_r100": red_pd("100ms"),
    "redpd_cbr10_r40": red_pd("40ms"),
    "sfq": {"kind": "sfq", "buffer": LIMIT, "buckets": 16, "hash": "ns2"},
    "srr": {"kind": "srr", "buffer": LIMIT, "queue_limit": "20 packets", "quantum": "1000B"},
    "drr": {"kind": "drr", "buffer": "200kB", "quantum": "1000B"},
    "n3_fifo": {"kind": "droptail", "buffer": LIMIT},
    "n3_red": ramp("red"),
    "n3_nlred": ramp("nlred"),
    "n3_feng": ramp("feng-red"),
    "n3_ared": automatic("5ms", max_probability=0.02),
    "n3_codel": {"kind": "codel", "buffer": LIMIT},
    "n3_pie": {"kind": "pie", "buffer": LIMIT, "derandomise": False, "mean_packet": "1000B"},
    "n3_cobalt": {"kind": "cobalt", "buffer": LIMIT},
    "n3_fqcodel": {"kind": "fq-codel", "buffer": LIMIT, "quantum": "1500B"},
    "n3_fqcobalt": {"kind": "fq-cobalt", "buffer": LIMIT},
    "n3_fqpie": {"kind": "fq-pie", "buffer": LIMIT, "quantum": "1500B", "derandomise": False},
}


def base(name: str) -> str:
    """The name of the queue in the name of a case."""
    left = [word for word in name.split("_") if word not in ("sack", "newreno", "ecn", "oh")]
    return "_".join(left)


def scenario(case: Case) -> Table:
    kind, ecn = base(case.name), case.has("ecn")
    queue = {**QUEUES[kind], **({"ecn": True} if ecn else {})}
    tcp = {**(NS3 if case.has("n3") else SACK), "ecn": "on" if ecn else "off"}
    if case.has("newreno"):
        # That of ns-3 keeps SACK, and grows by a fraction of a segment an ACK.
        tcp |= {"congestion_form": "standard"} if case.has("n3") else {"variant": "newreno"}
    n = 20 if case.has("cbr") else 10
    made = bottleneck(case, even(60, 140, n), queue)
    flows = long_flows(case, n, n, tcp)
    if case.has("oh"):
        for flow in flows.values():
            flow["send_delay"] = "800us"
    if kind == "redpkt_mixed":
        for i in range(1, n, 2):
            flows[f"long{i}"]["tcp"] = {**tcp, "payload": "210B"}
    if kind in PROFILES:
        for i in range(n):
            rate = PROFILES[kind][i % 2]
            flows[f"long{i}"]["conditioner"] = {"kind": "token-bucket", "rate": rate, "depth": "10kB"}
    if case.has("cbr") or case.has("cbr10"):
        made["link"]["cbr"] = {**made["link"]["a0"], "from": "cbr", "delay": "40ms"}
        # Three times the share of each of all flows.
        steady = {"kind": "cbr", "rate": "1428571bps" if case.has("cbr") else "2727273bps"}
        flows["cbr"] = {"from": "cbr", "to": "r2", "transport": "udp", "traffic": steady, "packet_size": "1000B"}
        if case.has("cbr10"):
            flows["cbr"]["start"] = f"{case.start(10)}s"
    return {**made, "flows": flows}
