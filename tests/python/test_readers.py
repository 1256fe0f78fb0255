"""Measurements, beside what their own programs say of them; the numbers of speed tests; what is not kept.

The files are in `tests/reference/readers`, whose README says how they were made.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from pathlib import Path
from typing import Any

import mutations
import numpy as np
import pytest
from click.testing import CliRunner

from tailback.apps.ask.home.measured import measured as as_said
from tailback.cli import cli
from tailback.readers.given import Given, Wishes
from tailback.readers.kinds import KINDS
from tailback.readers.measured.measurement import Measurement, Role, Series
from tailback.readers.reading import ReadError, Reading
from tailback.readers.recognise import read, read_stream
from tailback.readers.shown import text

REFERENCE = Path(__file__).resolve().parents[1] / "reference" / "readers"


def reading(name: str, **wishes: Any) -> Reading:
    with (REFERENCE / name).open("rb") as stream:
        return read_stream(name, stream, Wishes(**wishes))


def measured(name: str) -> Measurement:
    found = reading(name).data
    assert isinstance(found, Measurement)
    return found


def of_text(text: str, **wishes: Any) -> Reading:
    return read(Given("f", text.encode(), Wishes(**wishes)))


def understood(found: Reading, what: str) -> str:
    return next(u.value for u in found.understood if u.what == what)


# What `flent -f summary` of Flent 2.1.1 printed, with NumPy: mean, median and 99th percentile, ms or Mbit/s.
SUMMARY = {
    "rrul-be.flent.gz": {
        "Ping ICMP": ("11.70", "17.10", "56.44"),
        "Ping UDP BE1": ("12.42", "15.52", "66.56"),
        "Ping UDP BE2": ("12.43", "16.00", "64.95"),
        "Ping UDP BE3": ("12.20", "16.17", "64.87"),
        "TCP download BE": ("4.61", "4.68", "4.77"),
        "TCP download BE2": ("4.60", "4.67", "4.76"),
        "TCP download BE3": ("4.63", "4.69", "4.98"),
        "TCP download BE4": ("4.62", "4.69", "4.80"),
        "TCP download sum": ("18.46", "", ""),
        "TCP upload BE": ("7.90", "7.47", "34.37"),
        "TCP upload BE2": ("3.65", "3.76", "5.74"),
        "TCP upload BE3": ("3.66", "3.73", "11.37"),
        "TCP upload BE4": ("3.70", "3.76", "5.04"),
        "TCP upload sum": ("18.91", "", ""),
    },
    "tcp-1up.flent.gz": {"Ping ICMP": ("3.19", "0.05", "52.62"), "TCP upload": ("19.12", "19.22", "41.81")},
}


@pytest.mark.parametrize("name", SUMMARY)
def test_the_summary_of_flent_is_flents_own(name: str) -> None:
    series = {s.name: s for s in measured(name).series}
    assert series.keys() == SUMMARY[name].keys()
    for key, told in SUMMARY[name].items():
        s = series[key]
        factor = 1e3 if s.unit == "s" else 1e-6
        # To the printed digit; a median between two values may end in a 5 that rounds either way.
        for value, printed in zip((s.mean, s.median, s.p99), told, strict=True):
            assert not printed or abs(value * factor - float(printed)) < 0.005 + 1e-9, (key, printed)


def test_flent_says_its_settings_and_no_more_of_its_title() -> None:
    found = reading("rrul-be.flent.gz")
    assert found.data.settings == {"rate": "20Mbit/20Mbit", "queue": "bfifo", "control": "cubic"}
    assert "somebody" not in text(found, "f")
    assert any(x.what == "other words of the title" for x in found.left)


def test_flent_is_read_packed_or_not(tmp_path: Path) -> None:
    import bz2

    plain = gzip.decompress((REFERENCE / "tcp-1up.flent.gz").read_bytes())
    for name, data in (("a.flent", plain), ("a.flent.bz2", bz2.compress(plain))):
        (tmp_path / name).write_bytes(data)
        with (tmp_path / name).open("rb") as stream:
            assert read_stream(name, stream).as_dict() == reading("tcp-1up.flent.gz").as_dict()
    (tmp_path / "cut").write_bytes(bz2.compress(plain)[:-40])
    with (tmp_path / "cut").open("rb") as stream, pytest.raises(ReadError, match=r"damaged.*fetch it again"):
        read_stream("cut", stream)


# The rates of iperf3's JSON that say what arrived, and the flows.
ARRIVED = {
    "iperf3-tcp.json": {Role.UP: "sum_received"},
    "iperf3-reverse-4.json": {Role.DOWN: "sum_received"},
    "iperf3-bidir.json": {Role.UP: "sum_received", Role.DOWN: "sum_received_bidir_reverse"},
    "iperf3-udp.json": {Role.UP: "sum_received"},
}


@pytest.mark.parametrize("name", ARRIVED)
def test_rates_of_iperf3_are_those_that_arrived(name: str) -> None:
    end = json.loads((REFERENCE / name).read_text())["end"]
    found = measured(name)
    assert {role: found.rate(role) for role in ARRIVED[name]} == {
        role: end[key]["bits_per_second"] for role, key in ARRIVED[name].items()
    }
    assert not {Role.DOWN, Role.UP} - ARRIVED[name].keys() & {s.role for s in found.series}


def test_intervals_losses_and_flows_of_iperf3() -> None:
    four = reading("iperf3-reverse-4.json")
    assert len(four.data.of(Role.DOWN)[0].values) == 3 and four.data.settings["download flows"] == "4"
    assert any(x.what == "1 intervals at the beginning" for x in four.left)
    udp = measured("iperf3-udp.json")
    assert (udp.sent, udp.received) == (5081, 5081)
    assert measured("iperf3-tcp.json").retransmissions == 23
    assert measured("iperf3-tcp.json").settings["control"] == "bbr"
    with pytest.raises(ReadError, match=r"iperf3 failed \(unable to connect to server\)"):
        reading("iperf3-failed.json")


@pytest.mark.parametrize("key", ["num_streams", "duration", "omit", "target_bitrate"])
def test_a_whole_number_that_no_quantity_can_be_is_left_out(key: str) -> None:
    document = json.loads((REFERENCE / "iperf3-tcp.json").read_text())
    document["start"]["test_start"][key] = 10**400
    assert len(of_text(json.dumps(document)).data.of(Role.UP)[0].values) > 0


def test_the_stream_and_the_text_of_iperf3_say_the_same() -> None:
    d = json.loads((REFERENCE / "iperf3-tcp.json").read_text())
    events = [("start", d["start"]), *(("interval", i) for i in d["intervals"]), ("end", d["end"])]
    stream = "\n".join(json.dumps({"event": e, "data": data}) for e, data in events)
    assert of_text(stream).as_dict() == reading("iperf3-tcp.json").as_dict()
    printed = measured("iperf3.txt")
    assert printed.rate(Role.DOWN) == 19.1e6 and list(printed.of(Role.DOWN)[0].values) == [19.2e6, 19.1e6]


def own_words(name: str) -> tuple[int, int, list[float]]:
    """What a log of ping says of itself: sent, received, and least, mean, most and deviation in ms."""
    said = (REFERENCE / name).read_text()
    counted = re.search(r"(\d+) packets transmitted, (\d+) ", said) or re.search(r"= (\d+)/(\d+)/", said)
    times = re.search(r"= ([\d.]+(?:/[\d.]+)+) ms", said) or re.search(r"max = ([\d./]+)", said)
    assert counted
    return int(counted[1]), int(counted[2]), [float(x) for x in times[1].split("/")] if times else []


@pytest.mark.parametrize("name", [p.name for p in sorted(REFERENCE.glob("ping-*.txt"))])
def test_a_log_of_ping_agrees_with_its_own_last_lines(name: str) -> None:
    sent, received, times = own_words(name)
    found = measured(name)
    assert (found.sent, found.received) == (sent, received)
    (series,) = found.series
    assert len(series.values) == received
    if times:
        ms = series.values * 1e3
        # Programs cut or round the last digit.
        near = [float(ms.min()), float(ms.mean()), float(ms.max())]
        assert near == pytest.approx(times[:3], rel=2e-4, abs=1.01e-3)
        if "iputils" in name:
            assert float(np.std(ms)) == pytest.approx(times[3], abs=1.5e-3)


def test_times_of_ping_are_stamps_or_assumed() -> None:
    stamped = measured("ping-iputils-D.txt").series[0].times_s
    assert stamped[0] == 0 and np.diff(stamped) == pytest.approx([0.05] * 9, abs=0.02)
    assert "every second" in understood(reading("ping-busybox.txt"), "times")
    assert understood(reading("ping-iputils.txt"), "times").startswith("assumed: every 5")


WINDOWS = """
Pinging 192.0.2.1 with 32 bytes of data:
Reply from 192.0.2.1: bytes=32 time=14ms TTL=117
Reply from 192.0.2.1: bytes=32 time<1ms TTL=117
Request timed out.
Reply from 192.0.2.1: bytes=32 time=16ms TTL=117

