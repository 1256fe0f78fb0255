"""The line as a scenario: from rates, a round trip and a queue, or from a scenario of the user's, whose ends become the
program and the outside.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.core.scenario.read import load_scenario

#: The longest run, s. The clock of a network ends after 78 hours.
LONGEST = 3 * 86_400
#: The number of conversations with their own row and queue. Later conversations share the last one.
CONVERSATIONS = 2048
GROUP = "conversation"
LINK = "line"
INSIDE, OUTSIDE = "inside", "outside"
#: The buffer before a line without a given buffer, as in `tailback home`.
ASSUMED_MODEM = "250ms"
#: The share of the line's rate at which a shaper at home sends, so that packets wait in the shaper and not in the
#: modem.
SHAPED = 0.95
#: The rate of a file of Mahimahi that has a line for each millisecond, until its first opportunity, bit/s.
_MAHIMAHI_BPS = 12_032_000
#: The smallest buffer, bytes: two full packets.
_LEAST_BUFFER = 3000


class Unusable(ValueError):
    """The given options do not describe a line. The text has the remedy."""


@dataclass(frozen=True)
class LineAsked:
    """The line as the options of the command describe it."""

    down: str | None = None
    up: str | None = None
    rtt: str | None = None
    queue: str | None = None
    modem: str | None = None
    loss: str | None = None
    trace_down: str | None = None
    trace_up: str | None = None
    marking: bool | None = None
    seed: int | None = None
    #: The folder of the scenario's file. The paths of its traces are relative to this folder.
    folder: Path = Path()
    #: The nodes of a scenario at which the program and the outside are, as `INSIDE,OUTSIDE`.
    ends: str | None = None


def _parsed(option: str, parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except ValueError as e:
        raise Unusable(f"{option} {text}: {e}") from e


def _pair(option: str, text: str) -> tuple[str, str]:
    """The values down and up; a single value is for both."""
    texts = [part.strip() for part in text.split(",")]
    if len(texts) > 2 or not all(texts):
        raise Unusable(f"{option} {text}: give one value, or two as DOWN,UP")
    return texts[0], texts[-1]


def _share(option: str, text: str) -> float:
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise Unusable(f"{option} {text}: give a share of the packets such as 1% or 0.01")
    return share


def _queue(text: str) -> Any:
    """The name of a discipline, or its table."""
    if "{" not in text:
        return text
    try:
        return tomllib.loads(f"queue = {text}")["queue"]
    except tomllib.TOMLDecodeError as e:
        raise Unusable(f'--queue {text}: {e}; write a name, or a table such as {{ kind = "codel" }}') from e


def _bytes(text: str, rate_bps: float) -> tuple[int, bool]:
    """The bytes of a buffer, and whether it was given as a time at the line's rate and not as a size."""
    try:
        return int(_core.parse_time(text) * rate_bps / 8), True
    except ValueError:
        pass
    try:
        return _core.parse_bytes(text), False
    except ValueError:
        raise Unusable(
            f"--modem {text}: give a time at the line's rate such as 250ms, or a size such as 64KB"
        ) from None


def _buffer(text: str, rate_bps: float) -> str:
    return f"{max(_bytes(text, rate_bps)[0], _LEAST_BUFFER)} bytes"


def _is_mahimahi(path: Path) -> bool:
    """Whether a file has one whole number in each line; only the first line is read."""
    with path.open(encoding="utf-8", errors="replace") as f:
        return f.readline().strip().isdigit()


def _followed(option: str, text: str, link: str) -> dict[str, Any]:
    path = Path(text).resolve()
    try:
        kind = "mahimahi" if _is_mahimahi(path) else "trace"
    except OSError as e:
        raise Unusable(f"{option} {text} cannot be read: {e.strerror}") from e
    return {"link": link, kind: str(path)}


