"""Numbers of speed tests, and what iperf3 and iperf 2 print: each number is right, or it is named."""

from __future__ import annotations

import json

import pytest
from test_readers import of_text, understood

from tailback.readers.measured.measurement import Measurement, Role
from tailback.readers.reading import ReadError, Reading

OOKLA = """
   Speedtest by Ookla

Idle Latency:     5.35 ms   (jitter: 0.12ms, low: 5.20ms, high: 5.60ms)
    Download:   931.50 Mbps (data used: 420.3 MB)
                 14.26 ms   (jitter: 0.99ms, low: 5.10ms, high: 25.40ms)
      Upload:    35.12 Mbps (data used: 58.6 MB)
                 84.71 ms   (jitter: 12.63ms, low: 10.42ms, high: 210.21ms)
 Packet Loss:     0.0%
"""
OOKLA_JSON = json.dumps({
    "type": "result", "ping": {"jitter": 0.12, "latency": 5.35, "low": 5.2, "high": 5.6},
    "download": {"bandwidth": 116437500, "bytes": 420300000, "latency": {"iqm": 14.26, "high": 25.4}},
    "upload": {"bandwidth": 4390000, "bytes": 58600000, "latency": {"iqm": 84.71, "high": 210.21}},
    "isp": "S", "interface": {"internalIp": "192.0.2.1"},
})  # fmt: skip
CLI_JSON = (
    '{"download": 93210000.0, "upload": 11020000.0, "ping": 18.5, "bytes_received": 1, "client": {"ip": "192.0.2.1"}}'
)
LIBRE_JSON = '[{"ping": 24, "jitter": 2.1, "upload": 11.02, "download": 94.32, "bytes_received": 1, "bytes_sent": 2}]'
CLOUDFLARE = """Download 94.3 Mbps
Upload 11.2 Mbps
Jitter
Unloaded: 1.2 ms
During download 8.1 ms
Latency
Unloaded: 12.3 ms
During download: 34.5 ms
During upload: 110 ms
"""
CLI = "Hosted by Foo (City) [12.34 km]: 18.5 ms\nTesting ...\nDownload: 93.21 Mbit/s\nUpload: 11.02 Mbit/s\n"
LIBRE = "Ping: 24 ms\tJitter: 2 ms\nDownload rate:\t94.32 Mbps\nUpload rate:\t11.02 Mbps\n"
OLD_OOKLA = "Latency: 8.33 ms (0.36 ms jitter)\nDownload: 93.80 Mbps (data used: 42.5 MB)\nUpload: 11.21 Mbps"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (OOKLA, (931.5, 35.12, 5.35, 14.26, 84.71)),
        (OOKLA_JSON, (931.5, 35.12, 5.35, 14.26, 84.71)),
        (OLD_OOKLA, (93.8, 11.21, 8.33)),
        (CLI, (93.21, 11.02, 18.5)),
        (CLI_JSON, (93.21, 11.02, 18.5)),
        (LIBRE, (94.32, 11.02, 24)),
        (LIBRE_JSON, (94.32, 11.02, 24)),
        (CLOUDFLARE, (94.3, 11.2, 12.3, 34.5, 110)),
        ("Ping: 18.5 ms\nDownload: 11.65 Mbyte/s\nUpload: 1.38 Mbyte/s\n", (93.2, 11.04, 18.5)),
        ("idle 15 ms, 11.5 MB/s down, 1 MB/s up", (92, 8, 15)),
        ("idle 15 ms, 11.5 MBPS down, 1 MBPS up", (11.5, 1, 15)),
        ("ping 12 ms, 94,2 Mbps down and 11 Mbps up", (94.2, 11, 12)),
        ("ping 12 ms, 1,024.5 Mbps down, 1,234 Mbps up", (1024.5, 1234, 12)),
        ("ping 0,012 s, 1.024,5 Mbit/s down, 94,25 Mbit/s up", (1024.5, 94.25, 12)),
        ("Idle latency 20 ms\nDownload 1.2 Gbps, latency 45 ms\nUpload 40 Mbps, latency 1.3 s\n",
         (1200, 40, 20, 45, 1300)),
    ],
)  # fmt: skip
def test_a_number_is_what_the_program_says_it_is(text: str, numbers: tuple[float, ...]) -> None:
    m = of_text(text).data
    assert isinstance(m, Measurement)
    found = [m.rate(Role.DOWN) / 1e6, m.rate(Role.UP) / 1e6, m.idle_s * 1e3, *[1e3 * s.mean for s in m.of(Role.PING)]]
    assert found == pytest.approx(numbers)


