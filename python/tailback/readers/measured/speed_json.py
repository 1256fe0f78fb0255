"""Reads the JSON of speed tests: Ookla's `speedtest -f json`, and `--json` of speedtest-cli and LibreSpeed.

Rates are in bytes a second from Ookla, in bits a second from speedtest-cli, and in megabits a second from LibreSpeed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tailback.readers.given import Given
from tailback.readers.measured.bufferbloat import reading
from tailback.readers.reading import Notes, Reading

KIND = "speed-test-json"
#: The bits a second of one unit of `bandwidth` or `download`.
_OOKLA, _CLI, _LIBRESPEED = 8.0, 1.0, 1e6


def recognises(given: Given) -> bool:
    return bool(_program(_row(given)))


def _row(given: Given) -> Mapping[str, Any]:
    """The last test, since LibreSpeed writes a list."""
    document = given.document
    if isinstance(document, list) and document:
        document = document[-1]
    return document if isinstance(document, dict) else {}


def _program(row: Mapping[str, Any]) -> str:
    download, upload = row.get("download"), row.get("upload")
    if (
        isinstance(download, dict)
        and isinstance(upload, dict)
        and "bandwidth" in download
        and isinstance(row.get("ping"), dict)
    ):
        return "Ookla's speedtest"
    if not (_finite(download) and _finite(upload) and _finite(row.get("ping")) and "bytes_received" in row):
        return ""
    return "LibreSpeed" if "jitter" in row else "speedtest-cli"


def read(given: Given) -> Reading:
    notes, result = Notes(), _row(given)
    program = _program(result)
    notes.say("program", program)
    quantities: dict[str, float] = {}
    for direction_name in ("download", "upload"):
        direction = result[direction_name]
        if isinstance(direction, dict):
            _put(quantities, f"{direction_name} rate", direction.get("bandwidth"), _OOKLA)
            latency = direction.get("latency")
            # `iqm` is the mean of the middle half. The ends of the range are other numbers.
            _put(quantities, f"{direction_name} total", latency.get("iqm") if isinstance(latency, dict) else None, 1e-3)
        else:
            _put(quantities, f"{direction_name} rate", direction, _LIBRESPEED if program == "LibreSpeed" else _CLI)
    ping = result["ping"]
    _put(quantities, "idle", ping.get("latency") if isinstance(ping, dict) else ping, 1e-3)
    if not any(key.endswith("total") for key in quantities):
        notes.leave("round trips under load", "the test does not measure them")
    if isinstance(given.document, list) and len(given.document) > 1:
        notes.leave(f"{len(given.document) - 1} other tests", "the last test is read")
    notes.leave("jitter, addresses, names of providers and servers", "they are not kept")
    return reading(quantities, notes, given.name, KIND)


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _put(found: dict[str, float], key: str, value: Any, factor: float) -> None:
    if _finite(value) and value > 0:
        found[key] = float(value) * factor