Ping statistics for 192.0.2.1:
    Packets: Sent = 4, Received = 3, Lost = 1 (25% loss),
Approximate round trip times in milli-seconds:
    Minimum = 0ms, Maximum = 16ms, Average = 10ms
"""
BSD = """
PING host (192.0.2.7): 56 data bytes
64 bytes from 192.0.2.7: icmp_seq=0 ttl=57 time=12.345 ms
Request timeout for icmp_seq 1
64 bytes from 192.0.2.7: icmp_seq=2 ttl=57 time=13.000 ms
64 bytes from 192.0.2.7: icmp_seq=2 ttl=57 time=13.500 ms (DUP!)

--- host ping statistics ---
3 packets transmitted, 2 packets received, +1 duplicates, 33.3% packet loss
round-trip min/avg/max/stddev = 12.345/12.672/13.000/0.328 ms
"""
#: Without a summary, numbers that begin again, a second run.
CUT = """
64 bytes from x: icmp_seq=65534 ttl=57 time=1.0 ms
64 bytes from x: icmp_seq=65535 ttl=57 time=2.0 ms
64 bytes from x: icmp_seq=0 ttl=57 time=3.0 ms
64 bytes from x: icmp_seq=2 ttl=57 time=4.0 ms
PING other (192.0.2.9) 56(84) bytes of data.
PING again (192.0.2.9) 56(84) bytes of data.
64 bytes from y: icmp_seq=1 ttl=57 time=99.0 ms
"""


@pytest.mark.parametrize(
    ("log", "sent", "received", "mean_ms"), [(WINDOWS, 4, 3, 31 / 3), (BSD, 3, 2, 12.6725), (CUT, 5, 4, 2.5)]
)
def test_pings_of_other_programs(log: str, sent: int, received: int, mean_ms: float) -> None:
    found = of_text(log).data
    assert (found.sent, found.received) == (sent, received)
    assert found.series[0].mean == pytest.approx(mean_ms / 1e3)


@pytest.mark.parametrize(
    ("typed", "down", "up", "idle", "loaded"),
    [
        ("Unloaded 15 ms, download active +34 ms, upload active +2 ms, 94 Mbps down, 11.3 Mbps up", 94, 11.3, 15, 49),
        ("Unloaded\n18 ms\nDownload Active\n+121 ms\nUpload Active\n+7 ms\nDownload\n88,1 Mbps\nUpload\n10.4 Mbps",
         88.1, 10.4, 18, 139),
        ("45.2 megabit/s down, 5.1 Megabit/s up, idle 24ms, downloading bloat 300 ms, grade D", 45.2, 5.1, 24, 324),
        ("Ping idle: 10 ms | download 35 ms | upload 20 ms; Download: 1.2 Gbps, Upload: 500 Mbps", 1200, 500, 10, 35),
    ],
)  # fmt: skip
def test_numbers_of_a_speed_test_as_typed(typed: str, down: float, up: float, idle: float, loaded: float) -> None:
    found = of_text(typed)
    m = found.data
    assert m.rate(Role.DOWN) == pytest.approx(down * 1e6) and m.rate(Role.UP) == pytest.approx(up * 1e6)
    assert m.idle_s == pytest.approx(idle / 1e3)
    assert next(s.mean for s in m.series if "download" in s.name and s.role is Role.PING) == pytest.approx(loaded / 1e3)
    (step,) = found.next
    assert step.command.startswith(f'tailback home --measured "{down:g}/{up:g}, idle {idle:g}, down {loaded:g}')
    # The command's own reader takes what it is given.
    said = as_said(step.command.split('"')[1])
    assert said.added_down_s == pytest.approx((loaded - idle) / 1e3) and said.down_bps == pytest.approx(down * 1e6)


def test_nothing_names_an_address_or_a_machine() -> None:
    for name, data in mutations.samples().items():
        made = mutations.outcome(data)
        shown = made if isinstance(made, str) else text(made, "f") + json.dumps(made.as_dict())
        assert not re.search(r"10\.99\.0|192\.0\.2|/usr/bin|\.example", shown), name


def test_the_line_of_a_measurement_is_a_scenario() -> None:
    import tailback as tb
    from tailback import _core

    made = reading("rrul-be.flent.gz").written
    assert made is not None
    said = made.text()
    assert "# upload: 20 Mb/s, by the file's own settings." in said and "# assumed: round trip" in said
    assert json.loads(_core.load(said, "toml", "line.toml", []).json)["flows"]["download"]["count"] == 4
    assert tb.run(said, duration="6s").groups


def test_an_unknown_text_is_refused_with_the_kinds() -> None:
    r = CliRunner().invoke(cli, ["read", "-"], input="hello, how are you?\n")
    assert r.exit_code == 2 and "Traceback" not in r.output
    assert all(kind.title in r.output for kind in KINDS)
    r = CliRunner().invoke(cli, ["read", "-"], input="")
    assert r.exit_code == 2 and "it is empty" in r.output


def test_the_command_writes_and_prints(tmp_path: Path) -> None:
    file = str(REFERENCE / "ping-iputils.txt")
    said = json.loads(CliRunner().invoke(cli, ["read", file, "--json"]).output)
    assert said["kind"] == "ping" and said["understood"] and said["left_out"]
    out = tmp_path / "line.toml"
    r = CliRunner().invoke(cli, ["read", str(REFERENCE / "iperf3-tcp.json"), "--write", str(out)])
    assert r.exit_code == 0 and out.read_text().startswith("# The line that iperf3 measured")
    r = CliRunner().invoke(cli, ["read", file, "--write", str(out)])
    assert r.exit_code == 2 and "no form that a scenario takes" in r.output


def test_quantiles_of_a_series() -> None:
    none = Series("x", Role.PING, "s", np.array([]), np.array([]))
    assert all(math.isnan(v) for v in (none.mean, none.median, none.p99))


def test_texts_of_windows_are_read() -> None:
    for data in (WINDOWS.encode("utf-16"), WINDOWS.replace("\n", "\r\n").encode("utf-8-sig")):
        assert read(Given("f", data)).as_dict() == of_text(WINDOWS).as_dict()
