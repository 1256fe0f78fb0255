"""Runs iperf3 as sender and receiver of a flow, with two processes for each flow. The JSON of iperf3 is read into the
form of our own senders' reports.

A test has a connection for control in addition to that for data. The control connection passes the same queue, and its
packets count as the flow's.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from typing import IO, Any

from tailback import _core

#: The interval at which iperf3 reads the state of its connection, s: the shortest that it allows.
LOOK_EVERY = 0.1
#: The longest time of a test, s. The end of the run interrupts the test.
_LONGEST = 86_400
#: The bytes of one write.
_BLOCK = 128 * 1024
#: The time that all processes have to report their results, and to begin to listen, s.
_PATIENCE = 5.0


class IperfError(Exception):
    """A failure of iperf3."""


def _with_parent() -> None:
    """Runs in a new process, and ties its life to this process. Otherwise the new process would keep the network of
    this one."""
    _core.end_with_parent()


class Process:
    """One process of iperf3, and its output when it has ended."""

    def __init__(self, words: list[str]) -> None:
        # A pipe would be full before it is read.
        self.said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self.interrupted = False
        command = ["iperf3", "--json", *words]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.said, stderr=subprocess.DEVNULL, preexec_fn=_with_parent
        )
        self.descriptor = os.pidfd_open(self.process.pid)

    def interrupt(self) -> None:
        """End the test. iperf3 then prints the values that it has measured so far."""
        if self.process.poll() is None:
            self.interrupted = True
            self.process.send_signal(signal.SIGINT)

    def result(self, deadline: float) -> dict[str, Any]:
        """The JSON of the process, with `error` if it failed or was ended. Raises IperfError if there is no output."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.0, deadline - time.monotonic()))
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.descriptor)
        self.said.seek(0)
        with self.said:
            text = self.said.read()
        try:
            output: dict[str, Any] = json.loads(text)
        except ValueError:
            raise IperfError(f"iperf3 ended with status {self.process.returncode} and gave no message") from None
        if "error" in output:
            output["error"] = f"iperf3: {output['error']}"
        return output


def client(group: dict[str, Any], index: int, bytes_: int | None) -> Process:
    """The sender of a flow."""
    own_port, port = group["first_port"] + index, group["server_port"] + index
    words = ["--client", group["other"], "--port", str(port), "--bind", group["own"], "--cport", str(own_port)]
    words += ["--interval", str(LOOK_EVERY), "--connect-timeout", "10000"]
    if bytes_:
        # iperf3 sends whole blocks.
        blocks = -(-bytes_ // _BLOCK)
        words += ["--bytes", str(bytes_), "--length", str(-(-bytes_ // blocks))]
    else:
        words += ["--time", str(_LONGEST)]
    if group["protocol"] == 6:
        words += ["--congestion", group["congestion"]]
    else:
        rates = group["rates_bps"]
        words += ["--udp", "--bitrate", str(rates[index % len(rates)]), "--length", str(group["datagram"])]
    if group["dscp"]:
        # The server takes this value from the parameters of the test.
        words += ["--tos", str(group["dscp"] << 2)]
    if group["pacing_bps"]:
        words += ["--fq-rate", str(group["pacing_bps"])]
    return Process(words)


def servers(group: dict[str, Any]) -> dict[int, Process]:
    """The receivers of a group's flows, each for one test, once all of them listen."""
    processes = {
        i: Process(["--server", "--one-off", "--port", str(group["server_port"] + i), "--bind", group["own"]])
        for i in range(group["count"])
    }
    ports = {group["server_port"] + i for i in processes}
    deadline = time.monotonic() + _PATIENCE
    while not ports <= _listening():
        if time.monotonic() > deadline:
            raise IperfError(f"iperf3 does not listen after {_PATIENCE:g} s")
        time.sleep(0.01)
    return processes


def _listening() -> set[int]:
    """The ports on which a process waits for connections in this network (proc(5), /proc/net/tcp)."""
    ports = set()
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), open(f"/proc/self/net/{name}", encoding="ascii") as f:
            for line in f.read().splitlines()[1:]:
                words = line.split()
                if words[3] == "0A":
                    ports.add(int(words[1].rpartition(":")[2], 16))
    return ports


def results(processes: dict[str, Process]) -> dict[str, dict[str, Any]]:
    """The output of each process, by name. If a process failed, `error` has the reason."""
    for p in processes.values():
        p.interrupt()
    deadline = time.monotonic() + _PATIENCE
    outputs = {}
    for name, p in processes.items():
        try:
            outputs[name] = p.result(deadline)
        except IperfError as e:
            outputs[name] = {"error": str(e)}
    return outputs


def told(said: dict[str, Any], ended: float) -> dict[str, Any]:
    """The report of a sender in the form of our own senders: samples of (time, window in segments, no threshold, round
    trip), and counts of the whole test. `ended` is the time at which the test ended, s."""
    rows = [s for i in said.get("intervals", []) for s in i["streams"]]
    last_s = rows[-1]["end"] if rows else 0.0
    segment = said.get("start", {}).get("tcp_mss_default") or 1
    samples = [
        (ended - last_s + s["end"], round(s["snd_cwnd"] / segment), None, s["rtt"] * 1e-6) for s in rows if "rtt" in s
    ]
    counts: dict[str, Any] = {"bytes_sent": sum(s["bytes"] for s in rows)}
    if any("retransmits" in s for s in rows):
        counts["total_retrans"] = sum(s.get("retransmits", 0) for s in rows)
    if any("packets" in s for s in rows):
        counts["data_segs_out"] = sum(s.get("packets", 0) for s in rows)
    round_trips = [s["rtt"] for s in rows if s.get("rtt")]
    if round_trips:
        counts |= {"rtt_us": round_trips[-1], "min_rtt_us": min(round_trips)}
    return {"samples": samples, "last": counts}


def received(said: dict[str, Any]) -> int:
    """The payload that a receiver has got, bytes."""
    by_intervals: int = sum(s["bytes"] for i in said.get("intervals", []) for s in i["streams"])
    at_the_end: int = said.get("end", {}).get("sum_received", {}).get("bytes", 0)
    return max(by_intervals, at_the_end)
