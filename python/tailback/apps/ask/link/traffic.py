"""The scenario of a link: its traffic, the length of a run, and the cost of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tailback.apps.ask import calls
from tailback.apps.ask.given import LinkError
from tailback.apps.ask.link import fabric as fabrics
from tailback.apps.ask.link import rack as racks
from tailback.apps.ask.link.fabric import Fabric
from tailback.apps.ask.link.link import CALL_BPS, Link

#: The name of the link under test in results.
LINK = "bottleneck"
CALL, VIDEO, STREAM, WEB, UNRESPONSIVE, INCAST = "call", "call-video", "video", "web", "unresponsive", "incast"
#: The name of the recording of waiting times.
WAITS = "sojourn_percentiles"
#: Browsing takes about this share of the line.
WEB_SHARE = 0.1
#: The mean bytes of a page of 3GPP2 C.R1002-0, and its reading time, which is longer if one reader would be too much
#: load.
PAGE_BYTES, READING_S = 56_900.0, 5.0
MOST_READERS = 1000
#: For estimates of CPU time: packet-hops a second, hops for each packet of the line, and the cost of a flow at its
#: start and in each second.
HOPS_PER_S, HOPS_A_PACKET, FLOW_S, FLOW_S_PER_S = 3.5e6, 4.5, 5e-5, 3e-6
#: The fewest packets of the line in the counted part of a run.
LEAST_PACKETS = 20_000
#: The usual limit on the time of a comparison, and the limit above which its duration must be given.
WANTED_S, MOST_S = 45.0, 600.0


@dataclass(frozen=True)
class Times:
    """The length of a run and its warm-up, in simulated seconds."""

    warmup_s: float
    duration_s: float
    why: str


def group(sender: str, rtt_s: float, link: Link) -> str:
    """The name of the long flows of a sender, and of a round trip if there are several."""
    return sender if len(link.rtts_s) == 1 else f"{sender}-{short(rtt_s)}"


def short(rtt_s: float) -> str:
    """A round trip in a name: `40ms`, `68889us`."""
    us = round(rtt_s * 1e6)
    return f"{us}us" if us % 1000 else f"{us // 1000}ms"


def readers(link: Link) -> tuple[int, float]:
    """The number of readers and the reading time of a page, such that they take their share of the line."""
    reader_bps = PAGE_BYTES * 8 / READING_S
    n = link.rate_bps * WEB_SHARE / reader_bps
    if n >= 1:
        return min(round(n), MOST_READERS), READING_S
    return 1, READING_S / n


def scenario(
    link: Link,
    queue: Mapping[str, Any],
    times: Times,
    beside: bool,
    tcp: Mapping[str, Any],
    switch: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The scenario with a queue, with or without the unresponsive flow (`beside`). `switch` is the memory that the port
    shares."""
    if link.fabric is not None:
        return fabrics.scenario(link, queue, times, _controlled(link, _sender(link, tcp), link.senders[0]), switch)
    access = f"{link.access_bps:.0f}bps"
    # A flow that is alone behind a host's link as fast as this line would queue in its own host.
    apart = 10 * link.longest_rtt_s if link.rack else max(1.0, 2 * link.longest_rtt_s)
    starts = {"kind": "uniform", "to": _time(min(apart, times.warmup_s / 2))}
    # The link's own delay is within the shortest round trip; the rest is on the hosts' lines.
    delay = link.shortest_rtt_s / 4
    link_keys = {
        "from": "left",
        "to": "right",
        "rate": f"{link.rate_bps:.0f}bps",
        "delay": _time(delay),
        "queue": dict(queue),
        "reverse_queue": {"kind": "droptail", "buffer": "unlimited"},
    }
    sender = _sender(link, tcp)
    flows: dict[str, Any] = {}
    for (congestion, rtt), count in link.senders_of_flows().items():
        flows[group(congestion, rtt, link)] = {
            "count": count,
            "rtt": _time(rtt),
            "access_rate": access,
            "start": starts,
            **_controlled(link, sender, congestion),
        }
    shortest_rtt = _time(link.shortest_rtt_s)
    if "voice" in link.traffic:
        flows[CALL] = {
            "traffic": "voice",
            # Marked as telephony (RFC 4594 section 4.1). Only a discipline with classes reads the mark.
            "conditioner": {"kind": "code-point", "code": "EF"},
            "rtt": shortest_rtt,
            "access_rate": access,
            "start": starts,
        }
    if STREAM in link.traffic:
        flows[STREAM] = {**calls.video(link.adapt), "rtt": shortest_rtt, "access_rate": access, "start": starts}
    if link.adapt and "voice" in link.traffic:
        flows[VIDEO] = {
            **calls.video(link.adapt),
            "conditioner": {"kind": "code-point", "code": calls.MARK},
            "rtt": shortest_rtt,
            "access_rate": access,
            "start": starts,
        }
    if beside:
        steady = {"kind": "cbr", "rate": f"{link.unresponsive_bps:.0f}bps", "jitter": 0.2}
        flows[UNRESPONSIVE] = {
            "transport": "udp",
            "traffic": steady,
            "packet_size": f"{link.packet_bytes}B",
            "rtt": shortest_rtt,
            "access_rate": access,
            "start": starts,
        }
    document: dict[str, Any] = {
        "name": "compare",
        "duration": _time(times.duration_s),
        "warmup": _time(times.warmup_s),
        "marking": link.ecn,
        "link": {LINK: link_keys},
    }
    if not beside:
        # The waits are recorded once, as late as a time step can be.
        late = times.duration_s - 1e-6
        document["record"] = {"waits": {"link": LINK, "probes": [WAITS], "every": _time(late)}}
    if flows:
        document["flows"] = flows
    if switch:
        document["switch"] = {link_keys["from"]: dict(switch)}
    control = link.controls.get(link.of_sessions, link.of_sessions)
    sessions = _sessions(link, times, {**sender, "connection": "two-way", "congestion": control})
    if sessions:
        document["sessions"] = sessions
    return document


