"""Real packets. What needs namespaces is left out, with the reason, where the machine allows none."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from realnet import LINUX, ours, real, tailback

pytestmark = pytest.mark.skipif(not LINUX, reason="real packets need Linux")
if LINUX:
    from tailback import _core
    from tailback.core.scenario.read import load_scenario
    from tailback.runs.live import iperf, machine
    from tailback.runs.live.layout import NotPossible, plan
    from tailback.runs.live.session import LiveError, Side

SCENARIO = """
duration = "{seconds}s"
warmup = "{warmup}s"
[link.bottleneck]
from = "left"
to = "right"
rate = "8Mbps"
delay = "5ms"
queue = {{ kind = "codel", ecn = true }}
[flows.bulk]
from = "left"
to = "right"
count = 3
rtt = "20ms"
tcp = {{ ecn = "on" }}
[record.window]
flows = "bulk"
probes = ["cwnd", "goodput"]
every = "100ms"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "real.toml"
    path.write_text(SCENARIO.format(seconds=3, warmup=1))
    return path


# ------------------------------------------------------------------------------------------------ without privilege


def check(text: str, **overrides: object) -> str:
    with pytest.raises(NotPossible) as e:
        plan(load_scenario(text), overrides)
    return str(e.value)


def test_what_no_kernel_can_do_is_refused_in_words() -> None:
    text = SCENARIO.format(seconds=3, warmup=1)
    assert "at most 4000" in check(text.replace("count = 3", "count = 100000"))
    assert "which no kernel has" in check(text.replace('tcp = { ecn = "on" }', 'tcp = { congestion = "binomial" }'))
    more = (
        '[flows.more]\nfrom = "left"\nto = "right"\ntransport = "udp"\ntraffic = { kind = "poisson", rate = "1Mbps" }\n'
    )
    assert "iperf3 sends bulk" in check(text + more, iperf3=("more",))
    assert "there is no such group" in check(text, iperf3=("nonesuch",))
    turns = 'traffic = { kind = "bulk", turns = ["1s", "1s"] }'
    assert "makes pauses" in check(text.replace("count = 3", f"count = 3\n{turns}"))
    assert "video datagrams" in check(text + more.replace('{ kind = "poisson", rate = "1Mbps" }', '"video"'))


def test_a_kernel_is_told_what_it_can_be_told() -> None:
    text = SCENARIO.format(seconds=3, warmup=1)
    tcp = '{ ecn = "off", initial_window = "4 packets", delayed_ack = 1, variant = "newreno", payload = "536B" }'
    layout = plan(load_scenario(text.replace('{ ecn = "on" }', tcp)), {})
    (group,) = layout.groups
    assert group.there == ["initcwnd", "4"] and group.back == ["quickack", "1"] and group.mtu == 576
    assert layout.sysctls["net/ipv4/tcp_sack"] == "0" and layout.sysctls["net/ipv4/tcp_recovery"] == "0"
    assert not any("delayed" in told or "initial window" in told for told in layout.not_told)
    assert len(set(layout.conversations())) == 3


def test_what_a_kernel_cannot_be_told_is_said() -> None:
    text = SCENARIO.format(seconds=3, warmup=1).replace('{ ecn = "on" }', '{ dupack_threshold = 5, variant = "tahoe" }')
    told = " ".join(plan(load_scenario(text), {}).not_told)
    assert "flows.bulk.dupack_threshold" in told and "tahoe" in told and "delayed ACKs" in told


def test_a_queue_that_can_only_mark_is_told_how_to_be_asked(tmp_path: Path) -> None:
    """Live runs turn marking off by themselves, which the user has not written anywhere."""
    text = SCENARIO.format(seconds=3, warmup=1)
    path = tmp_path / "marks.toml"
    path.write_text(text.replace('{ kind = "codel", ecn = true }', '"dualpi2"'))
    recording = tmp_path / "recording.txt"
    recording.write_text("")
    # Standard input is read as a file is.
    with path.open() as given:
        command = [sys.executable, "-m", "tailback", "live", "-"]
        piped = subprocess.run(command, stdin=given, capture_output=True, text=True, timeout=60, check=False)
    for done, name in ((tailback("live", str(path)), str(path)), (piped, "standard input")):
        assert done.returncode == 2 and "marking = false" not in done.stderr, done.stderr
        words = " ".join(done.stderr.replace("\n", " ").split())
        assert f"{name}, line 9, link.bottleneck.queue: dualpi2 signals only by marks" in words
        assert "give marking = true at the top of the scenario, or --set marking=true" in words
    asked = tailback("live", str(path), "--set", "marking=true", "--replay", str(recording))
    assert asked.returncode == 0, asked.stderr


