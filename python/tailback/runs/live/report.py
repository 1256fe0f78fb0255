"""Shows and stores a live run: the tables of the run, and how far they can be trusted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.core.text.json_text import clean
from tailback.core.text.whole import write_text
from tailback.runs.live.session import Live
from tailback.runs.result import Result

#: The counters of both kernels that are useful in addition to the tables.
_COUNTERS = (
    "TcpExt.TCPFastRetrans",
    "TcpExt.TCPLossProbes",
    "TcpExt.TCPTimeouts",
    "TcpExt.TCPSackRecovery",
    "TcpExt.TCPRenoRecovery",
    "TcpExt.TCPHystartTrainDetect",
    "TcpExt.TCPHystartDelayDetect",
    "TcpExt.TCPSpuriousRTOs",
    "TcpExt.DelayedACKs",
    "TcpExt.TCPDSACKRecv",
    "Tcp.RetransSegs",
    "IpExt.InCEPkts",
    "IpExt.InECT0Pkts",
)


def result(scenario: Any, runs: Sequence[Live]) -> Result:
    """The runs as a result of the same form as that of `tailback.run`."""
    elapsed_s = sum(r.quality["time_s"] for r in runs)
    return Result(_core.live_results([r.run for r in runs], elapsed_s), scenario)


def documents(runs: Sequence[Live]) -> list[dict[str, Any]]:
    """For each run: whether it is valid, the quality of its service, and the counters of the kernels."""
    return [
        clean(
            {
                "valid": not r.invalid,
                "invalid": r.invalid,
                "not_told": r.not_told,
                "quality": r.quality,
                "kernel": {side: {k: c[k] for k in _COUNTERS if k in c} for side, c in r.counters.items()},
                "connections": [{"name": f["name"], **f["last"]} for f in r.flows],
                "queues": r.queues,
                "received": [{"name": f["name"], "bytes": f["received_bytes"]} for f in r.received],
            }
        )
        for r in runs
    ]


def save(result: Result, runs: Sequence[Live], out: str) -> None:
    """Writes the folder of a run: its tables, and the data that only a live run has."""
    out_folder = Path(out)
    result.save(out_folder)
    write_text(out_folder / "live.json", json.dumps(documents(runs), indent=1, allow_nan=False) + "\n")


def text(runs: Sequence[Live]) -> str:
    """A text on how far the numbers can be trusted."""
    lines = []
    for i, r in enumerate(runs):
        q = r.quality
        name = f"run {i + 1}: " if len(runs) > 1 else ""
        lines.append(f"{name}valid" if not r.invalid else f"{name}NOT VALID: {'; '.join(r.invalid)}")
        lines.append(
            f"  packets written late by {q['lateness_p50_s'] * 1e6:.0f} us (median), "
            f"{q['lateness_p99_s'] * 1e6:.0f} us (p99), {q['lateness_max_s'] * 1e3:.2f} ms (most); "
            f"lost before the gateway: {q['lost_packets']}"
        )
        if round(q["busy_stretch_s"], 2) > 0:
            lines.append(
                f"  the line was busy for {q['busy_stretch_s']:.2f} s on end, and served with "
                f"{q['busy_stretch_bps'] / 1e6:.3f} Mb/s"
            )
        for queue in r.queues:
            lines.append(
                f"  {queue['kind']} of {queue['dev']} in this kernel: {queue['packets']} packets sent, "
                f"{queue['drops']} dropped"
            )
    if runs[0].not_told:
        lines.append("not told to the kernel:")
        lines += [f"  {what}" for what in runs[0].not_told]
    return "\n".join(lines)
