"""Traces, captures, lists of flows and distributions: a count by hand says the same, and what is written runs."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tailback as tb
from tailback import _core
from tailback.cli import cli
from tailback.readers.given import Given, Wishes
from tailback.readers.reading import ReadError, Reading
from tailback.readers.recognise import read

REFERENCE = Path(__file__).resolve().parents[1] / "reference" / "readers"


def of(text: str | bytes, **wishes: Any) -> Reading:
    return read(Given("f", text.encode() if isinstance(text, str) else text, Wishes(**wishes)))


def written(found: Reading) -> str:
    assert found.written is not None
    return found.written.text()


# Text, what the user says beside it, and the mean rate in bit/s by hand.
TRACES: dict[str, tuple[str, dict[str, str], float]] = {
    "Mahimahi": ("0\n5\n5\n9\n20\n", {}, 5 * 1504 * 8 / 0.020),
    "no head, tabs": ("0.0\t4\n0.5\t2\n1.0\t6\n", {}, 4e6),
    "no head, spaces, unequal steps": ("0 4\n1 2\n3 8\n", {}, (4 * 1 + 2 * 2 + 8 * 1.5) / 4.5 * 1e6),
    "head with units": ("time_ms,rate_kbps\n0,500\n250,1500\n", {}, 1e6),
    "semicolons, decimal commas": ("Zeit (s);Rate (Mb/s)\n0;12,5\n0,5;9,5\n", {}, 11e6),
    "bytes a line": ("time (s),bytes\n0,0\n1,125000\n2,250000\n3,0\n", {}, 1e6),
    "packets a line": ("t packets\n0 0\n1 100\n2 300\n", {}, 200 * 1500 * 8),
    "bytes a second": ("time,throughput (MB/s)\n0,1\n1,3\n", {}, 16e6),
    "units in the cells": ("time,rate\n0s,12Mbps\n500ms,6000kbps\n", {}, 9e6),
    "times since 1970": ("1700000000 4\n1700000001 8\n", {}, 6e6),
    "milliseconds since 1970": ("timestamp;bandwidth [kbit/s]\n1700000000000;400\n1700000000500;800\n", {}, 600e3),
    "dates": ("time,throughput\n2023-04-04 10:07:13 CDT,81.4\n2023-04-04 10:07:14 CDT,113.0\n", {}, 97.2e6),
    "other columns": ("run,seq,lat,Throughput_Mbps,cell\n1,0,44.9,10,x\n1,1,44.9,30,y\n", {}, 20e6),
    "a named column": ("time,dl_mbps,ul_mbps\n0,50,5\n1,70,7\n", {"column": "ul_mbps"}, 6e6),
    "a named unit": ("0 4\n1 2\n", {"unit": "kbps"}, 3e3),
    "commuters": ("1289406399 500 59.85 10.78 62500 1000\n1289406400 1500 59.85 10.78 125000 1000\n"
                  "1289406401 2500 59.85 10.78 250000 1000\n", {}, 1.5e6),
    "objects": ('[{"duration_ms": 1000, "rate_kbps": 500}, {"duration_ms": 3000, "rate_kbps": 1500}]', {}, 1.25e6),
    "lists": ('{"timestamps": [0, 1, 2], "bandwidths": [1, 2, 3], "delays": [5]}', {}, 2e6),
    "a pattern of AlphaRTC": ('{"uplink": {"trace_pattern": [{"duration": 60000, "capacity": 300}]}}', {}, 300e3),
    "a gap of values": ("time_s,rate_mbps\n0,4\n1,-\n2,8\n", {}, 16e6 / 4 + 2e6 - 0e6),
}  # fmt: skip


@pytest.mark.parametrize("form", TRACES)
def test_the_mean_of_a_trace_is_a_count_by_hand(form: str) -> None:
    text, wishes, mean = TRACES[form]
    found = of(text, **wishes)
    if form == "a gap of values":
        # 4 Mb/s for two seconds, 8 Mb/s for as long as a step is on average.
        mean = (4 * 2 + 8 * 2) / 4 * 1e6
    got = found.data.mean_bps if found.kind == "mahimahi" else found.data.mean
    assert got == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("form", [f for f in TRACES if f != "Mahimahi"])
def test_what_is_written_is_read_back_and_followed(form: str, tmp_path: Path) -> None:
    text, wishes, _ = TRACES[form]
    found = of(text, **wishes)
    again = of(written(found))
    # The last line of the written form says when the trace begins again.
    assert again.data.times_s[:-1] == pytest.approx(found.data.times_s, abs=1e-9)
    assert again.data.values[:-1] == pytest.approx(found.data.values, abs=0.5)
    (tmp_path / "t.csv").write_text(written(found))
    net = f"""
