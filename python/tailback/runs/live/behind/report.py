"""The summary of the packets on the line, as a document and as text: each direction, each queue, each flow."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.core.text.json_text import clean
from tailback.core.text.whole import write_text
from tailback.runs.live.behind.engine import WhatPassed
from tailback.runs.live.behind.line import GROUP
from tailback.runs.result import Result

#: A run is not reliable if one packet in a hundred was written later than this, s.
MOST_LATENESS = 0.001
#: The most flows in the text. The document has all flows.
_MOST_SHOWN = 20
_PROTOCOLS = {1: "icmp", 6: "tcp", 17: "udp", 58: "icmpv6"}
_WAITS = ("sojourn_p50_s", "sojourn_p95_s", "sojourn_p99_s", "sojourn_max_s")
DOCUMENT = "behind.json"


def _is_up(scenario: Any, name: str) -> bool:
    """Whether a direction of a link leads away from the program."""
    spec = scenario.spec
    group = next(g for g in spec["flows"] if g["name"] == GROUP)
    hops_to, steps = {group["from"]: 0}, [group["from"]]
    neighbours: dict[str, list[str]] = {}
    for link in spec["links"]:
        neighbours.setdefault(link["from"], []).append(link["to"])
        neighbours.setdefault(link["to"], []).append(link["from"])
    while steps:
        node = steps.pop(0)
        for neighbour in neighbours.get(node, []):
            if neighbour not in hops_to:
                hops_to[neighbour] = hops_to[node] + 1
                steps.append(neighbour)
    link = next(one for one in spec["links"] if one["name"] == name.removesuffix(".reverse"))
    is_forward = hops_to.get(link["from"], 0) < hops_to.get(link["to"], 0)
    return is_forward != name.endswith(".reverse")


def _reasons(losses: Sequence[Mapping[str, Any]], link: str, event: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in losses:
        if row["link"] == link and row["event"] == event:
            counts[row["reason"]] = counts.get(row["reason"], 0) + row["packets"]
    return counts


def document(answer: WhatPassed, scenario: Any) -> dict[str, Any]:
    """The document of all packets on the line. Rates are those of IP packets over the whole run."""
    q, time_s = answer.quality, max(answer.quality["time_s"], 1e-9)
    losses = list(answer.results.losses.rows())
    queues = []
    for row in answer.results.links.rows():
        name = row["name"]
        queues.append(
            {
                "queue": name,
                "direction": "up" if _is_up(scenario, name) else "down",
                **{k: row[k] for k in ("arrived_packets", "delivered_packets", "dropped_packets", "marked_packets")},
                "drops_by_reason": _reasons(losses, name, "drop"),
                "marks_by_reason": _reasons(losses, name, "mark"),
                **{k: row[k] for k in ("sojourn_mean_s", *_WAITS)},
            }
        )
    directions = {}
    for direction, side in (("down", "near"), ("up", "far")):
        of_it = [one for one in queues if one["direction"] == direction]
        directions[direction] = {
            "bytes": q[f"{side}_bytes"],
            "rate_bps": q[f"{side}_bytes"] * 8 / time_s,
            "busiest_second_bps": q[f"{side}_busiest_bps"],
            "dropped_packets": sum(one["dropped_packets"] for one in of_it),
            "marked_packets": sum(one["marked_packets"] for one in of_it),
        }
    late_s = q["lateness_p99_s"]
    reasons = []
    if late_s > MOST_LATENESS:
        reasons.append(
            f"one packet in a hundred was written more than {late_s * 1e3:.2f} ms late (the bound is "
            f"{MOST_LATENESS * 1e3:g} ms): the machine was busy with something else"
        )
    cleaned: dict[str, Any] = clean(
        {
            "time_s": q["time_s"],
            **directions,
            "queues": queues,
            "flows": _flows(answer),
            "valid": not reasons,
            "invalid": reasons,
            "captured_packets": answer.captured,
            "quality": {k: v for k, v in q.items() if not k.endswith("_bytes") and "busiest" not in k},
        }
    )
    return cleaned


def _flows(answer: WhatPassed) -> list[dict[str, Any]]:
    rows = {row["id"]: row for row in answer.results.flows.rows()}
    flows = []
    for name, (first, conversations) in answer.had.items():
        source, destination, protocol, from_port, to_port = first
        row = rows[name]
        flows.append(
            {
                "protocol": _PROTOCOLS.get(protocol, str(protocol)),
                "from": str(source),
                "from_port": from_port,
                "to": str(destination),
                "to_port": to_port,
                "conversations": conversations,
                "up": _way(row, ""),
                "down": _way(row, "reverse_"),
            }
        )
    return flows


def _way(row: Mapping[str, Any], head: str) -> dict[str, Any]:
    names = ("sent_packets", "received_packets", "dropped_packets", "marked_packets", "delay_mean_s")
    return {name: row[f"{head}{name}"] for name in names}


def save(answer: WhatPassed, scenario: Any, out: str) -> None:
    """Writes the tables of the run, and its scenario, with which the run can be repeated."""
    Result(answer.results, scenario).save(out)


def write(found: Mapping[str, Any], out: str) -> None:
    write_text(Path(out) / DOCUMENT, json.dumps(found, indent=1, allow_nan=False) + "\n")


def files(out: str) -> list[str]:
    """The files that a run writes into this folder."""
    names = (DOCUMENT, "scenario.toml", "manifest.json", *(f"{table}.parquet" for table in _core.TABLES))
    return [str(Path(out) / name) for name in names]


def give(paths: Sequence[str], user: int, group: int) -> None:
    """Makes the user who called `sudo` the owner of these files and folders."""
    for path in paths:
        os.chown(path, user, group, follow_symlinks=False)


def _rate(bps: float | None) -> str:
    return f"{(bps or 0) / 1e6:.2f} Mb/s"


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.1f}"


def _by_reason(count: int, reasons: Mapping[str, int], verb: str) -> str:
    if not count:
        return f"0 {verb}"
    return f"{count} {verb} ({', '.join(f'{reason} {n}' for reason, n in reasons.items())})"


def text(found: Mapping[str, Any]) -> str:
    lines = [f"tailback behind: {found['time_s']:.1f} s behind the line, {found['ended']['said']}"]
    for direction in ("down", "up") if found["flows"] else ():
        d = found[direction]
        busiest = f", {_rate(d['busiest_second_bps'])} in its busiest second" if d["busiest_second_bps"] else ""
        lines.append(f"  {direction}: {_rate(d['rate_bps'])} on average{busiest}")
        for queue in found["queues"]:
            if queue["direction"] != direction:
                continue
            lines.append(
                f"    {queue['queue']}: {queue['arrived_packets']} packets in, {queue['delivered_packets']} out, "
                f"{_by_reason(queue['dropped_packets'], queue['drops_by_reason'], 'dropped')}, "
                f"{_by_reason(queue['marked_packets'], queue['marks_by_reason'], 'marked')}"
            )
            if queue["sojourn_p50_s"] is None:
                continue
            waits = [_ms(queue[key]) for key in _WAITS]
            lines.append(f"      wait {waits[0]} ms (median), {waits[1]} (p95), {waits[2]} (p99), {waits[3]} (most)")
    lines += _flow_lines(found["flows"])
    q = found["quality"]
    if q["lateness_p99_s"] is not None:
        lines.append(
            f"  packets written late by {q['lateness_p50_s'] * 1e6:.0f} us (median), "
            f"{q['lateness_p99_s'] * 1e6:.0f} us (p99), {q['lateness_max_s'] * 1e3:.2f} ms (most)"
        )
    lines += [f"  NOT VALID: {why}" for why in found["invalid"]]
    for server in found["servers"]:
        if server["ended"] is not None:
            lines.append(f"  --server {server['command']} ended before the program: {server['ended']}")
    lines += [f"  note: {note}" for note in found["notes"]]
    return "\n".join(lines)


def _flow_lines(flows: Sequence[Mapping[str, Any]]) -> list[str]:
    if not flows:
        return ["  no packet passed"]

    def heavy(flow: Mapping[str, Any]) -> int:
        return int(flow["down"]["received_packets"] + flow["up"]["received_packets"])

    heaviest = sorted(flows, key=heavy, reverse=True)[:_MOST_SHOWN]
    head = ("packets with data", "down", "dropped", "delay, ms", "up", "dropped", "delay, ms")
    rows: list[tuple[str, ...]] = [head]
    for flow in heaviest:
        target = f"[{flow['to']}]" if ":" in flow["to"] else flow["to"]
        name = f"{flow['protocol']} {target}" + (
            f":{flow['to_port']} from {flow['from_port']}" if flow["to_port"] else ""
        )
        further = flow["conversations"] - 1
        name += f" and {further} more" if further else ""
        cells: list[str] = []
        for way in (flow["down"], flow["up"]):
            cells += [str(way["received_packets"]), str(way["dropped_packets"]), _ms(way["delay_mean_s"])]
        rows.append((name, *cells))
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = []
    for name, *numbers in rows:
        aligned_cells = [number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True)]
        lines.append("  ".join(["", name.ljust(widths[0]), *aligned_cells]))
    if len(flows) > len(heaviest):
        lines.append(f"  and {len(flows) - len(heaviest)} more flows; --out DIR has all")
    return lines
