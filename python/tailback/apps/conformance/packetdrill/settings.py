"""Maps a script's settings to a sender here, with one row for each setting, and applies the options that a connection
negotiates.

A row names the parameters of `tcp` for each value, or notes that senders here do not depend on the setting, or names
the part that is not modelled. A setting without a row cannot be expressed here; the kernel takes all settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tailback import _core
from tailback.apps.conformance.packetdrill.script import Command, Packet, Refused, Script

#: Settings of IPv4's TCP; rows leave the prefix out.
PREFIX = "net.ipv4."


@dataclass(frozen=True)
class Row:
    """The meaning of a setting for a sender here."""

    name: str
    #: Parameters of `tcp` for each value.
    by_value: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: A parameter that takes the value, and the form in which the value is written.
    parameter: str = ""
    form: str = "{}"
    #: The reason why senders here do not depend on the setting.
    without: str = ""
    #: The part that is not modelled, which is noted beside the verdict.
    lacks: str = ""


_ACCURATE = {"ecn": "on", "accurate_ecn": "option", "accurate_ecn_form": "linux", "ecn_syns": 2}
_ON_OFF = {"0": False, "1": True}
_FULL_SEGMENTS = "segments leave one by one"

ROWS = (
    Row("tcp_congestion_control", parameter="congestion"),
    Row("tcp_sack", {"0": {"variant": "newreno"}, "1": {}}),
    Row("tcp_dsack", {v: {"dsack": on} for v, on in _ON_OFF.items()}),
    Row("tcp_timestamps", {"0": {"timestamps": False}, "1": {}, "2": {}}),
    Row("tcp_window_scaling", {"0": {}, "1": {}}),
    Row("tcp_ecn", {"0": {"ecn": "off"}, "1": {"ecn": "on"}, "2": {"ecn": "on"}, **dict.fromkeys("345", _ACCURATE)}),
    Row("tcp_frto", {"0": {"frto": False}, "1": {"frto": True}, "2": {"frto": True}}),
    Row(
        "tcp_early_retrans", {**{str(n): {"tlp": False} for n in (0, 1, 2)}, **{str(n): {"tlp": True} for n in (3, 4)}}
    ),
    Row("tcp_recovery", {"0": {"loss": "dupthresh"}, "1": {"loss": "rack"}}),
    Row("tcp_reordering", parameter="dupack_threshold"),
    Row("tcp_slow_start_after_idle", {v: {"idle_restart": on} for v, on in _ON_OFF.items()}),
    Row("tcp_syn_retries", parameter="syn_retries"),
    Row("tcp_synack_retries", parameter="syn_retries"),
    Row("tcp_rto_min_us", parameter="min_rto", form="{}us"),
    Row("tcp_rto_max_ms", parameter="max_rto", form="{}ms"),
    Row("tcp_min_tso_segs", lacks=_FULL_SEGMENTS),
    Row("tcp_tso_win_divisor", lacks=_FULL_SEGMENTS),
    Row("tcp_tso_rtt_log", lacks=_FULL_SEGMENTS),
    Row("tcp_pacing_ss_ratio", without="senders of window controls are not paced"),
    Row("tcp_pacing_ca_ratio", without="senders of window controls are not paced"),
    Row("tcp_rmem", without="the far end of a script sends what it likes"),
    Row("tcp_wmem", without="what an application writes is kept whole"),
    Row("tcp_fack", without="Linux ignores it since 4.15"),
    Row("tcp_ecn_option", {"0": {"option": False}, "2": {}, "3": {}}),
    Row("tcp_ecn_option_beacon", without="the option is on each segment"),
    Row("tcp_ecn_fallback", without="SYNs of a script are answered"),
    Row("tcp_notsent_lowat", without="what an application writes is kept whole"),
    Row("tcp_fastopen", without="there is no Fast Open: its option is refused where a script has it"),
    Row("tcp_fastopen_key", without="there is no Fast Open"),
    Row("tcp_fastopen_blackhole_timeout_sec", without="there is no Fast Open"),
    Row("tcp_syncookies", without="a script has one connection"),
    Row("tcp_no_metrics_save", without="each script begins anew"),
    Row("tcp_mtu_probing", {"0": {}}),
    Row("tcp_base_mss", without="the path's MTU is not probed"),
    Row("tcp_autocorking", without="a write is sent at once"),
    Row("tcp_limit_output_bytes", without="there is no device below the sender"),
    Row("tcp_invalid_ratelimit", without="challenge ACKs are not limited"),
    Row("tcp_challenge_ack_limit", without="challenge ACKs are not limited"),
    Row("tcp_shrink_window", without="the far end of a script sends what it likes"),
    Row("tcp_cubic.hystart_detect", {"3": {}}),
    Row("ip_forward", without="a script has two ends"),
)
_BY_NAME = {row.name if "." in row.name else PREFIX + row.name: row for row in ROWS}

#: Attributes of a route that set parameters of `tcp`, and those that have no effect here.
_ROUTE = {"initcwnd": ("initial_window", "{} packets"), "rto_min": ("min_rto", "{}")}
_ROUTE_WITHOUT = {"via", "dev", "src", "metric", "initrwnd", "scope", "proto", "table"}
_QDISCS = {"pfifo": "", "pfifo_fast": "", "noqueue": "", "fq": "the pacing of fq is not modelled"}

#: The sender of a script before its settings: Linux's defaults.
BASE: Mapping[str, Any] = {
    "profile": "linux", "connection": "two-way", "nagle": True, "ecn": "on", "congestion": "cubic",
}  # fmt: skip
#: Bytes of the headers of IPv4 and TCP, and of a timestamp with its padding.
_HEADERS, _STAMP = 40, 12
#: The option of accurate ECN with its padding, B.
_COUNTS = 12
#: The segment size of a SYN without an MSS option (RFC 9293 section 3.7.1).
_DEFAULT_MSS = 536


@dataclass
class Setup:
    """The settings of a sender before a script begins."""

    tcp: dict[str, Any]
    #: Whether the script's end waits for a SYN.
    passive: bool
    #: The window scale of arriving segments after the SYNs.
    shift: int
    #: Notes on what is not modelled or not compared.
    notes: list[str]


def setup(script: Script) -> Setup:
    """A sender for a script. Raises Refused for a setting that cannot be expressed."""
    notes: dict[str, None] = {}
    tcp, ecn_of_clients, mss = dict(BASE), False, script.mtu - _HEADERS
    is_scaled = True
    is_passive = any(True for _ in script.calls("listen"))
    for line, command in commands(script):
        for name, value, note in _of_command(command, line):
            if note:
                notes[note] = None
            elif name == "mss":
                mss = min(mss, int(value))
            elif name:
                tcp[name] = value
        if command.set and command.set[0] == PREFIX + "tcp_ecn":
            ecn_of_clients = command.set[1] in ("1", "3", "4")
            if command.set[1] == "4" and not is_passive:
                tcp["accurate_ecn"] = "off"
        if command.set and command.set[0] == PREFIX + "tcp_window_scaling":
            is_scaled = command.set[1] != "0"
    if not tcp.pop("option", True) and tcp.get("accurate_ecn") == "option":
        tcp["accurate_ecn"] = "ace"
    for _, call in script.calls("setsockopt"):
        names = [a[0] for a in call.arguments[1:3] if isinstance(a, tuple) and len(a) == 1]
        value = call.arguments[3] if len(call.arguments) > 3 else None
        if names[1:] == ["TCP_CONGESTION"] and isinstance(value, str):
            tcp["congestion"] = value
        elif names[1:] == ["TCP_NODELAY"] and value == [1]:
            tcp["nagle"] = False
        elif names[1:] == ["TCP_MAXSEG"] and isinstance(value, list) and value and isinstance(value[0], int):
            mss = min(mss, max(value[0], 1))
    if tcp["ecn"] == "on" and not is_passive and not ecn_of_clients:
        # With a value of 2, the default, a host does not request ECN but agrees to it.
        tcp["ecn"] = "off"
    shift = _agree(script, tcp, mss, is_scaled)
    _check_control(script, tcp)
    return Setup(tcp, is_passive, shift, list(notes))


def _agree(script: Script, tcp: dict[str, Any], mss: int, scaling: bool) -> int:
    """Applies the arriving SYN to these settings, and returns its window scale."""
    syn = next(
        (p for _, p, arrives in script.packets() if arrives and p.has("S") and not p.has("R")), Packet("S", 0, 0)
    )
    tcp["timestamps"] = syn.stamps is not None and tcp.get("timestamps", True)
    if not syn.sack_permitted:
        tcp["variant"] = "newreno"
    if tcp.get("variant") == "newreno":
        tcp["dsack"] = False
    # The option of accurate ECN is on each segment once the other end has sent it.
    first_counts = next((p for _, p, arrives in script.packets() if arrives and p.counts is not None), None)
    counts = tcp.get("accurate_ecn") == "option" and first_counts is not None and (first_counts is syn or not syn.ack)
    payload = min(mss, syn.mss or _DEFAULT_MSS) - _STAMP * tcp["timestamps"] - _COUNTS * counts
    tcp["payload"] = f"{max(payload, 1)}B"
    return syn.scale if syn.scale and scaling else 0


def _check_control(script: Script, tcp: dict[str, Any]) -> None:
    control = tcp["congestion"]
    if len(_core.models_meant("congestion", control)) != 1:
        lines = [line for line, c in commands(script) if c.set == (PREFIX + "tcp_congestion_control", control)]
        line = next(iter(lines), script.steps[0].line)
        raise Refused(line, control, "there is no congestion control of this name here; `tailback describe` lists them")


def commands(script: Script) -> Iterator[tuple[int, Command]]:
    """The settings of the connection, which are before the first segment. Raises Refused for a later setting, unless no
    segment or call follows the setting."""
    is_begun = has_carried_data = False
    last_step = max((i for i, s in enumerate(script.steps) if s.arrives or s.sends or s.call), default=0)
    for i, step in enumerate(script.steps):
        is_begun = is_begun or step.arrives is not None or step.sends is not None
        has_carried_data = has_carried_data or (step.sends is not None and not step.sends.has("S"))
        for command in step.commands or []:
            if not is_begun:
                yield command.line, command
            elif command.set and command.set[0] == PREFIX + "tcp_ecn_option" and not has_carried_data:
                # Before this only SYNs had the option, and options of SYNs are not compared.
                yield command.line, command
            elif i < last_step and (command.set or command.route):
                raise Refused(command.line, command.text[:60], "a setting holds from the beginning of the connection")


def _of_command(command: Command, line: int) -> Iterator[tuple[str, Any, str]]:
    """Parameters and values, or notes."""
    if command.set:
        yield from _of_row(*command.set, line)
    elif command.route is not None:
        yield from _of_route(command.route, line)
    elif command.qdisc is not None:
        kinds = [w for w in command.qdisc if w in _QDISCS]
        if not kinds and command.qdisc[:1] not in (["delete"], ["del"]):
            choices = ", ".join(_QDISCS)
            raise Refused(line, command.text[:60], f"of queues below the sender only {choices} are read")
        for kind in kinds:
            yield "", None, _QDISCS[kind]


def _of_row(name: str, value: str, line: int) -> Iterator[tuple[str, Any, str]]:
    row = _BY_NAME.get(name)
    if row is None:
        raise Refused(line, name, "senders here do not have this setting")
    if row.lacks:
        yield "", None, f"{row.name} is not modelled: {row.lacks}"
    elif row.parameter:
        if row.form != "{}" and not value.isdecimal():
            raise Refused(line, f"{name}={value}"[:60], "write a whole number")
        yield row.parameter, _number(row.form.format(value)), ""
    elif not row.without:
        if value not in row.by_value:
            choices = ", ".join(row.by_value)
            raise Refused(line, f"{name}={value}"[:60], f"of this setting only {choices} can be expressed")
        for parameter, parameter_value in row.by_value[value].items():
            yield parameter, parameter_value, ""


def takes_nothing(qdisc: list[str]) -> bool:
    """Whether the command sets a queue with the limit 0."""
    return any(a == "limit" and b == "0" for a, b in pairwise(qdisc))


def _number(text: str) -> Any:
    return int(text) if text.isdecimal() and len(text) < 10 else text


def _of_route(words: list[str], line: int) -> Iterator[tuple[str, Any, str]]:
    position = 2
    while position < len(words):
        word = words[position]
        value = words[position + 1] if position + 1 < len(words) else ""
        if word in ("mtu", "advmss"):
            if value == "lock":
                position += 1
                value = words[position + 1] if position + 1 < len(words) else ""
            if not value.isdecimal() or len(value) > 5:
                raise Refused(line, f"{word} {value}"[:60], "write a whole number of bytes")
            yield "mss", int(value) - (_HEADERS if word == "mtu" else 0), ""
        elif word in _ROUTE and value:
            parameter, form = _ROUTE[word]
            yield parameter, form.format(value), ""
        elif word not in _ROUTE_WITHOUT:
            raise Refused(line, word, "of a route only initcwnd, rto_min, mtu and advmss are read")
        position += 2