duration = "2s"
[link.line]
from = "a"
to = "b"
rate = "1Mbps"
delay = "1ms"
queue = {{ kind = "droptail", buffer = "100 packets" }}
[change.trace]
link = "line"
trace = "{tmp_path}/t.csv"
[flows.bulk]
"""
    _core.load(net, "toml", "net.toml", [])


def test_an_assumption_is_said() -> None:
    said = [u.value for u in of("0 4\n1 2\n").understood]
    assert any(s.startswith("assumed: Mb/s") for s in said) and any(s.startswith("assumed: seconds") for s in said)
    named = of("time_s,rate_mbps\n0,4\n1,2\n")
    assert not any("assumed" in u.value for u in named.understood)
    assert [x.what for x in of("time_s,rate_mbps,cell\n0,4,x\n1,2,y\n").left] == ["column cell"]


# What is wrong, and what the message says.
WRONG = {
    "time goes back": ("time_s,rate_mbps\n0,4\n2,5\n1,6\n", r"line 4: this time is earlier.*sort the lines by time"),
    "before 0": ("time_s,rate_mbps\n-1,4\n2,5\n", r"line 2: this time is before 0.*let the trace begin at 0"),
    "a word for a rate": ("time_s,rate_mbps\n0,4\n1,fast\n2,3\n", r'line 3: "fast" is no rate; write a number'),
    "a negative rate": ("time_s,rate_mbps\n0,4\n1,-5\n", r'line 3: "-5" is no rate; write a number'),
    "a word for a time": ("time_s,rate_mbps\n0,4\nnoon,5\n2,1\n", r'line 3: "noon" is no time; write a number'),
    "no values": ("time_s,rate_mbps\n0,-\n1,-\n", r"files of this kind cannot be read here|has no values"),
    "Mahimahi goes back": ("0\n" * 101 + "5\n4\n", r"line 103: this time is earlier.*sort the lines"),
    "Mahimahi with decimals": (
        "0\n" * 101 + "5.5\n",
        r'line 102: "5.5" is not a whole number of milliseconds; each line',
    ),
    "Mahimahi ends at 0": ("0\n0\n", r"the trace ends at 0 ms.*give a last line later than 0"),
    "no unit of a rate": ("0 4\n1 2\n", r"furlongs is no unit of a rate; write one such as Mbps"),
    "a line that lasts no time": (
        '[{"duration_ms": 0, "bandwidth_kbps": 5}]',
        r"this line has a duration of 0; leave it out",
    ),
    "shares that end early": (
        "185.0\n1 0.1\n2 0.3\n15 0.47\n",
        r"line 4: the shares end at 0.47; let the last point have 1",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_trace_gets_one_message_with_a_remedy(what: str) -> None:
    text, message = WRONG[what]
    with pytest.raises(ReadError, match=message) as e:
        of(text, unit="furlongs" if what == "no unit of a rate" else "")
    assert "\n" not in str(e.value)


def test_a_trace_under_the_wrong_key_is_recognised(tmp_path: Path) -> None:
    assert of("0\n5\n9\n").next[0].command == '[change.NAME] link = "LINK", mahimahi = "FILE"'
    assert any("trace = " in step.command for step in of("time_s,rate_mbps\n0,4\n1,5\n").next)


def test_a_trace_of_delays_becomes_the_delay_of_a_link() -> None:
    found = of("time_ms,delay_ms\n0,30\n500,45.5\n900,31\n")
    assert found.kind == "delay-trace"
    assert found.data.mean == pytest.approx((30 * 0.5 + 45.5 * 0.4 + 31 * 0.45) / 1.35 / 1e3)
    d = json.loads(_core.load(written(found), "toml", "d.toml", []).json)
    assert d["link"]["bottleneck"]["delay"] == "30000us" and len(d["change"]["trace"]["delay"]) == 2


# Packets, bytes of IP and bytes of payload of each flow, and nanoseconds from its first to its last packet, as
# `tshark -T fields -e frame.time_epoch -e ip.len -e tcp.len` of 4.0.17 has them.
TSHARK = {
    "nano.pcap": [
        (32, 66869, 65197, 34676504),
        (20, 43077, 42029, 44330945),
        (31, 1596, 0, 34677064),
        (20, 988, 0, 44328612),
        (8, 594, 170, 30126629),
        (8, 429, 5, 30275559),
    ],
    "cooked.pcapng": [
        (22, 28701, 27549, 10513000),
        (22, 1140, 0, 10527000),
        (8, 593, 169, 10181000),
        (8, 429, 5, 10257000),
    ],
}


def flows(data: bytes) -> list[tuple[int, int, int, int]]:
    found = of(data).data.flows
    return [(len(f.sizes), f.bytes, sum(f.writes()[1]), f.times_ns[-1] - f.times_ns[0]) for f in found]


@pytest.mark.parametrize("name", TSHARK)
def test_flows_of_a_capture_are_those_of_wireshark(name: str) -> None:
    assert flows((REFERENCE / name).read_bytes()) == TSHARK[name]


def pcap(frames: list[tuple[int, int, int, bytes]], order: str, nano: bool, link: int) -> bytes:
    out = struct.pack(f"{order}IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, 262144, link)
    return out + b"".join(struct.pack(f"{order}IIII", s, f, len(b), n) + b for s, f, n, b in frames)


def frames_of(data: bytes) -> list[tuple[int, int, int, bytes]]:
    at, out = 24, []
    while at < len(data):
        s, f, kept, length = struct.unpack_from("<IIII", data, at)
        out.append((s, f, length, data[at + 16 : at + 16 + kept]))
        at += 16 + kept
    return out


def test_both_orders_of_bytes_and_all_links_say_the_same() -> None:
    data = (REFERENCE / "nano.pcap").read_bytes()
    plain = [x for x in frames_of(data) if x[3][12:14] == b"\x08\x00"]
    vlan = b"\x88\xa8\x00\x05\x81\x00\x00\x07"
    cooked = b"\x00\x04\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00\x00\x00\x08\x00"
    pppoe = b"\x88\x64\x11\x00\x00\x01\x00\x00\x00\x21"
    forms = [
        pcap(plain, ">", True, 1),
        pcap([(s, f, n + 8, b[:12] + vlan + b[12:]) for s, f, n, b in plain], "<", True, 1),
        pcap([(s, f, n - 14, b[14:]) for s, f, n, b in plain], "<", True, 101),
        pcap([(s, f, n + 2, cooked + b[14:]) for s, f, n, b in plain], ">", True, 113),
        pcap([(s, f, n + 8, b[:12] + pppoe + b[14:]) for s, f, n, b in plain], "<", True, 1),
    ]
    for form in forms:
        assert flows(form) == TSHARK["nano.pcap"]
    micro = flows(pcap([(s, f // 1000, n, b) for s, f, n, b in plain], "<", False, 1))
    assert [f[:3] for f in micro] == [f[:3] for f in TSHARK["nano.pcap"]]


def test_a_cut_capture_is_read_to_its_end_and_a_damaged_one_refused() -> None:
    data = (REFERENCE / "nano.pcap").read_bytes()
    cut = of(data[:-20])
    assert any(x.what == "the last frame" for x in cut.left) and len(cut.data.flows) == 6
    with pytest.raises(ReadError, match="the file is damaged; capture again"):
        of(data[:32] + b"\xff\xff\xff\xff" + data[36:])
    with pytest.raises(ReadError, match="there is no flow 9; --flow takes 1 to 6"):
        of(data, flow=9)


def test_a_flow_is_replayed_at_its_times_with_its_bytes() -> None:
    found = of((REFERENCE / "nano.pcap").read_bytes(), flow=2)
    flow = found.data.chosen
    wanted = [(t - flow.times_ns[0], size) for t, size in zip(flow.times_ns, flow.sizes, strict=True)]
    scenario = _core.load(
        written(found), "toml", "replay.toml", ["link.bottleneck.rate=100Gbps", "link.bottleneck.delay=0s"]
    )
    document = json.loads(scenario.json)["flows"]["replayed"]
    assert len(document["traffic"]["at"]) == len(wanted) == 20
    result = tb.run(written(found))
    (row,) = result.flows.rows()
    assert (row["sent_packets"], row["dropped_packets"]) == (20, 0)
    link = next(r for r in result.links.rows() if r["name"] == "bottleneck")
    assert link["arrived_bytes"] == flow.bytes


def test_an_application_writes_what_was_in_the_packets() -> None:
    found = of((REFERENCE / "nano.pcap").read_bytes(), flow=1, writes=True)
    (row,) = [r for r in tb.run(written(found)).flows.rows() if r["group"] == "replayed"]
    # Goodput is of the whole run.
    run = json.loads(_core.load(written(found), "toml", "w.toml", []).json)
    seconds = float(_core.parse_time(run["duration"]))
    assert row["goodput_bps"] * seconds / 8 == pytest.approx(65197, rel=1e-6)


def test_sizes_keep_their_mean() -> None:
    found = of("0 0\n10000 15\n20000 50\n1000000 90\n30000000 100\n")
    mean = 0.15 * 5000 + 0.35 * 15000 + 0.4 * 510_000 + 0.1 * 15_500_000
    assert found.data.mean == pytest.approx(mean)
    sizes, weights = found.data.listed()
    assert np.average(sizes, weights=weights) == pytest.approx(mean, rel=1e-4)
    assert math.fsum(weights) == pytest.approx(1)
    assert found.data.quantile(0.5) == 20000
    alone = of("17.5\n10 0.5\n20 0.75\n30 1.0\n")
    assert alone.data.mean == 17.5 and alone.data.listed() == ([10, 20, 30], [0.5, 0.25, 0.25])
    packets = of("0 0\n1 50\n3 100\n", unit="packets")
    assert packets.data.mean == pytest.approx(1460 * (0.5 * 0.5 + 0.5 * 2))
    assert tb.run(written(alone), duration="1s").groups


FLOWS = {
    "HPCC": "3\n0 1 3 100 1000 2.0\n1 2 3 100 2000 2.001\n0 1 3 101 500 2.002\n",
    "a table": "source,destination,bytes,time_ms\na,b,1000,0\nb,c,2000,1\na,b,500,2\n",
    "no head": "a b 1000 0\nb c 2000 0.001\na b 500 0.002\n",
    "htsim": "Nodes 3\nConnections 3\n0->1 id 1 start 0 size 1000\n1->2 id 2 start 1000000000 size 2000\n"
    "0->1 id 3 start 2000000000 size 500\n",
    "htsim, older": "Nodes 3\nConnections 3\n0->1 start 0.0 size 1000\n1->2 start 1000.0 size 2000\n"
    "0->1 start 2000.0 size 500\n",
}


@pytest.mark.parametrize("form", FLOWS)
def test_lists_of_flows_begin_at_their_times(form: str) -> None:
    found = of(FLOWS[form])
    assert found.kind == "flow-list"
    flows = [(f.source, f.destination, f.size, round(f.at_s * 1e9)) for f in found.data.flows]
    assert flows == [(0, 1, 1000, 0), (1, 2, 2000, 1_000_000), (0, 1, 500, 2_000_000)]
    completions = tb.run(written(found)).completions
    assert max(row["count"] for row in completions.rows()) == 3


def test_a_measurement_stands_beside_a_run(tmp_path: Path) -> None:
    run = CliRunner().invoke(
        cli,
        [
            "run",
            "ping",
            "--set",
            "duration=4s",
            "--set",
            "warmup=1s",
            "--replications",
            "2",
            "--out",
            str(tmp_path / "o"),
        ],
    )
    assert run.exit_code == 0, run.output
    for name, rows in (("rrul-be.flent.gz", 5), ("ping-loss.txt", 4), ("iperf3-tcp.json", 1)):
        r = CliRunner().invoke(cli, ["report", str(REFERENCE / name), str(tmp_path / "o"), "--json"])
        assert r.exit_code == 0, r.output
        said = json.loads(r.output)
        assert len(said["rows"]) == rows and said["runs"] == 2
        assert all(row["difference"] is None or abs(row["difference"]) >= 0 for row in said["rows"])
    page = (tmp_path / "o" / "beside.html").read_text()
    assert "<svg" in page or "data:image" in page
    out = ["--out", str(tmp_path / "line"), "--json"]
    own = CliRunner().invoke(cli, ["report", str(REFERENCE / "iperf3-tcp.json"), *out])
    assert own.exit_code == 0, own.output
    (row,) = json.loads(own.stdout)["rows"]
    assert abs(row["difference"]) < 0.06
    none = CliRunner().invoke(cli, ["report", str(REFERENCE / "ping-iputils.txt"), *out])
    assert none.exit_code == 2 and "describes no line" in none.output
    wrong = CliRunner().invoke(cli, ["report", str(REFERENCE / "iperf3-tcp.json")])
    assert wrong.exit_code == 2 and "DIR" in wrong.output
