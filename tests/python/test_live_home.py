"""The home line with real packets: where ends are laid out, the kernel's own queue for a link, answers to datagrams.

What needs namespaces is left out, with the reason, where the machine allows none.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import traffic_control
from realnet import LINUX, real, tailback

pytestmark = pytest.mark.skipif(not LINUX, reason="real packets need Linux")
if LINUX:
    from tailback.apps.ask.home import page
    from tailback.apps.ask.home.candidates import candidate, today
    from tailback.apps.ask.home.line import question
    from tailback.apps.ask.home.page import toml
    from tailback.apps.ask.home.phases import timeline
    from tailback.apps.ask.home.traffic import LINE, SHAPER
    from tailback.apps.ask.home.traffic import scenario as home
    from tailback.core.scenario.read import load_scenario
    from tailback.linux import kernel
    from tailback.runs.live import datagrams, kernel_queue, machine
    from tailback.runs.live.kernel_queue import NotPossible
    from tailback.runs.live.layout import plan

#: Slow enough for buffers to fill within seconds.
RATES = ("8Mbps", "2Mbps", "20ms")


def written(queue: Any, **given: Any) -> str:
    """The scenario that `tailback compare` writes for a home line."""
    line = question(*RATES, **({"traffic": ["bulk", "call", "game"], "link": "docsis"} | given))
    c = today() if queue == "modem" else candidate(queue, line)
    return toml(home(line, c.queues(line, line.share), timeline(line)), "test")


SMALL = """
duration = "3s"
interval = "1s"
[link.shaper]
from = "home"
to = "modem"
rate = "1Gbps"
delay = "0s"
queue = {{ kind = "htb", rate = "{up}", queue = {{ kind = "droptail", buffer = "20 packets" }} }}
reverse_queue = {{ kind = "htb", rate = "{down}", queue = {{ kind = "droptail", buffer = "20 packets" }} }}
[link.line]
from = "modem"
to = "provider"
rate = "100Mbps"
delay = "10ms"
queue = {{ kind = "droptail", buffer = "100KB" }}
reverse_queue = {{ kind = "droptail", buffer = "100KB" }}
[flows.up]
from = "home"
to = "provider"
stop = "2.8s"
tcp = {{ congestion = "cubic", ecn = "off" }}
[flows.down]
from = "provider"
to = "home"
stop = "2.8s"
tcp = {{ congestion = "cubic", ecn = "off" }}
[flows.ping]
from = "home"
to = "provider"
transport = {{ kind = "udp", echo = true, echo_size = "200B" }}
packet_size = "100B"
traffic = {{ kind = "cbr", rate = "40kbps" }}
[record.ping]
flows = "ping"
probes = ["round_trip"]
on_change = true
"""


# ------------------------------------------------------------------------------------------------ without privilege


def lines(text: str, link: str) -> kernel_queue.KernelQueue:
    return kernel_queue.of(load_scenario(text), link)


def test_a_shaper_stands_at_home_in_both_directions() -> None:
    """Upwards where packets leave the router, downwards behind the line, where they come in."""
    found = lines(written({"kind": "droptail", "buffer": "100 packets"}), SHAPER)
    near, far = found.lines
    assert far == [] and found.needs == ["htb", "pfifo", "ifb", "ingress"]
    up = [line for line in near if "dev tailback0 root" in line or "dev tailback0 parent 1:" in line]
    down = [line for line in near if "dev ifb4wan root" in line or "dev ifb4wan parent 1:" in line]
    # 95 % of 2 and of 8 Mb/s; the header of DOCSIS counts from the IP packet, as a TUN device has no other.
    assert up[1].endswith("htb rate 1900kbit ceil 1900kbit burst 1518 cburst 1518 quantum 1514 "
                          "overhead 18 mpu 64 linklayer ethernet")  # fmt: skip
    assert "rate 7600kbit" in down[1]
    assert all(part[2].endswith("pfifo limit 100") for part in (up, down))
    assert near.index("ip link add ifb4wan type ifb") < near.index(down[0])
    # The box passes them at once.
    opened = load_scenario(written("fq-codel"), found.overrides)
    assert {row["queue"] for row in opened.spec["links"] if row["name"].startswith(SHAPER)} == {"droptail"}


def test_a_modem_stands_before_each_end_of_its_line() -> None:
    found = lines(written("modem", link="unknown"), LINE)
    near, far = found.lines
    assert [line.split()[-3:] for line in (near[2], far[2])] == [
        ["bfifo", "limit", "62500"],
        ["bfifo", "limit", "250000"],
    ]
    assert "rate 2mbit" in near[1] and "rate 8mbit" in far[1]
    # The rate was the link's own.
    assert "link.line.rate=10Gbps" in found.overrides and "link.line.reverse_rate=10Gbps" in found.overrides
    framed = lines(written("modem"), LINE)
    assert "overhead 18 mpu 64" in framed.lines[0][1] and not any("rate=" in one for one in framed.overrides)


def test_flows_ends_are_laid_out_by_their_nodes() -> None:
    scenario = load_scenario(written({"kind": "droptail", "buffer": "100 packets"}))
    found = kernel_queue.of(scenario, SHAPER)
    layout = plan(scenario, {"kernel": found})
    groups = {g.name: g for g in layout.groups}
    assert not groups["bulk-up-up"].turned and groups["bulk-down-down"].turned and groups["call-down-up"].turned
    # Datagrams are measured by their ends: the box does not see what the kernel drops.
    assert all(g.numbered == (g.protocol == 17) for g in groups.values())
    assert found.is_far("provider") and not found.is_far("pc1")
    plain = plan(scenario, {})
    assert not any(g.turned for g in plain.groups)
    assert {g.name for g in plain.groups if g.numbered} == {"probe", "game-idle", "game-down", "game-up", "game-both"}


def test_answers_have_their_size() -> None:
    groups = {g.name: g for g in plan(load_scenario(written("modem")), {}).groups}
    assert groups["probe"].echo and groups["probe"].answer == 0
    # 300 B with headers of 28 B.
    assert groups["game-up"].answer == 272


def refused(text: str, link: str | None = None, **overrides: Any) -> str:
    with pytest.raises(NotPossible) as e:
        scenario = load_scenario(text)
        if link is not None:
            overrides["kernel"] = kernel_queue.of(scenario, link)
        plan(scenario, overrides)
    return str(e.value)


def test_what_the_kernel_cannot_have_is_refused_in_words() -> None:
    text, small = written("fq-codel"), SMALL.format(up="4Mbps", down="8Mbps")
    leaf = '"droptail", buffer = "20 packets"'
    assert "there is no such link; links are shaper, line, pc1" in refused(text, "nonesuch")
    assert "hold no packets back" in refused(written("modem"), SHAPER)
    assert "no queue that is this blue" in refused(small.replace(leaf, '"blue"'), SHAPER)
    assert "cannot be given hash_key" in refused(small.replace(leaf, '"fq-codel", hash_key = "source"'), SHAPER)
    assert "alters link.line during the run" in refused(written("modem", varies="evening"), LINE)
    beside = '[link.lan]\nfrom = "provider"\nto = "server"\nrate = "1Gbps"\ndelay = "0s"\nqueue = "droptail"\n'
    beside += '[flows.beside]\nfrom = "server"\nto = "provider"\n'
    assert "flows.beside does not pass link.shaper" in refused(small + beside, SHAPER)
    assert "at least 44B" in refused(small.replace('echo_size = "200B"', 'echo_size = "30B"'))


def test_what_this_kernel_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "kernel_queues", lambda: ("htb", "pfifo"))
    with pytest.raises(NotPossible, match="this kernel has no cake; it has htb, pfifo"):
        machine.require(["cake", "htb"], SHAPER)
    monkeypatch.setattr(machine, "kernel_queues", lambda: ())
    with pytest.raises(NotPossible, match="tailback doctor"):
        machine.require(["htb"], SHAPER)


def test_sessions_say_what_to_leave_out(tmp_path: Path) -> None:
    path = tmp_path / "web.toml"
    path.write_text(written("modem", traffic=["bulk", "web"]))
    done = tailback("live", str(path))
    assert done.returncode == 2 and "leave web out of the --traffic" in " ".join(done.stderr.split()), done.stderr


def test_the_page_says_with_what_each_candidate_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row for the kernel where it has all that is needed; the machine that reads the page is not asked."""

    def rows(name: str, has: tuple[str, ...], **given: Any) -> list[list[str]]:
        monkeypatch.setattr(page, "_has", lambda: has)
        line = question(*RATES, **({"traffic": ["bulk"], "link": "docsis"} | given))
        c = today() if name == "modem" else candidate(name, line)
        made = home(line, c.queues(line, line.share), timeline(line))
        answer: Any = SimpleNamespace(line=line, candidates={name: c}, scenarios={name: made})
        return page.live_rows(answer, name)

    here = ("htb", "pfifo", "bfifo", "ingress", "ifb")
    assert rows("modem", here) == [
        ["modem", "kernel", "tailback live scenarios/modem.toml --kernel line"],
        ["modem", "our box", "tailback live scenarios/modem.toml"],
    ]
    assert [row[1] for row in rows("droptail", here)] == ["kernel", "our box"]
    assert rows("droptail", here)[0][2].endswith("--kernel shaper")
    lacks = "tailback live scenarios/cake.toml (the kernel has no cake)"
    assert rows("cake", here) == [["cake", "our box", lacks]]
    assert [row[1] for row in rows("cake", (*here, "cake"))] == ["kernel", "our box"]
    assert [row[1] for row in rows("modem", ())] == ["our box"]
    # A rate that varies is the box's alone.
    assert rows("modem", here, varies="evening") == [["modem", "our box", "tailback live scenarios/modem.toml"]]
    assert rows("modem", here, traffic=["bulk", "web"])[0][1:] == [
        "model only", "pages of the web have no live form: leave web out of --traffic"
    ]  # fmt: skip


