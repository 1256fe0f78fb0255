"""The kinds of files and texts that can be read, one row for each. The first row whose module recognises a text reads
it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType


@dataclass(frozen=True)
class Kind:
    """A kind: its name, its title, the mark in the content by which it is recognised, and the module of `readers/` that
    reads it.

    A module may read several kinds; the name in its `Reading` is the kind that it found.
    """

    name: str
    title: str
    recognised: str
    module: str

    def load(self) -> ModuleType:
        return import_module(f"tailback.readers.{self.module}")


#: The kinds in the order in which they are tried: those with a distinct mark before those that are only numbers.
KINDS: tuple[Kind, ...] = (
    Kind("capture", "captures (pcap, pcapng)", "the first four bytes", "captures.capture"),
    Kind("flent", "Flent's files", "JSON with metadata, results and x_values", "measured.flent"),
    Kind("iperf3", "iperf3's JSON", "JSON with start and intervals or end", "measured.iperf3"),
    Kind("iperf3-text", "what iperf3 prints", "lines of `[ ID] 0.00-1.00 sec`", "measured.iperf3_text"),
    Kind(
        "speed-test-json",
        "results of speed tests as JSON",
        "JSON with download, upload and ping",
        "measured.speed_json",
    ),
    Kind("tc-json", "tc -j qdisc show", "a list with `kind`, `handle` and `options`", "tc"),
    Kind("sqm", "SQM of OpenWrt", "`config queue`, or `sqm.NAME.OPTION=`", "sqm"),
    Kind("fireqos", "FireQOS", "`interface DEVICE NAME input`, `output` or `bidirectional`", "fireqos"),
    Kind("wondershaper", "Wonder Shaper", "`wondershaper` with a device and rates", "wondershaper"),
    Kind("tc", "commands of tc", "`tc qdisc add`, or the words of a qdisc alone", "tc"),
    Kind("tc-show", "tc qdisc show", "`qdisc KIND HANDLE:`", "tc"),
    Kind("ping", "logs of ping", "the head, the summary, or replies with their times", "measured.ping"),
    Kind(
        "speed-test",
        "numbers of a speed test",
        "unloaded, idle or bufferbloat beside ms; rates down and up beside a ping",
        "measured.bufferbloat",
    ),
    Kind("mahimahi", "traces of Mahimahi", "a whole number in each line, rising", "traces.mahimahi"),
    Kind(
        "flow-list", "lists of flows", "source, destination, bytes and time; htsim's `0->1 start 0 size 1`", "flow_list"
    ),
    Kind("sizes", "distributions of sizes", "rising sizes beside shares that rise to 1 or 100", "sizes"),
    Kind(
        "rate-trace",
        "traces of rates",
        "a time and a rate, bytes or packets in each line; JSON with such keys",
        "traces.rate_trace",
    ),
    Kind("delay-trace", "traces of delays", "a time and a delay in each line", "traces.rate_trace"),
)