def _rate(option: str, text: str | None, traced: str | None) -> int:
    if text is not None:
        return round(float(_parsed(option, _core.parse_rate, text)))
    if traced is not None:
        return _MAHIMAHI_BPS
    raise Unusable(f"{option} is missing; give the rate of the line, such as {option} 20Mbps, or a --scenario")


def _conversations(inside: str, outside: str, rtt: str | None = None) -> dict[str, Any]:
    """A group of flows for the conversations of the program, whose packets come from outside the scenario."""
    group = {"from": inside, "to": outside, "count": CONVERSATIONS, "transport": "udp"}
    group |= {"traffic": {"kind": "cbr", "rate": "1kbps"}, "start": f"{LONGEST - 1}s"}
    return group if rtt is None else {**group, "rtt": rtt}


def of_options(asked: LineAsked) -> dict[str, Any]:
    """The scenario of a line, in the form of a document."""
    if asked.ends is not None:
        raise Unusable("--ends names nodes of a scenario; give --scenario FILE with it")
    # Wrong options are reported before missing ones.
    rtt = _parsed("--rtt", _core.parse_time, asked.rtt or "0s")
    losses = [_share("--loss", share) for share in _pair("--loss", asked.loss)] if asked.loss else []
    modem = asked.modem or (None if asked.queue else ASSUMED_MODEM)
    buffers = _pair("--modem", modem) if modem else ()
    for text in buffers:
        _buffer(text, 1.0)
    down_bps, up_bps = _rate("--down", asked.down, asked.trace_down), _rate("--up", asked.up, asked.trace_up)
    link: dict[str, Any] = {"from": INSIDE, "to": OUTSIDE, "rate": f"{up_bps}bps", "reverse_rate": f"{down_bps}bps"}
    link["delay"] = f"{round(rtt * 1e9) // 2}ns"
    links = {LINK: link}
    if buffers:
        of_down, of_up = buffers
        for key, text, rate in (("queue", of_up, up_bps), ("reverse_queue", of_down, down_bps)):
            link[key] = {"kind": "droptail", "buffer": _buffer(text, rate)}
    if asked.queue and not modem:
        link["queue"] = _queue(asked.queue)
    elif asked.queue:
        if asked.trace_down or asked.trace_up:
            raise Unusable(
                "--queue before a --modem is a shaper with a rate of its own; leave --modem or the traces out"
            )
        link["from"] = "modem"
        rates = {"rate": f"{round(up_bps * SHAPED)}bps", "reverse_rate": f"{round(down_bps * SHAPED)}bps"}
        shaper = {"from": INSIDE, "to": "modem", **rates, "delay": "0s", "queue": _queue(asked.queue)}
        links = {"shaper": shaper, LINK: link}
    for key, probability in zip(("reverse_impair", "impair"), losses, strict=False):
        if probability:
            link[key] = [{"kind": "random", "probability": probability}]
    changes = {}
    if asked.trace_down:
        changes["trace-down"] = _followed("--trace-down", asked.trace_down, f"{LINK}.reverse")
    if asked.trace_up:
        changes["trace-up"] = _followed("--trace-up", asked.trace_up, LINK)
    document = {"name": "behind", "link": links, "flows": {GROUP: _conversations(INSIDE, OUTSIDE)}}
    return document | ({"change": changes} if changes else {})


def ends_of(spec: Mapping[str, Any]) -> tuple[str, str]:
    """The two nodes at the ends of a scenario's network, in the order of its links."""
    times: dict[str, int] = {}
    for link in spec["links"]:
        if link["name"].endswith(".reverse"):
            continue
        for node in (link["from"], link["to"]):
            times[node] = times.get(node, 0) + 1
    leaves = [node for node, n in times.items() if n == 1]
    if len(leaves) != 2:
        finding = f"has {len(leaves)} ends ({', '.join(leaves[:6])})" if leaves else "has no ends"
        raise Unusable(f"the network of the scenario {finding}; say where the program is: --ends INSIDE,OUTSIDE")
    return leaves[0], leaves[1]