@traffic_control.needs_tc
@pytest.mark.parametrize(
    "queue",
    [
        "fq-codel",
        "cake",
        "codel",
        "pie",
        {"kind": "sfq", "buckets": 1024},
        "red",
        {"kind": "droptail", "buffer": "50KB"},
        "front-drop",
        "fq-pie",
    ],
)
def test_tc_reads_each_line(queue: Any, tmp_path: Path) -> None:
    """The kernel may lack the discipline; `tc` has read the line then."""
    for link in ("docsis", "vdsl", "adsl"):
        near, _ = lines(written(queue, link=link), SHAPER).lines
        asked = [line.replace("tailback0", "WAN") for line in near if line.startswith("tc ")]
        said = traffic_control.said_of(asked, tmp_path)
        assert set(said.values()) <= {traffic_control.TAKEN, traffic_control.LACKS_MODULE, ""}, said


def test_a_datagram_has_its_number_and_time() -> None:
    made = datagrams.numbered(7, bytes(36))
    number, sent = struct.unpack_from("<QQ", made)
    assert len(made) == 36 and number == 7 and sent > 0
    # One without room has neither.
    assert datagrams.numbered(7, bytes(12)) == bytes(12)
    answer = datagrams.Datagram(("peer", 1), 36, 0, 7, sent).answer(272)
    assert len(answer) == 272 and answer[:16] == made[:16]