def test_a_replay_says_where_it_differs(scenario: Path, tmp_path: Path) -> None:
    recording = tmp_path / "recording.txt"
    recording.write_text("arrival 1000 0 0 0 0 0 60 1 0 0\nexit 1000 15060000 0\n")
    done = tailback("live", str(scenario), "--replay", str(recording))
    assert done.returncode == 1 and "number 1 of the departures differs" in done.stderr
    simulated = done.stderr.split("simulated '")[1].split("'")[0]
    recording.write_text(f"arrival 1000 0 0 0 0 0 60 1 0 0\n{simulated}\n")
    done = tailback("live", str(scenario), "--replay", str(recording))
    assert done.returncode == 0 and "1 arrivals: the same" in done.stdout, done.stderr
    recording.write_text("nonsense\n")
    done = tailback("live", str(scenario), "--replay", str(recording))
    assert done.returncode == 2 and "line 1" in done.stderr


# ----------------------------------------------------------------------------------------------------- real packets


@real
@pytest.mark.parametrize("words", [(), ("--ipv6",), ("--congestion", "cubic", "--pacing", "4Mbps")])
def test_a_live_run_has_the_tables_of_a_simulated_one(
    scenario: Path, tmp_path: Path, nothing_left: None, words: tuple[str, ...]
) -> None:
    done = tailback("live", str(scenario), "--json", "--out", str(tmp_path / "live"), *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert tailback("run", str(scenario), "--out", str(tmp_path / "run")).returncode == 0
    live, run = (_core.read_results(tmp_path / name) for name in ("live", "run"))
    for table in _core.TABLES:
        assert getattr(live, table).columns == getattr(run, table).columns, table
    assert set(live.series["probe"]) == {"cwnd", "goodput"}
    (group,) = found["groups"]
    # 1448 of 1500 bytes are payload, less for IPv6.
    assert 0.8 < group["goodput_bps_sum"] / 8e6 < 0.97
    (told,) = found["live"]
    assert told["quality"]["lost_packets"] == 0
    # A host of IPv6 looks for routers and groups by itself.
    assert told["quality"]["strangers_packets"] == 0 or "--ipv6" in words
    sent = {c["name"]: c["data_segs_out"] for c in told["connections"]}
    assert len(sent) == 3 and all(n > 100 for n in sent.values())
    side_by_side = tailback("report", str(tmp_path / "live"), str(tmp_path / "run"))
    assert side_by_side.returncode == 0 and "goodput" in side_by_side.stdout


@real
def test_each_mark_that_is_set_is_seen_and_nothing_is_sent_again(scenario: Path, nothing_left: None) -> None:
    done = tailback("live", str(scenario), "--json", "--set", "flows.bulk.start=0.2s")
    (told,) = json.loads(done.stdout)["live"]
    marks = told["quality"]["emitted_marked_packets"]
    assert marks > 0 and told["kernel"]["receiver"]["IpExt.InCEPkts"] == marks
    assert sum(c["total_retrans"] for c in told["connections"]) == 0
    # A reduction answers some of the marks of one round trip.
    reductions = [f["ecn_reductions"] for f in json.loads(done.stdout)["flows"]]
    assert all(0 < n < marks for n in reductions)


LOSSY = """
duration = "4s"
[link.bottleneck]
from = "left"
to = "right"
rate = "8Mbps"
delay = "5ms"
queue = { kind = "droptail", buffer = "20 packets" }
[flows.bulk]
from = "left"
to = "right"
count = 3
rtt = "20ms"
tcp = { ecn = "off", congestion = "reno" }
"""


@real
def test_recoveries_are_those_that_the_kernel_counts(scenario: Path, nothing_left: None) -> None:
    scenario.write_text(LOSSY)
    done = tailback("live", str(scenario), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    ours = sum(f["fast_retransmits"] for f in found["flows"])
    kernel = found["live"][0]["kernel"]["sender"]["TcpExt.TCPSackRecovery"]
    # Two that touch can be taken for one.
    assert kernel > 10 and 0 <= kernel - ours <= 1 + 0.1 * kernel


@real
def test_both_ends_send_where_the_scenario_says_so(scenario: Path, nothing_left: None) -> None:
    two_way = LOSSY.replace('ecn = "off"', 'ecn = "off", connection = "two-way"')
    scenario.write_text(two_way + 'traffic = { kind = "bulk", back = "1s" }\n')
    done = tailback("live", str(scenario), "--json")
    assert done.returncode == 0, done.stderr
    there, back = (row["delivered_packets"] for row in json.loads(done.stdout)["links"])
    # 8 Mb/s are 2667 packets in 4 s, 2000 in the 3 s in which the destinations send.
    assert there > 2000 and 1200 < back < 4000


@real
def test_transfers_have_their_sizes(scenario: Path, nothing_left: None) -> None:
    scenario.write_text(LOSSY + 'traffic = { kind = "transfer", size = ["100kB", "50kB", "200kB"] }\n')
    done = tailback("live", str(scenario), "--json")
    assert done.returncode == 0, done.stderr
    (told,) = json.loads(done.stdout)["live"]
    assert [f["bytes"] for f in told["received"]] == [100_000, 50_000, 200_000]


@real
def test_datagrams_keep_their_rate(scenario: Path, nothing_left: None) -> None:
    more = '[flows.voice]\nfrom = "left"\nto = "right"\ntransport = "udp"\npacket_size = "200B"\n'
    scenario.write_text(scenario.read_text() + more + 'traffic = { kind = "cbr", rate = "160kbps" }\n')
    done = tailback("live", str(scenario), "--json")
    assert done.returncode == 0, done.stderr
    voice = next(f for f in json.loads(done.stdout)["flows"] if f["group"] == "voice")
    assert abs(voice["sent_packets"] - 200) <= 10


@real
def test_the_simulator_decides_as_a_live_run_does(scenario: Path, tmp_path: Path, nothing_left: None) -> None:
    recording = str(tmp_path / "recording.txt")
    assert tailback("live", str(scenario), "--record", recording).returncode == 0
    again = tailback("live", str(scenario), "--replay", recording)
    assert again.returncode == 0, again.stderr
    assert " 0 departures" not in again.stdout and "the same" in again.stdout


BY_THEMSELVES = """
duration = "3s"
[link.bottleneck]
from = "left"
to = "right"
rate = "20Mbps"
delay = "5ms"
queue = "codel"
[flows.poisson]
from = "left"
to = "right"
count = 2
transport = "udp"
packet_size = "500B"
traffic = { kind = "poisson", rate = "1Mbps" }
[flows.onoff]
from = "left"
to = "right"
transport = "udp"
packet_size = "1000B"
traffic = { kind = "on-off", rate = "2Mbps", mean_on = "200ms", mean_off = "200ms" }
[flows.voice]
from = "left"
to = "right"
transport = "udp"
traffic = "voice"
[flows.keys]
from = "left"
to = "right"
transport = "tcp"
packet_size = "984B"
traffic = "telnet"
start = "0.5s"
"""


@real
def test_sources_that_go_by_time_write_what_a_simulation_writes(scenario: Path, nothing_left: None) -> None:
    scenario.write_text(BY_THEMSELVES)
    live, run = (tailback(command, str(scenario), "--json") for command in ("live", "run"))
    assert live.returncode == 0, live.stderr
    found, simulated = ({f["id"]: f for f in json.loads(done.stdout)["flows"]} for done in (live, run))
    for name in ("poisson.0", "poisson.1", "onoff.0", "voice.0"):
        a, b = (d[name]["sent_packets"] for d in (found, simulated))
        # The last one may come too late to be seen.
        assert b > 100 and 0 <= b - a <= 2, name
    keys = [d["keys.0"]["goodput_bps"] for d in (found, simulated)]
    assert keys[0] == keys[1] > 0
    (voice,) = (d for d in json.loads(live.stdout)["datagrams"] if d["group"] == "voice")
    assert voice["received_packets"] >= 145 and voice["lost_packets"] == 0


@real
@pytest.mark.skipif(not shutil.which("iperf3"), reason="iperf3 is not installed")
def test_iperf3_sends_where_it_is_asked_for(scenario: Path, nothing_left: None, tmp_path: Path) -> None:
    more = '[flows.voice]\nfrom = "left"\nto = "right"\ntransport = "udp"\npacket_size = "200B"\n'
    more += 'traffic = { kind = "cbr", rate = "160kbps" }\n'
    more += '[flows.own]\nfrom = "left"\nto = "right"\ntcp = { ecn = "on" }\n'
    scenario.write_text(scenario.read_text().replace("warmup = ", "#") + more)
    words = ("--iperf3", "bulk", "--iperf3", "voice", "--json", "--out", str(tmp_path / "out"))
    done = tailback("live", str(scenario), *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (told,) = found["live"]
    assert told["quality"]["strangers_packets"] == 0
    groups = {g["group"]: g for g in found["groups"]}
    # The four connections share 8 Mb/s evenly enough, whoever sends.
    assert all(0.5e6 < groups[n]["goodput_bps_mean"] < 4e6 for n in ("bulk", "own"))
    connections = {c["name"]: c for c in told["connections"]}
    received = {r["name"]: r["bytes"] for r in told["received"]}
    assert all(20_000 < connections[f"bulk.{i}"]["rtt_us"] < 200_000 for i in range(3))
    assert all(received[f"bulk.{i}"] > 100_000 for i in range(3)) and received["own.0"] > 100_000
    # 160 kb/s with headers, of which 172 of 200 bytes are payload.
    assert 0.7 < received["voice.0"] * 8 / 3 / (160e3 * 172 / 200) < 1.05
    series = _core.read_results(tmp_path / "out").series
    assert {"cwnd", "goodput"} <= set(series["probe"])
    assert any("iperf3 tells neither" in said for said in told["not_told"])


def test_what_iperf3_says_is_read_as_our_own_senders_tell_it() -> None:
    def row(start: float, **more: float) -> dict[str, object]:
        return {"streams": [{"start": start, "end": start + 0.1, "bytes": 1000, "retransmits": 2, **more}]}

    said = {
        "start": {"tcp_mss_default": 1448},
        "intervals": [row(0.0, snd_cwnd=14480, rtt=30000), row(0.1, snd_cwnd=28960, rtt=20000)],
    }
    told = iperf.told(said, 5.0)
    assert told["samples"] == [(pytest.approx(4.9), 10, None, 0.03), (5.0, 20, None, 0.02)]
    assert told["last"] == {"bytes_sent": 2000, "total_retrans": 4, "rtt_us": 20000, "min_rtt_us": 20000}
    assert iperf.told({}, 5.0)["samples"] == []


@real
def test_iperf3_that_fails_or_is_missing_is_said(
    scenario: Path, nothing_left: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ip = shutil.which("ip")
    assert ip is not None
    (tmp_path / "ip").symlink_to(ip)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = tailback("live", str(scenario), "--iperf3", "all")
    assert done.returncode == 1 and "iperf3 is not installed" in done.stderr
    stand_in = tmp_path / "iperf3"
    # The server only listens; the client has no luck.
    stand_in.write_text(
        f"#!{sys.executable}\nimport socket, sys, time\n"
        "if '--server' in sys.argv:\n    port = int(sys.argv[sys.argv.index('--port') + 1])\n"
        "    s = socket.create_server(('', port))\n    time.sleep(60)\n"
        'print(\'{"error": "unable to connect to server: no luck"}\')\nsys.exit(1)\n'
    )
    stand_in.chmod(0o755)
    done = tailback("live", str(scenario), "--iperf3", "all")
    assert done.returncode == 1 and "flow bulk.0 could not send: iperf3: unable to connect" in done.stderr, done.stderr


# ---------------------------------------------------------------------------------------------------------- faults


def start(scenario: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tailback", "live", str(scenario), "--set", "duration=30s", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def agents_of(run: subprocess.Popen[str], n: int = 2) -> list[int]:
    """The processes in the namespaces, once there are so many."""
    deadline = time.monotonic() + 10
    while len(found := ours()) < n and time.monotonic() < deadline:
        assert run.poll() is None, run.communicate()[1]
        time.sleep(0.01)
    return found


@real
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_killed_gateway_leaves_nothing(scenario: Path, nothing_left: None, seed: int) -> None:
    run = start(scenario)
    time.sleep(Random(seed).uniform(0.1, 1.5))
    run.kill()
    run.communicate()


@real
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_killed_agent_ends_the_run_with_a_message(scenario: Path, nothing_left: None, seed: int) -> None:
    run = start(scenario)
    random = Random(seed)
    victims = agents_of(run)
    time.sleep(random.uniform(0.0, 1.0))
    os.kill(random.choice(victims), signal.SIGKILL)
    _, said = run.communicate(timeout=20)
    assert run.returncode == 1 and "was killed by signal 9" in said and "Traceback" not in said


@real
def test_a_process_that_is_gone_before_it_is_spoken_to_is_named() -> None:
    side = Side("sender", {"role": "none"})
    side.process.kill()
    side.process.wait()
    with pytest.raises(LiveError, match="the process of the sender was killed by signal 9"):
        # The first goes into the socket's buffer, or not, as the kernel has it.
        for _ in range(2):
            side.tell({"begin_ns": 0})
    side.end()


@real
@pytest.mark.skipif(not shutil.which("iperf3"), reason="iperf3 is not installed")
@pytest.mark.parametrize("victim", ["gateway", "agent"])
def test_iperf3_ends_with_whoever_is_killed(scenario: Path, nothing_left: None, victim: str) -> None:
    run = start(scenario, "--iperf3", "all")
    # Both agents, three senders, three receivers.
    found = agents_of(run, 8)
    assert len(found) >= 8
    if victim == "gateway":
        run.kill()
    else:
        os.kill(min(found), signal.SIGKILL)
    _, said = run.communicate(timeout=20)
    assert victim == "gateway" or (run.returncode == 1 and "was killed by signal 9" in said)


@real
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_cleanly(scenario: Path, nothing_left: None, number: int, status: int) -> None:
    run = start(scenario)
    agents_of(run)
    time.sleep(0.8)
    run.send_signal(number)
    _, said = run.communicate(timeout=20)
    assert run.returncode == status and "Traceback" not in said


@real
def test_an_interface_that_disappears_is_named(scenario: Path, nothing_left: None) -> None:
    run = start(scenario)
    victim = agents_of(run)[0]
    time.sleep(1.0)
    enter = ["nsenter", "-t", str(victim), "-n", *(["-U", "--preserve-credentials"] if os.geteuid() else [])]
    subprocess.run([*enter, "ip", "link", "del", "tailback0"], check=True)
    _, said = run.communicate(timeout=20)
    assert run.returncode == 1 and "interface has stopped working" in said and "Traceback" not in said


def in_a_box(script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A command behind a shell script, in name spaces where it may break things."""
    return tailback(*words, before=("unshare", "-Urm", "sh", "-c", f'{script}; exec "$0" "$@"'))


@real
def test_no_permission_and_no_device_are_said(scenario: Path, nothing_left: None) -> None:
    done = in_a_box("echo 0 > /proc/sys/user/max_net_namespaces", "live", str(scenario))
    assert done.returncode == 1 and "the limit of namespaces is reached" in done.stderr, done.stderr
    done = in_a_box("mount -t tmpfs none /dev/net", "live", str(scenario))
    assert done.returncode == 1 and "modprobe tun" in done.stderr, done.stderr
    done = in_a_box("mount -t tmpfs none /dev/net", "doctor")
    assert done.returncode == 1 and "no  TUN devices" in done.stdout
    done = in_a_box("mount -t tmpfs none /proc/sys/net", "live", str(scenario), "--ipv6")
    assert done.returncode == 1 and "IPv6 switched off" in done.stderr, done.stderr


@real
def test_a_congestion_control_that_the_kernel_lacks_is_named(scenario: Path, nothing_left: None) -> None:
    done = tailback("live", str(scenario), "--congestion", "nonesuch", "--set", "duration=2s")
    assert done.returncode == 1 and "nonesuch" in done.stderr and "Traceback" not in done.stderr


@real
def test_what_is_left_behind_is_found_and_ended(nothing_left: None) -> None:
    """A process that looks as one of ours whose gateway is gone."""
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    code = "import time; time.sleep(60)"
    with subprocess.Popen(
        [sys.executable, "-c", code, "tailback.runs.live.agent"],
        env={**os.environ, "TAILBACK_LIVE": gone.stdout.strip()},
    ) as orphan:
        time.sleep(0.3)
        assert machine.left_behind() == [orphan.pid]
        done = tailback("doctor", "--clean")
        assert done.returncode == 0 and "ended 1 process" in done.stdout
        assert orphan.wait(5) == -signal.SIGKILL
    assert "nothing is left behind" in tailback("doctor", "--clean").stdout
