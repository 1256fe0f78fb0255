"""The controls of a page, from the declarations of the scenario's models: units, ranges, defaults and sentences stand
there, and nowhere else."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tailback import _core
from tailback.lab.reach import READ, near, pulled_in
from tailback.lab.state import State, load, watched
from tailback.scenario.reference import describe

#: Where a path begins that is not of the document but of the discipline beside it.
BESIDE = "beside"
#: Bits of a packet in a product of rate and round trip.
PACKET_BITS = 12_000
Control = dict[str, Any]
Path = list[str]


@functools.cache
def declared(family: str, name: str) -> Mapping[str, Mapping[str, Any]]:
    """The parameters of a model by name."""
    found = next((m for m in describe(name) if m["family"] == family), None)
    return {p["name"]: p for p in found["parameters"]} if found else {}


@functools.cache
def _names(family: str) -> list[str]:
    return [m["name"] for f in describe() if f["family"] == family for m in f["models"]]


def controls(state: State) -> list[dict[str, Any]]:
    """Groups of controls: a title, and what can be set in it."""
    scenario = load(state.document)
    link = watched(scenario)
    row = next(x for x in scenario.spec["links"] if x["name"] == link)
    document = state.document
    groups: list[dict[str, Any]] = [
        {"title": "Run", "controls": _of_run(document)},
        {"title": f"Link {link}", "controls": _of_link(document, link, row)},
        {"title": "First discipline", "controls": _of_queue(_queue(document, link), ["link", link, "queue"], row)},
    ]
    if state.beside is not None:
        groups.append({"title": "Second discipline", "controls": _of_queue(state.beside, [BESIDE], row)})
    for flows in scenario.spec["flows"]:
        groups.append({"title": f"Flows {flows['name']}", "controls": _of_flows(document, flows)})
    groups.append({"title": "Other traffic", "controls": _of_others(document, row)})
    documents = state.documents()
    for group in groups:
        group["controls"] = [c for c in group["controls"] if c is not None and _can_move(documents, link, c)]
    return groups


def _can_move(documents: Sequence[Mapping[str, Any]], link: str, control: Control) -> bool:
    """Pull the ends of a slider in to values that load; whether there are such values."""
    if control["kind"] not in READ:
        return True
    beside = control["path"][0] == BESIDE
    path = ["link", link, "queue", *control["path"][1:]] if beside else control["path"]
    return pulled_in(documents[-1 if beside else 0], control, path)


def _at(document: Mapping[str, Any], path: Sequence[str]) -> Any:
    """What stands at a path; None where nothing does."""
    found: Any = document
    for key in path:
        if not isinstance(found, Mapping) or key not in found:
            return None
        found = found[key]
    return found


def _queue(document: Mapping[str, Any], link: str) -> Mapping[str, Any]:
    """The queue of a link, as a table."""
    given = _at(document, ["link", link, "queue"]) or _at(document, ["topology", "queue"])
    return given if isinstance(given, Mapping) else {"kind": str(given)}


def control(param: Mapping[str, Any], path: Iterable[str], value: Any, label: str | None = None) -> Control | None:
    """The control of a parameter; None for what is no single value."""
    kind = param["kind"]
    shown: Control = {
        "path": list(path),
        "label": label or str(param["name"]).replace("_", " "),
        "doc": param["doc"],
        "default": param["default"],
        "value": value,
    }
    match kind["type"]:
        case "choice":
            return {**shown, "kind": "choice", "choices": kind["words"]}
        case "flag":
            return {**shown, "kind": "bool"}
        case "size" | "level" | "text" | "profile" | "code-point":
            return {**shown, "kind": "text"}
        case "model" | "tables":
            return None
    if isinstance(value, (list, tuple)):
        return {**shown, "kind": "text"}
    word = kind["type"]
    given = value if value is not None else param["default"]
    number = None if given is None else _number(given, READ[word])
    least, most = near(number, kind["min"], kind["max"], word)
    range_ = [kind["min"], kind["max"]]
    return {**shown, "kind": word, "number": number, "least": least, "most": most, "range": range_}


def _number(given: Any, read: Callable[[str], float]) -> float | None:
    try:
        return float(given) if isinstance(given, (int, float)) else read(str(given))
    except ValueError:
        return None


def _of_run(document: Mapping[str, Any]) -> list[Control | None]:
    top = declared("table", "scenario")
    marking = document.get("marking")
    return [
        control(top["duration"], ["duration"], document.get("duration")),
        control(top["warmup"], ["warmup"], document.get("warmup")),
        control(top["seed"], ["seed"], document.get("seed")),
        {
            "path": ["marking"],
            "label": "marking",
            "doc": top["marking"]["doc"],
            "kind": "choice",
            "default": None,
            "value": marking,
            "choices": [True, False],
        },
    ]


def _of_link(document: Mapping[str, Any], link: str, row: Mapping[str, Any]) -> list[Control | None]:
    params, path = declared("table", "link"), ["link", link]
    delay = f"{row['delay_s'] * 1e3:.6g}ms"
    return [
        control(params["rate"], [*path, "rate"], f"{row['rate_bps'] / 1e6:.9g}Mbps"),
        control(params["delay"], [*path, "delay"], delay, "delay, one way"),
        {
            "path": [*path, "queue", "buffer"],
            "label": "buffer",
            "doc": "How much may wait, in products of the link's rate and the mean round trip; of both disciplines.",
            "kind": "products",
            "default": None,
            "value": row["buffer"],
            "number": _packets(row["buffer"]),
            "product": round(row["rate_bps"] * mean_rtt(document, row) / PACKET_BITS, 3),
            "least": 0.1,
            "most": 2.0,
        }
        if row["buffer"]
        else None,
    ]


def _packets(buffer: str) -> float | None:
    """A buffer in packets of the size that products are counted in; None for one without end."""
    count, unit = _core.parse_size(buffer)
    return None if count is None else count * 8 / PACKET_BITS if unit == "bytes" else float(count)


def mean_rtt(document: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    """The mean round trip that groups of flows declare; without any that of the link, and a millisecond at least."""
    found: list[float] = []
    for group in (document.get("flows") or {}).values():
        given = group.get("rtt") if isinstance(group, Mapping) else None
        found += [_core.parse_time(str(t)) for t in (given if isinstance(given, list) else [given]) if t is not None]
    return max(1e-3, sum(found) / len(found) if found else 2 * float(row["delay_s"]))


def _of_queue(queue: Mapping[str, Any], path: Path, row: Mapping[str, Any]) -> list[Control | None]:
    kind = str(queue.get("kind"))
    params = declared("queue", kind)
    chosen: Control = {
        "path": path,
        "label": "discipline",
        "doc": next((m["summary"] for m in describe(kind) if m["family"] == "queue"), ""),
        "kind": "queue",
        "default": None,
        "value": kind,
        "choices": _names("queue"),
        "buffers": [n for n in _names("queue") if "buffer" in declared("queue", n)],
    }
    return [chosen, *(control(p, [*path, name], queue.get(name)) for name, p in params.items())]


def _of_flows(document: Mapping[str, Any], row: Mapping[str, Any]) -> list[Control | None]:
    name = row["name"]
    path = ["flows", name]
    own = _at(document, path) or {}
    table = declared("table", "flows")
    made = [
        control(table["count"], [*path, "count"], own.get("count")),
        control(table["rtt"], [*path, "rtt"], own["rtt"], "round trip") if own.get("rtt") is not None else None,
    ]
    if row["transport"] == "tcp":
        made += _of_tcp(own.get("tcp"), [*path, "tcp"])
    traffic = own.get("traffic")
    if isinstance(traffic, Mapping) and "rate" in traffic:
        rate = declared("traffic", str(traffic.get("kind"))).get("rate")
        made += [control(rate, [*path, "traffic", "rate"], traffic["rate"])] if rate else []
    return made


def _of_tcp(given: Any, path: Path) -> list[Control | None]:
    tcp: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    params = declared("transport", "tcp")
    profile = tcp.get("profile", params["profile"]["default"])
    values: Mapping[str, Any] = next((p["values"] for p in _profiles() if p["name"] == profile), {})
    congestion = tcp.get("congestion")
    chosen = congestion.get("kind") if isinstance(congestion, Mapping) else congestion
    rows: tuple[tuple[str, str, Any, list[str]], ...] = (
        ("congestion", "congestion control", chosen, _names("congestion")),
        ("profile", "profile", tcp.get("profile"), [p["name"] for p in _profiles()]),
        ("ecn", "ECN", tcp.get("ecn"), params["ecn"]["kind"]["words"]),
    )
    return [
        {
            "path": [*path, name],
            "label": label,
            "doc": params[name]["doc"],
            "kind": "choice",
            # What a profile says replaces the default.
            "default": values.get(name, params[name]["default"]),
            "value": value,
            "choices": choices,
        }
        for name, label, value, choices in rows
    ]


@functools.cache
def _profiles() -> list[dict[str, Any]]:
    return [p for m in describe("tcp") if m["family"] == "transport" for p in m["profiles"]]


def _of_others(document: Mapping[str, Any], row: Mapping[str, Any]) -> list[Control | None]:
    """Traffic that is there or not."""
    web = _at(document, ["sessions", "web"])
    constant = {"kind": "cbr", "rate": f"{row['rate_bps'] / 4e6:.3g}Mbps"}
    clients = declared("table", "sessions")["clients"]
    return [
        {
            "path": ["flows", "unresponsive"],
            "label": "a flow that does not slow down",
            "doc": "Datagrams at a constant rate, at first a quarter of the link's.",
            "kind": "present",
            "default": None,
            "value": _at(document, ["flows", "unresponsive"]) is not None,
            "make": {"traffic": constant, "packet_size": "1500B"},
        },
        {
            "path": ["sessions", "web"],
            "label": "web pages",
            "doc": "Clients that fetch pages and read them, over connections opened while the run goes on.",
            "kind": "present",
            "default": None,
            "value": web is not None,
            "make": {"kind": "web", "clients": 10},
        },
        control(clients, ["sessions", "web", "clients"], web.get("clients")) if isinstance(web, Mapping) else None,
    ]