def _sender(link: Link, tcp: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of all senders, overridden by `tcp`."""
    sender: dict[str, Any] = {
        "profile": "linux",
        "payload": f"{link.packet_bytes - 52}B",
        "ecn": "where_answered" if link.ecn else "off",
    }
    if link.rack is not None:
        sender |= {
            "offload": f"{racks.OFFLOAD_BYTES}B",
            "min_rto": racks.MIN_RTO,
            "initial_rto": racks.MIN_RTO,
            # As Linux does with DCTCP: a retransmission that is not ECN-capable would be dropped where others are
            # marked.
            "ect_on_retransmissions": True,
            "delayed_ack_timeout": racks.DELAYED_ACK,
        }
    sender |= tcp
    return sender


def _controlled(link: Link, sender: Mapping[str, Any], congestion: str) -> dict[str, Any]:
    """The transport of a group, as in its table: a sender with a congestion control, or a user's own transport."""
    if congestion in link.stacks:
        return {"transport": link.stacks[congestion]}
    return {"tcp": {**sender, "congestion": link.controls.get(congestion, congestion)}}


def _sessions(link: Link, times: Times, tcp: Mapping[str, Any]) -> dict[str, Any]:
    """The sessions: readers of pages, and a client that sends requests to many servers at once."""
    sessions: dict[str, Any] = {}
    common_keys = {"access_rate": f"{link.access_bps:.0f}bps", "tcp": dict(tcp)}
    if "web" in link.traffic:
        clients, reading_s = readers(link)
        sessions[WEB] = {
            "kind": "web",
            "preset": "3gpp",
            "clients": clients,
            "servers": min(clients, 20),
            "think": {"kind": "exponential", "mean": _time(reading_s)},
            "parallel": 6,
            "rtt": [_time(rtt) for rtt in link.rtts_s],
            "start": {"kind": "uniform", "to": _time(min(reading_s, times.warmup_s))},
            **common_keys,
        }
    if "incast" in link.traffic:
        sessions[INCAST] = {
            "kind": "incast",
            "servers": racks.SERVERS,
            "response": {"kind": "constant", "mean": f"{racks.ANSWER_BYTES}B"},
            "think": {"kind": "exponential", "mean": _time(think_s(link))},
            "rtt": _time(link.shortest_rtt_s),
            # Connections open before the queue grows, since a SYN is not ECN-capable.
            "start": "0s",
            **common_keys,
        }
    return sessions


def think_s(link: Link) -> float:
    """The pause after a request to many servers, so that requests take their share of the line."""
    return racks.SERVERS * racks.ANSWER_BYTES * 8 / (link.rate_bps * racks.REQUEST_SHARE)


def run_times(link: Link, runs: int, cores: int, asked_s: float | None = None) -> Times:
    """The length of a run. Senders first settle, and then fifty seconds or five hundred round trips follow. The run is
    shorter on links so fast that it would take minutes. A length `asked_s` takes precedence. Raises `LinkError` if it
    would take too long."""
    if link.fabric is not None:
        return _fabric_times(link, link.fabric, runs, cores, asked_s)
    longest = link.longest_rtt_s
    if asked_s is not None:
        if asked_s < 20 * longest:
            raise LinkError(f"duration = {short(asked_s)}: give at least twenty round trips, {short(20 * longest)}")
        return Times(asked_s / 5, asked_s, "as asked for")
    if link.rack is not None:
        return _rack_times(link, runs, cores)
    # A slow line needs a long run for enough pages and packets, but these cost no more CPU time than on other lines.
    warmup = max(10.0, 50 * longest, LEAST_PACKETS / 5 * link.packet_s)
    counted_s = max(50.0, 250 * longest, LEAST_PACKETS * link.packet_s)
    cost = cost_s(link, warmup + counted_s, runs, cores)
    if cost <= WANTED_S:
        return Times(warmup, warmup + counted_s, "long enough for all senders to settle and to go through some cycles")
    least_warmup, least_counted = max(2.0, 20 * longest), max(5.0, 50 * longest)
    share = WANTED_S / cost
    warmup, counted_s = _round(max(least_warmup, warmup * share)), _round(max(least_counted, counted_s * share))
    cost = cost_s(link, warmup + counted_s, runs, cores)
    if cost > MOST_S:
        packets = _count(runs * _packets(link, warmup + counted_s))
        raise LinkError(
            f"rate = {link.rate_bps / 1e6:g}Mbps with {link.flows} flows: {runs} runs of {warmup + counted_s:g} s "
            f"are {packets} packets, about {cost / 60:.0f} minutes here; name fewer disciplines or replications, "
            "scale rate and flows down together, or give the duration of a run (--duration), which then is run however "
            "long it takes"
        )
    return Times(warmup, warmup + counted_s, "shorter than usual, as the link carries so many packets")


def _rack_times(link: Link, runs: int, cores: int) -> Times:
    """The length in round trips, shorter if a run would take long."""
    rtts = float(racks.RTTS)
    cost = cost_s(link, rtts * link.longest_rtt_s, runs, cores)
    reason = f"{racks.RTTS} round trips"
    if cost > WANTED_S:
        rtts = max(racks.LEAST_RTTS, math.floor(rtts * WANTED_S / cost))
        reason = f"{rtts:.0f} round trips, fewer than usual, as the link carries so many packets"
    if cost_s(link, rtts * link.longest_rtt_s, runs, cores) > MOST_S:
        raise LinkError(
            f"rate = {link.rate_bps / 1e9:g}Gbps: {runs} runs of {rtts:.0f} round trips take too long here; name "
            "fewer disciplines or replications, or give the duration of a run (--duration), which then is run however "
            "long it takes"
        )
    duration = rtts * link.longest_rtt_s
    return Times(duration / 5, duration, reason)


def _fabric_times(link: Link, fabric: Fabric, runs: int, cores: int, asked_s: float | None) -> Times:
    """The time in which the usual number of flows arrives, or fewer flows if a run would take long."""
    each_s = 1 / fabrics.arrivals_per_s(link, fabric)
    if asked_s is not None:
        if asked_s < each_s:
            raise LinkError(
                f"duration = {short(asked_s)}: at this load a flow arrives every {short(each_s)}; give a longer time"
            )
        return Times(0.0, asked_s, "as asked for")
    cost = runs * fabrics.cost_s(link, fabrics.FLOWS * each_s, HOPS_PER_S) / max(1, min(cores, runs))
    flows = fabrics.FLOWS if cost <= WANTED_S else max(fabrics.LEAST_FLOWS, math.floor(fabrics.FLOWS * WANTED_S / cost))
    return Times(0.0, flows * each_s, f"about {flows} flows")


def cost_s(link: Link, duration_s: float, runs: int, cores: int) -> float:
    """The estimated time of a comparison on these cores, in seconds."""
    hosts = link.flows + (readers(link)[0] if "web" in link.traffic else 0)
    run_cost_s = _packets(link, duration_s) * HOPS_A_PACKET / HOPS_PER_S + hosts * (FLOW_S + FLOW_S_PER_S * duration_s)
    return runs * run_cost_s / max(1, min(cores, runs))


def _round(seconds: float) -> float:
    """The value, rounded up to two digits."""
    step = 10.0 ** (math.floor(math.log10(seconds)) - 1)
    return math.ceil(seconds / step - 1e-9) * step


def _packets(link: Link, duration_s: float) -> float:
    return link.packets_per_s * duration_s


def _count(n: float) -> str:
    power = int(math.log10(max(n, 1))) // 3 * 3
    return f"{n / 10**power:.3g} " + {0: "", 3: "thousand", 6: "million", 9: "billion", 12: "trillion"}.get(
        power, f"10^{power}"
    )


def _time(seconds: float) -> str:
    return f"{round(seconds * 1e9)}ns"


def said(link: Link) -> list[str]:
    """A phrase for each part of the link's traffic."""
    if link.fabric is not None:
        return fabrics.said(link)
    clauses = []
    flow_counts: dict[str, int] = {}
    for (sender, _), n in link.senders_of_flows().items():
        flow_counts[sender] = flow_counts.get(sender, 0) + n
    if flow_counts:
        senders = " and ".join(f"{n} {name}" for name, n in flow_counts.items())
        long = "long transfer" if link.flows == 1 else "long transfers"
        clauses.append(f"{link.flows} {long} ({senders})")
    if "web" in link.traffic:
        clients, reading = readers(link)
        people = "one person" if clients == 1 else f"{clients} people"
        clauses.append(f"web pages for {people}, each read for {reading:.3g} s")
    if "incast" in link.traffic:
        clauses.append(
            f"a client that asks {racks.SERVERS} servers at once for {racks.ANSWER_BYTES // 1000} kB each, waits for "
            f"the last answer and then for {think_s(link) * 1e3:.3g} ms"
        )
    if "voice" in link.traffic:
        call = f"a call with {calls.said(link.adapt)}" if link.adapt else f"a voice call of {CALL_BPS // 1000} kbit/s"
        clauses.append(call)
    if STREAM in link.traffic:
        clauses.append(f"a live stream: {calls.streamed(link.adapt)}")
    return clauses