# ----------------------------------------------------------------------------------------------------- real packets


def run(path: Path, *words: str) -> dict[str, Any]:
    done = tailback("live", str(path), "--json", *words)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def goodput(found: dict[str, Any]) -> dict[str, float]:
    return {g["group"]: g["goodput_bps_mean"] for g in found["groups"]}


@real
@pytest.mark.slow
def test_answers_are_measured_as_in_a_simulation(tmp_path: Path, nothing_left: None) -> None:
    """An idle line: each datagram is answered after the round trip, and the wait for its own packets."""
    path = tmp_path / "idle.toml"
    text = SMALL.format(up="8Mbps", down="8Mbps")
    path.write_text(text.split("[flows.up]")[0] + "[flows.ping]" + text.split("[flows.ping]")[1])
    found = run(path, "--out", str(tmp_path / "out"))
    (row,) = found["datagrams"]
    simulated = json.loads(tailback("run", str(path), "--json").stdout)["datagrams"][0]
    # The last ones may be under way.
    assert 145 <= row["answered_packets"] <= simulated["answered_packets"] and row["lost_answers_packets"] == 0
    assert abs(row["rtt_p50_s"] - simulated["rtt_p50_s"]) < 0.002
    assert row["received_packets"] >= row["answered_packets"] and row["lost_packets"] == 0


