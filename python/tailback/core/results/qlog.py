"""Writes the series of a flow as qlog, which tools for QUIC such as qvis read.

The file is a sequence of JSON texts (RFC 7464), as draft-ietf-quic-qlog-main-schema-13 defines. Windows and round trips
are recovery events of draft-ietf-quic-qlog-quic-events-12. Values that only TCP has, and drops and marks by queues, are
events of tailback's own schema. An event has the values that changed since the event before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from tailback.core.text.json_text import json_text

QUIC = "urn:ietf:params:qlog:events:quic-12"
#: Ours: `tailback_tcp:metrics_updated`, `tailback_tcp:packet_dropped`, `tailback_tcp:packet_marked`.
TCP = "urn:tailback:qlog:events:tcp-1"
#: Probes that are fields of recovery_metrics_updated: first those in segments, then those in seconds.
_WINDOWS = {"cwnd": "congestion_window", "ssthresh": "ssthresh"}
_TIMES = {"srtt": "smoothed_rtt", "rttvar": "rtt_variance"}
#: Probes that only TCP has, with the factor to the unit of the field.
_OWN = {"rto": ("retransmission_timeout_ms", 1e3), "backoff": ("backoff", 1.0), "dupacks": ("duplicate_acks", 1.0)}
#: The threshold in segments that a kernel shows for a connection without one.
_NO_THRESHOLD = 2.0**31 - 1
_LOGGED = {"drop": "packet_dropped", "mark": "packet_marked"}


class NoSeries(ValueError):
    """The results have no series of this flow."""


def qlog(
    series: Iterator[Mapping[str, Any]], log: Iterator[Mapping[str, Any]], flow: str, segment: int, title: str
) -> Iterator[str]:
    """The records of a file, each with its separator. `series` and `log` are rows of one run; `segment` is the payload
    of a full segment in bytes. Raises NoSeries."""
    points: dict[float, dict[str, float]] = {}
    for row in series:
        if row["what"] == f"flows.{flow}":
            points.setdefault(row["time_s"], {})[row["probe"]] = row["value"]
    if not any({*_WINDOWS, *_TIMES, *_OWN, "outstanding"} & set(at) for at in points.values()):
        raise NoSeries(
            f"the results have no windows of {flow}; record them: [record.windows] with flows = "
            f'"{flow.rpartition(".")[0]}", probes = ["cwnd", "ssthresh", "srtt", "phase"], every = "10ms"'
        )
    yield _record(_head(flow, title))
    events = [(t, 0, e) for t, e in _metrics(points, segment)]
    events += [(row["time_s"], 1, _logged(row)) for row in log if row["flow"] == flow and row["event"] in _LOGGED]
    for t, _, event in sorted(events, key=lambda e: e[:2]):
        yield _record({"time": round(t * 1e3, 6), **event})


def _record(document: Mapping[str, Any]) -> str:
    return f"\x1e{json_text(document)}\n"


def _head(flow: str, title: str) -> dict[str, Any]:
    return {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": title,
        "trace": {
            "common_fields": {
                "time_format": "relative_to_epoch",
                "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
                "protocol_types": ["TCP"],
            },
            "vantage_point": {"name": flow, "type": "client"},
            "event_schemas": [QUIC, TCP],
        },
    }


def _metrics(points: Mapping[float, Mapping[str, float]], segment: int) -> Iterator[tuple[float, dict[str, Any]]]:
    last_fields: dict[str, Any] = {}
    last_own_fields: dict[str, Any] = {}
    probe_values: dict[str, float] = {}
    state = ""
    for t in sorted(points):
        probe_values |= points[t]
        if changed_fields := _changed(_fields(probe_values, segment), last_fields):
            yield t, {"name": "quic:recovery_metrics_updated", "data": changed_fields}
        if changed_fields := _changed(_own_fields(probe_values), last_own_fields):
            yield t, {"name": "tailback_tcp:metrics_updated", "data": changed_fields}
        if (state_now := _state(probe_values)) and state_now != state:
            old_state = {"old": state} if state else {}
            yield t, {"name": "quic:congestion_state_updated", "data": {**old_state, "new": state_now}}
            state = state_now


def _changed(fields: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    changed_fields = {name: value for name, value in fields.items() if said.get(name) != value}
    said |= changed_fields
    return changed_fields


def _fields(values: Mapping[str, float], segment: int) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for probe, name in _WINDOWS.items():
        if values.get(probe, math.nan) < _NO_THRESHOLD:
            packets = values[probe]
            fields[name] = round(packets * segment)
    for probe, name in _TIMES.items():
        if math.isfinite(packets := values.get(probe, math.nan)):
            fields[name] = round(packets * 1e3, 6)
    if math.isfinite(packets := values.get("outstanding", math.nan)):
        fields["bytes_in_flight"] = round(packets)
    return fields


def _own_fields(values: Mapping[str, float]) -> dict[str, Any]:
    fields = {}
    for probe, (name, factor) in _OWN.items():
        if math.isfinite(value := values.get(probe, math.nan)):
            fields[name] = round(value * factor, 6)
    return fields


def _state(values: Mapping[str, float]) -> str:
    """The state in the words of RFC 9002; empty if the probes do not show the state."""
    if values.get("phase") == 1:
        return "recovery"
    if "cwnd" not in values or "ssthresh" not in values:
        return ""
    return "slow_start" if values["cwnd"] < values["ssthresh"] else "congestion_avoidance"


def _logged(row: Mapping[str, Any]) -> dict[str, Any]:
    event_data = {"link": row["link"], "sequence": row["sequence"], "bytes": row["bytes"], "reason": row["reason"]}
    return {"name": f"tailback_tcp:{_LOGGED[row['event']]}", "data": event_data}