def test_a_number_that_is_not_taken_is_named() -> None:
    left = {x.what: x.why for x in of_text("unloaded 12 ms, 95 Mbps, loaded 45 ms, upload 11 Mbps, 3 ms").left}
    assert left["95 Mbps"] == "the text does not say in which direction"
    assert "which direction loaded the line" in left["the round trip under load, for the command"]
    assert "9 numbers of jitter or of the ends of a range" in {x.what for x in of_text(OOKLA).left}
    twice = of_text("idle 10 ms, download 90 Mbps, upload 9 Mbps, download 50 Mbps")
    assert twice.data.rate(Role.DOWN) == 90e6
    assert ("50 Mbps", "a second download rate: the first one is taken") in {(x.what, x.why) for x in twice.left}
    assumed = of_text("idle 15 ms, download 1,234 Mbps, upload 512 kB/s").understood
    assert "assumed: 1234, with a separator of thousands" in str(assumed) and "bytes: 8 bits each" in str(assumed)
    assert "assumed bits" in str(of_text("idle 15 ms, 11.5 MBPS down, 1 MBPS up").understood)
    assert "192.0.2.1" not in str(of_text(OOKLA_JSON).as_dict()) + str(of_text(CLI_JSON).as_dict())


# iperf3


def rows(*lines: str) -> str:
    """Rows as iperf3 prints them: what stands in the brackets, from, to, rate and what stands behind."""
    made = []
    for line in lines:
        if not line.startswith("|"):
            made.append(line)
            continue
        name, _, row = line[1:].rpartition("]")
        since, until, rate, *rest = row.split(maxsplit=3)
        value, unit = rate.split("_")
        made.append(f"[{name}]   {since}-{until}   sec  1.00 MBytes  {value} {unit}/sec  {' '.join(rest)}")
    return "\n".join(made)


def rates(found: Reading, role: Role) -> tuple[float, list[float]]:
    (series,) = found.data.of(role)
    return series.mean / 1e6, [v / 1e6 for v in series.values]


TCP = ("Connecting to host 192.0.2.1, port 5201", "|  5] 0.00 1.00 9.0_Mbits 3", "|  5] 1.00 2.00 9.4_Mbits 0")
ENDS = ("|  5] 0.00 2.00 9.2_Mbits 3             sender", "|  5] 0.00 2.00 9.1_Mbits              receiver")


def test_the_rate_is_that_which_arrived_and_else_it_is_said() -> None:
    whole = of_text(rows(*TCP, *ENDS))
    assert rates(whole, Role.UP) == (pytest.approx(9.1), [9.0, 9.4]) and whole.data.retransmissions == 3
    stopped = of_text(
        rows(*TCP, ENDS[0], ENDS[1].replace("9.1_", "0.00_"), "iperf3: interrupt - the client has terminated")
    )
    assert rates(stopped, Role.UP)[0] == pytest.approx(9.2)
    assert understood(stopped, "mean").startswith("as sent: the receiver's total is missing")
    assert rates(of_text(rows(*TCP)), Role.UP)[0] == pytest.approx(9.2)
    assert understood(of_text(rows(*TCP)), "mean") == "over the intervals: the totals are missing"


def test_a_time_or_a_title_before_a_row_and_bytes_are_read() -> None:
    for before in ("Sun Nov 29 14:57:58 2026 ", "mytitle:  "):
        text = "\n".join(before + line for line in rows(*TCP, *ENDS).split("\n"))
        assert rates(of_text(text), Role.UP) == (pytest.approx(9.1), [9.0, 9.4])
    # iperf3 counts bytes in units of 1024.
    found = of_text(rows(*[line.replace("Mbits", "MBytes") for line in (*TCP, *ENDS)]))
    assert rates(found, Role.UP)[0] == pytest.approx(9.1 * 8 * 1.048576)


def test_what_the_server_printed_is_the_same_run() -> None:
    server = ("Server output:", "Accepted connection from 192.0.2.2, port 49622", *TCP[1:], "|  5] 2.00 2.01 99_Mbits")
    for more in ((), ("Reverse mode, remote host 192.0.2.1 is sending",)):
        found = of_text(rows(TCP[0], *more, *TCP[1:], *ENDS, *server, ENDS[1]))
        assert rates(found, Role.DOWN if more else Role.UP)[1] == [9.0, 9.4]
        assert "the output of the server" in {x.what for x in found.left}


def test_two_runs_are_not_one() -> None:
    back = (
        "Reverse mode, remote host 192.0.2.1 is sending",
        *[line.replace("9.", "92.") for line in (*TCP[1:], *ENDS)],
    )
    found = of_text(rows(*TCP, *ENDS, TCP[0], *back))
    assert rates(found, Role.UP) == (pytest.approx(9.1), [9.0, 9.4]) and not found.data.of(Role.DOWN)
    assert "1 more runs" in {x.what for x in found.left}
    # Without its heads the rows of a second run follow totals.
    assert len(rates(of_text(rows(*TCP[1:], *ENDS, *TCP[1:], *ENDS)), Role.UP)[1]) == 2


