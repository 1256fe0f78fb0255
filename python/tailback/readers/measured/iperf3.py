"""Reads iperf3's JSON (`iperf3 --json`, `--json-stream`) for TCP and UDP, of versions 3.0 to 3.17.

With `--reverse` the server sends; with `--bidir` both ends send. Rates are those that arrived, or those that were sent
if a version does not give the former.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tailback.readers.given import JSON, Given
from tailback.readers.measured.measured_line import next_commands, written
from tailback.readers.measured.measurement import Measurement, Role, Series, amount, numbers, said
from tailback.readers.reading import Notes, ReadError, Reading, short

KIND = "iperf3"
_STREAM = '{"event":'


def recognises(given: Given) -> bool:
    if _is_stream(given):
        return True
    d = _document(given)
    return isinstance(d, dict) and ("intervals" in d or "end" in d) and isinstance(d.get("start"), dict)


def _is_stream(given: Given) -> bool:
    return given.text[:100].lstrip().replace(" ", "").startswith(_STREAM)


def read(given: Given) -> Reading:
    notes = Notes()
    document = _of_stream(given, notes) if _is_stream(given) else _document(given)
    start, end = _table(document.get("start")), _table(document.get("end"))
    if document.get("error") and not document.get("intervals"):
        reason = str(document["error"]).split(":")[0]
        raise ReadError(f"iperf3 failed ({short(reason)})", "give a run that has finished", name=given.name)
    test = _table(start.get("test_start"))
    udp = str(test.get("protocol", "TCP")).upper() == "UDP"
    reverse, bidir = bool(_number(test.get("reverse"), 0)), bool(_number(test.get("bidir"), 0))
    # Some versions do not say that both directions were requested.
    bidir = bidir or "sum_sent_bidir_reverse" in end or "sum_bidir_reverse" in end
    main_role, reverse_role = (Role.DOWN, Role.UP) if reverse else (Role.UP, Role.DOWN)
    _say_settings(start, test, udp, reverse, bidir, notes)
    series = _rates(document, end, main_role, "", udp, notes)
    if bidir:
        series += _rates(document, end, reverse_role, "_bidir_reverse", udp, notes)
    if not series:
        raise ReadError(
            "iperf3's result has no intervals and no totals", "give a run that has finished", name=given.name
        )
    series += _round_trips(document)
    totals = _table(end.get("sum")) if udp else {}
    lost_packets, packets = _number(totals.get("lost_packets")), _number(totals.get("packets"))
    has_losses = packets > 0 and math.isfinite(lost_packets)
    sent_packets, received_packets = (int(packets), int(packets - lost_packets)) if has_losses else (None, None)
    resent_segments = _number(_table(end.get("sum_sent")).get("retransmits"))
    for s in series:
        notes.say(s.name, said(s))
    if has_losses:
        notes.say("lost", f"{int(lost_packets)} of {int(packets)} datagrams, {100 * lost_packets / packets:.3g} %")
    if math.isfinite(_number(totals.get("jitter_ms"))):
        notes.say("jitter", amount(_number(totals["jitter_ms"]) / 1e3, "s"))
    if math.isfinite(resent_segments):
        notes.say("sent again", f"{resent_segments:.0f} segments")
    if document.get("error"):
        notes.leave("the output after the error", f"iperf3 stopped ({short(str(document['error']).split(':')[0])})")
    notes.leave("addresses, ports, names of machines, cookies", "they are not kept")
    measurement = Measurement(
        "iperf3",
        tuple(series),
        _number(test.get("duration")),
        _settings(test, end, bidir, main_role, reverse_role),
        sent_packets,
        received_packets,
        int(resent_segments) if math.isfinite(resent_segments) else None,
    )
    title = f"iperf3's result, {'UDP' if udp else 'TCP'}, {_way(reverse, bidir)}"
    return Reading(
        KIND, title, tuple(notes.understood), notes.left, next_commands(measurement), measurement, written(measurement)
    )


def _say_settings(
    start: Mapping[str, Any], test: Mapping[str, Any], udp: bool, reverse: bool, bidir: bool, notes: Notes
) -> None:
    version = str(start.get("version", "")).split()
    notes.say("program", " ".join(["iperf3", *[w for w in version[1:2] if w[:1].isdigit()]]))
    notes.say("protocol", "UDP" if udp else "TCP")
    notes.say("direction", _way(reverse, bidir))
    for key, setting_name, unit in (
        ("num_streams", "flows", ""),
        ("duration", "length", " s"),
        ("omit", "left out first", " s"),
    ):
        if math.isfinite(value := _number(test.get(key))):
            notes.say(setting_name, f"{value:g}{unit}")
    if _number(test.get("target_bitrate"), 0) > 0:
        notes.say("target", amount(_number(test["target_bitrate"]), "bit/s"))


def _settings(
    test: Mapping[str, Any], end: Mapping[str, Any], bidir: bool, first: Role, second: Role
) -> dict[str, str]:
    settings = {}
    control = end.get("sender_tcp_congestion")
    if isinstance(control, str):
        settings["control"] = short(control)
    flows = _number(test.get("num_streams"))
    if math.isfinite(flows) and 0 < flows < 1000:
        settings[f"{first.value} flows"] = f"{flows:.0f}"
        if bidir:
            settings[f"{second.value} flows"] = f"{flows:.0f}"
    return settings


def _way(reverse: bool, bidir: bool) -> str:
    return "both directions at once" if bidir else "download (--reverse)" if reverse else "upload"


def _rates(
    d: Mapping[str, Any], end: Mapping[str, Any], role: Role, which: str, udp: bool, notes: Notes
) -> list[Series]:
    """The sum of all streams of a direction over time, and its mean over the run."""
    times, rates_bps = [], []
    omitted_count = 0
    for interval in d.get("intervals") or []:
        row = _table(_table(interval).get(f"sum{which}"))
        at_s, rate = _number(row.get("start")), _number(row.get("bits_per_second"))
        if row.get("omitted"):
            omitted_count += 1
        elif math.isfinite(at_s) and math.isfinite(rate):
            times.append(at_s)
            rates_bps.append(rate)
    if omitted_count:
        notes.leave(f"{omitted_count} intervals at the beginning", "iperf3 was asked to omit them")
    names = (f"sum_received{which}", f"sum{which}", f"sum_sent{which}")
    stated_rates = [_number(_table(end.get(name)).get("bits_per_second")) for name in names]
    # The rate is missing if the receiver did not report it.
    mean = next((rate for rate in stated_rates if rate > 0), math.nan)
    if math.isfinite(mean) and not stated_rates[0] > 0:
        mean *= 1 - _say_sent(_table(end.get(f"sum{which}")) if udp and stated_rates[1] > 0 else {}, role, notes)
    if not rates_bps and not math.isfinite(mean):
        return []
    return [Series(role.value, role, "bit/s", numbers(times), numbers(rates_bps), mean, whole=True)]


def _say_sent(totals: Mapping[str, Any], role: Role, notes: Notes) -> float:
    """Says that a mean is the rate that was sent, and gives the share that was lost if it is known. Before version 3.2,
    UDP has one total with the sender's rate and the receiver's losses."""
    lost_packets, packets = _number(totals.get("lost_packets")), _number(totals.get("packets"))
    if packets > 0 and 0 <= lost_packets <= packets:
        notes.say(f"mean, {role.value}", "assumed: the rate of the sender less what was lost")
        return lost_packets / packets
    notes.say(f"mean, {role.value}", "as sent: the receiver's total is missing, and what arrived is unknown")
    return 0.0


def _round_trips(d: Mapping[str, Any]) -> list[Series]:
    """TCP's own smoothed round trip, in microseconds. This time is not that of a ping."""
    times, round_trips = [], []
    for interval in d.get("intervals") or []:
        rows = [_table(s) for s in _table(interval).get("streams") or []]
        rtts = [_number(r.get("rtt")) for r in rows if _number(r.get("rtt"), 0) > 0]
        if rtts:
            times.append(_number(rows[0].get("start"), 0.0))
            round_trips.append(math.fsum(rtts) / len(rtts) / 1e6)
    if not round_trips:
        return []
    return [Series("TCP's round trip", Role.OTHER, "s", numbers(times), numbers(round_trips))]


def _document(given: Given) -> Any:
    """The first document, since people append several runs to one file."""
    if given.document is not None:
        return given.document
    text = given.text.lstrip()
    if not text.startswith("{") or '"start"' not in text[:4096]:
        return None
    try:
        return JSON.raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


def _of_stream(given: Given, notes: Notes) -> dict[str, Any]:
    """The document that the lines of --json-stream form."""
    document: dict[str, Any] = {"intervals": []}
    for line_number, line in given.filled:
        try:
            event = JSON.decode(line)
        except (ValueError, RecursionError):
            notes.leave(line, "it is no JSON", line_number)
            continue
        name, event_data = (event.get("event"), event.get("data")) if isinstance(event, dict) else (None, None)
        if name == "interval":
            document["intervals"].append(event_data)
        elif name in ("start", "end", "error"):
            document[name] = event_data
    return document


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any, default: float = math.nan) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e300 else default