@real
@pytest.mark.slow
def test_the_kernel_holds_the_rates_of_its_own_queue(tmp_path: Path, nothing_left: None) -> None:
    """Both ways at once, from both sides; what the kernel's queue delays and drops is in the tables."""
    if missing := {"htb", "pfifo", "ifb", "ingress"} - set(machine.kernel_queues()):
        pytest.skip(f"this kernel has no {', '.join(missing)}")
    path = tmp_path / "kernel.toml"
    path.write_text(SMALL.format(up="4Mbps", down="8Mbps"))
    found = run(path, "--kernel", "shaper")
    rates = goodput(found)
    # Over 3 s, with slow start and the ACKs of the other direction.
    assert 0.55 * 4e6 < rates["up"] < 0.97 * 4e6 and 0.6 * 8e6 < rates["down"] < 0.97 * 8e6
    (row,) = found["datagrams"]
    # 20 packets of 1500 B wait 60 ms upwards and 30 ms downwards.
    assert 0.020 < row["rtt_p50_s"] < 0.020 + 0.060 + 0.030 + 0.010 and row["rtt_max_s"] > 0.060
    (told,) = found["live"]
    queues = {(q["dev"], q["kind"]): q for q in told["queues"]}
    assert queues["tailback0", "pfifo"]["drops"] > 0 and queues["ifb4wan", "pfifo"]["drops"] > 0
    assert all(row["dropped_packets"] == 0 for row in found["links"] if row["name"].startswith("shaper"))
    # No packet is larger than the MTU.
    assert all(q["bytes"] / max(1, q["packets"]) <= 1500 for q in told["queues"])


@real
def test_a_kernel_without_the_discipline_says_what_it_has(tmp_path: Path) -> None:
    if "fq_codel" in machine.kernel_queues():
        pytest.skip("this kernel has fq_codel")
    path = tmp_path / "lacks.toml"
    path.write_text(SMALL.format(up="4Mbps", down="8Mbps").replace('"droptail", buffer = "20 packets"', '"fq-codel"'))
    done = tailback("live", str(path), "--kernel", "shaper")
    words = " ".join(done.stderr.split())
    assert done.returncode == 2 and "this kernel has no fq_codel; it has htb" in words, words


def test_the_words_of_the_cake_of_a_scenario() -> None:
    given = {"kind": "cake", "rate": "19Mbps", "overhead": "18B", "mpu": "64B", "framing": "plain", "tins": "diffserv4",
             "isolation": "dual-dst", "ingress": True}  # fmt: skip
    (line,) = kernel.queue(given, 1e9, marking=True).lines("tailback0")
    words = "cake bandwidth 19mbit dual-dsthost ingress diffserv4 overhead 18 mpu 64 noatm"
    assert line == f"tc qdisc replace dev tailback0 root {words}"