def test_streams_and_directions_of_bidir_are_counted_apart() -> None:
    tags = ("|  5][TX-C] 0.00 1.00 5_Mbits", "|  7][TX-C] 0.00 1.00 4_Mbits", "|SUM][TX-C] 0.00 1.00 9_Mbits")
    tags += ("|  9][RX-C] 0.00 1.00 50_Mbits", "| 12][RX-C] 0.00 1.00 40_Mbits", "|SUM][RX-C] 0.00 1.00 90_Mbits")
    found = of_text(rows(TCP[0], *tags))
    assert (rates(found, Role.UP)[0], rates(found, Role.DOWN)[0]) == (pytest.approx(9), pytest.approx(90))
    assert (understood(found, "flows, upload"), understood(found, "flows, download")) == ("2", "2")
    # What a server receives is the upload of its client.
    server = (
        "Accepted connection from 192.0.2.2, port 40312",
        "|  5][RX-S] 0.00 1.00 11_Mbits",
        "|  8][TX-S] 0.00 1.00 93_Mbits",
    )
    found = of_text(rows(*server))
    assert (rates(found, Role.UP)[0], rates(found, Role.DOWN)[0]) == (pytest.approx(11), pytest.approx(93))
    # Streams without a sum are added up.
    without = of_text(
        rows("|  5] 0.00 1.00 5_Mbits", "|  7] 0.00 1.00 4_Mbits", "|  5] 1.00 2.00 3_Mbits", "|  7] 1.00 2.00 2_Mbits")
    )
    assert rates(without, Role.UP) == (pytest.approx(7), [9.0, 5.0])


def test_steps_that_are_omitted_or_too_short_are_named() -> None:
    found = of_text(rows(TCP[0], "|  5] 0.00 1.00 99_Mbits 1 (omitted)", *TCP[1:], "|  5] 2.00 2.04 99_Mbits 0", *ENDS))
    assert rates(found, Role.UP)[1] == [9.0, 9.4]
    assert {"1 intervals at the beginning", "the interval from 2 s"} <= {x.what for x in found.left}


def test_losses_of_udp_are_the_receivers() -> None:
    head = (TCP[0], "|  4] 0.00 1.00 98_Mbits 1491", "|  4] 1.00 2.00 100_Mbits 1526")
    # Before 3.2 one row has the rate of the sender and the losses of the receiver.
    found = of_text(rows(*head, "|  4] 0.00 2.00 98.8_Mbits 0.312 ms  754/3016 (25%)", "[  4] Sent 3016 datagrams"))
    assert rates(found, Role.UP) == (pytest.approx(74.1), [98, 100])
    assert understood(found, "mean").startswith("assumed: the rate of the sender less") and found.data.loss == 0.25
    assert understood(found, "over time").startswith("as sent")
    # The sender's line says 0 lost whatever was lost.
    found = of_text(rows(*head, "|  4] 0.00 2.00 98.8_Mbits 0.000 ms  0/3016 (0%)  sender"))
    assert understood(found, "lost") == "unknown: the receiver's line is missing" and found.data.sent is None
    both = (
        "|  5][TX-C] 0.00 2.00 20_Mbits 0.1 ms  5/100 (5%)  receiver",
        "|  7][RX-C] 0.00 2.00 20_Mbits 0.1 ms  1/100 (1%)  receiver",
    )
    found = of_text(rows(TCP[0], *both))
    assert understood(found, "lost, upload") == "5 of 100 datagrams, 5 %"
    assert understood(found, "lost, download") == "1 of 100 datagrams, 1 %"


def test_iperf_2_is_read_as_it_is() -> None:
    head = "Client connecting to 192.0.2.1, TCP port 5001"
    found = of_text(f"{head}\n[  3]  0.0- 1.0 sec  11.4 MBytes  95.4 Mbits/sec\n[  3]  1.0- 2.0 sec  11.2 MBytes  94.4 "
                    "Mbits/sec\n[  3]  0.0- 2.0 sec  22.6 MBytes  94.2 Mbits/sec\n")  # fmt: skip
    assert rates(found, Role.UP) == (pytest.approx(94.2), [95.4, 94.4]) and found.data.program == "iperf 2"
    head = head.replace("TCP", "UDP")
    sent = "[  3]  0.0-10.0 sec  12.5 MBytes  10.5 Mbits/sec\n[  3] Sent 8917 datagrams\n"
    report = "[  3] Server Report:\n[  3]  0.0-10.0 sec  9.4 MBytes  7.9 Mbits/sec   0.010 ms    2229/ 8917 (25%)\n"
    found = of_text(f"{head}\n{sent}{report}")
    assert rates(found, Role.UP)[0] == pytest.approx(7.9) and found.data.loss == pytest.approx(2229 / 8917)
    both = f"{head}\nServer listening on UDP port 5001\n{sent}"
    with pytest.raises(ReadError, match="both directions at once"):
        of_text(both)


def test_the_one_total_of_udp_in_json_is_the_senders() -> None:
    test = {"protocol": "UDP", "num_streams": 1, "duration": 2}
    total = {"bits_per_second": 98.8e6, "jitter_ms": 0.3, "lost_packets": 754, "packets": 3016}
    old = of_text(json.dumps({"start": {"test_start": test}, "intervals": [], "end": {"sum": total}}))
    assert old.data.rate(Role.UP) == pytest.approx(74.1e6)
    assert understood(old, "mean, upload").startswith("assumed: the rate of the sender less")
    new = {"sum": total, "sum_received": {"bits_per_second": 74e6}, "sum_sent": {"bits_per_second": 98.8e6}}
    found = of_text(json.dumps({"start": {"test_start": test}, "intervals": [], "end": new}))
    assert found.data.rate(Role.UP) == 74e6