def of_file(base: Any, asked: LineAsked) -> tuple[dict[str, Any], list[str]]:
    """The links and changes of a checked scenario, with the program at its ends, and the keys of the parts that are
    left out."""
    given_options = {"--down": asked.down, "--up": asked.up, "--queue": asked.queue, "--modem": asked.modem}
    given_options |= {"--loss": asked.loss, "--trace-down": asked.trace_down, "--trace-up": asked.trace_up}
    for option, value in given_options.items():
        if value is not None:
            raise Unusable(f"{option} and --scenario are two descriptions of the line; change the file's with --set")
    document = tomllib.loads(base.toml)
    group_keys = document.get("flows", {}).get(GROUP)
    if asked.ends:
        inner_node, outer_node = _pair("--ends", asked.ends)
    else:
        inner_node, outer_node = (group_keys["from"], group_keys["to"]) if group_keys else ends_of(base.spec)
    rtt = asked.rtt or (group_keys or {}).get("rtt")
    left_keys = [f"{kind}.{name}" for kind in ("flows", "sessions") for name in document.pop(kind, {}) if name != GROUP]
    changes = document.get("change", {})
    of_flows = [name for name, change in changes.items() if "flows" in change]
    left_keys += [f"change.{name}" for name in of_flows]
    document["change"] = {name: change for name, change in changes.items() if name not in of_flows}
    for change in document["change"].values():
        for key in ("trace", "mahimahi"):
            if key in change:
                change[key] = str((asked.folder / change[key]).resolve())
    left_keys += [f"record.{name}" for name in document.pop("record", {})]
    for key in ("warmup", "interval", "end", "profile", "size_classes", "bdp_rtt"):
        if document.pop(key, None) is not None and key != "size_classes":
            left_keys.append(key)
    if not document["change"]:
        del document["change"]
    document["flows"] = {GROUP: _conversations(inner_node, outer_node, rtt)}
    return document, left_keys


def _assumed(asked: LineAsked) -> list[str]:
    """Notes on buffers that are given as a time at the rate of a trace, if this rate is not given."""
    if asked.queue and not asked.modem:
        return []
    buffers = _pair("--modem", asked.modem or ASSUMED_MODEM)
    sentences = []
    for direction, buffer, rate, trace in (
        ("down", buffers[0], asked.down, asked.trace_down),
        ("up", buffers[1], asked.up, asked.trace_up),
    ):
        if rate is None and trace is not None and _bytes(buffer, 1.0)[1]:
            size = _buffer(buffer, _MAHIMAHI_BPS)
            sentences.append(
                f"the buffer {direction} is {size}, {buffer} at {_MAHIMAHI_BPS / 1e6:g} Mbps, as the usual rate of "
                f"--trace-{direction} is not given; give it with --{direction}"
            )
    return sentences


def scenario(asked: LineAsked, base: Any | None, overrides: Sequence[str]) -> tuple[Any, list[str]]:
    """The scenario of a run, and notes on it. `base` is the user's checked scenario."""
    if base is None:
        document: dict[str, Any] = of_options(asked)
        notes = _assumed(asked)
    else:
        document, left_keys = of_file(base, asked)
        notes = [f"the program takes the place of {', '.join(left_keys)} of the scenario"] if left_keys else []
    document["duration"] = f"{LONGEST}s"
    if asked.seed is not None:
        document["seed"] = asked.seed
    if asked.marking is not None:
        document["marking"] = asked.marking
    elif base is None or not base.marking["given"]:
        document["marking"] = False
    scenario_built = load_scenario(document, overrides, name="the line")
    if scenario_built.queue_classes:
        raise Unusable(
            f"the queue {scenario_built.queue_classes[0]} is written in Python, and a box forwards with those of "
            "`tailback describe`; name one of these"
        )
    return scenario_built, [*map(str, scenario_built.warnings), *notes]
