"""SQM, FireQOS and Wonder Shaper beside calculations by hand; and that what the program prints it reads back."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest

import tailback as tb
from tailback.linux.framing import framing
from tailback.linux.openwrt import sqm as sqm_of
from tailback.linux.shaper import Setup, burst_bytes, lines
from tailback.linux.units import scenario_rate
from tailback.readers.given import Given
from tailback.readers.reading import ReadError, Reading
from tailback.readers.recognise import read as recognised


def read(text: str) -> Reading:
    return recognised(Given("text", text.encode()))


def queues(text: str) -> dict[str, dict[str, Any]]:
    return {side.way: side.queue for side in read(text).data.sides}


BLOCK = """
config queue 'eth1'
\toption enabled '1'
\toption interface 'eth1'
\toption download '85000'
\toption upload '10000'
\toption qdisc '{qdisc}'
\toption script '{script}.qos'
\toption linklayer '{layer}'
\toption overhead '{overhead}'
\toption debug_logging '0'
"""


def test_sqm_with_cake_is_what_its_script_gives() -> None:
    block = BLOCK.format(qdisc="cake", script="piece_of_cake", layer="ethernet", overhead=44)
    both = {"kind": "cake", "tins": "besteffort", "translated": "neither", "overhead": "44B", "mpu": "0B"}
    assert read(block).kind == "sqm"
    assert queues(block) == {
        "up": {**both, "rate": "10Mbps"},
        "down": {**both, "rate": "85Mbps", "wash": True},
    }
    # Layers upwards; downwards one tin, unless marks are kept.
    layers = queues(block.replace("piece_of_cake", "layer_cake"))
    assert (layers["up"]["tins"], layers["down"]["tins"]) == ("diffserv3", "besteffort")
    kept = block.replace("piece_of_cake", "layer_cake") + "\toption squash_ingress '0'\n\toption squash_dscp '0'\n"
    assert queues(kept)["down"]["tins"] == "diffserv3" and "wash" not in queues(kept)["down"]
    own = block + "\toption iqdisc_opts 'nat dual-dsthost ingress'\n\toption eqdisc_opts 'nat dual-srchost'\n"
    assert (queues(own)["down"]["isolation"], queues(own)["up"]["isolation"]) == ("dual-dst", "dual-src")


def test_sqm_with_fq_codel_follows_a_slow_line() -> None:
    block = BLOCK.format(qdisc="fq_codel", script="simplest", layer="atm", overhead=32)
    found = queues(block.replace("'10000'", "'1000'"))
    # 33 cells of 53 B at 1 Mbit/s take 13.992 ms; the interval is 95 ms more. 1 ms of 85 Mbit/s are 10625 B; at least
    # 33 cells. A table of sizes counts from the Ethernet header on.
    up, down = found["up"], found["down"]
    assert up["queue"] == {
        "kind": "fq-codel", "buffer": "1001 packets", "target": "13.992ms", "interval": "108.992ms", "ecn": True,
        "queues": 1024,
    }  # fmt: skip
    assert (up["rate"], up["burst"], up["overhead"], up["framing"]) == ("1Mbps", "1749B", "46B", "atm")
    assert (down["rate"], down["burst"], down["queue"]["target"]) == ("85Mbps", "10625B", "5ms")
    # Three classes by marks: packets without one have all but 16 kbit/s.
    assert queues(block.replace("simplest", "simple"))["up"]["rate"] == "9984kbps"
    tbf = queues(block.replace("simplest", "simplest_tbf"))["up"]
    assert (tbf["rate"], tbf["burst"], tbf["queue"]["kind"]) == ("10Mbps", "1749B", "fq-codel")


def test_sqm_as_commands_of_uci() -> None:
    block = BLOCK.format(qdisc="cake", script="piece_of_cake", layer="none", overhead=0)
    shown = [f"sqm.eth1.{w[1]}={w[2]}" for line in block.splitlines() if (w := line.split())[:1] == ["option"]]
    set_up = [f"uci set {line}" for line in shown]
    assert queues("\n".join(["sqm.eth1=queue", *shown])) == queues("\n".join(set_up)) == queues(block)
    reading = read(block + "\nconfig queue 'off'\n\toption enabled '0'\n")
    assert "it is not enabled" in [x.why for x in reading.left]
    for text, said in (
        (block.replace("'85000'", "'85Mbit'"), "option download '85Mbit': give kilobits a second"),
        (block.replace("'85000'", "'0'").replace("'10000'", "'0'"), "shapes nothing; give the rates in kbit/s"),
        (block.replace("'cake'", "'fq_codel'").replace("piece_of_cake", "mine"), "script 'mine.qos' is not known"),
        (block.replace("enabled '1'", "enabled '0'"), "no block of SQM is enabled; set option enabled '1'"),
    ):
        with pytest.raises(ReadError) as e:
            read(text)
        assert said in str(e.value)


def test_wonder_shaper_has_a_class_for_the_rest() -> None:
    # Upwards the class of what no filter knows has at most 95 %, with sfq; downwards one class of the rate.
    up = {"kind": "htb", "rate": "972kbps", "burst": "1600B", "overhead": "14B"}
    up["queue"] = {"kind": "sfq", "buffer": "127 packets", "buckets": 1024, "perturb": "10s"}
    down = {"kind": "htb", "rate": "8192kbps", "burst": "1600B", "overhead": "14B"}
    down["queue"] = {"kind": "droptail", "buffer": "32 packets"}
    for text in (
        "sudo wondershaper eth0 8192 1024",
        "# wondershaper -a eth0 -d 8192 -u 1024\n",
        "root@box:~# ./wondershaper -a eth0 -u 1024 -d 8192",
        'IFACE="eth0"\nDSPEED="8192"\nUSPEED="1024"\n',
        "wondershaper -c -a eth0\nwondershaper -a eth0 -d 8192 -u 1024",
        "UP=1024\nwondershaper -a eth0 -d 8192 -u $UP",
    ):
        assert queues(text) == {"up": up, "down": down}, text
    assert queues("wondershaper -a eth0 -u 512") == {"": {**up, "rate": "486kbps"}}
    with pytest.raises(ReadError, match="wondershaper has no rates; write wondershaper -a eth0 -d 8192 -u 1024"):
        read("wondershaper -c -a eth0")
    with pytest.raises(ReadError, match="'8mbit' is no number; give kilobits a second"):
        read("wondershaper -a eth0 -d 8mbit")


def test_fireqos_has_a_default_class() -> None:
    text = """
    SPEED="12000kbit"
    interface eth2 world bidirectional adsl remote pppoe-llc input rate $SPEED output rate 800kbit
      class voip commit 100kbit pfifo
        match udp ports 5060
      class default max 90%
    """
    found = queues(text)
    # 40 B of PPPoE with LLC, 14 less where the modem is another box; the device counts 14 B of its header.
    for way, rate in (("up", 720_000), ("down", 10_800_000)):
        queue = found[way]
        assert (queue["rate"], queue["overhead"], queue["framing"]) == (scenario_rate(rate), "40B", "atm")
        assert queue["queue"] == {"kind": "fq-codel"}
    # Without a unit a rate is in kilobits, and a kilobyte has 1024 bytes: 200 of these are 1638.4 kbit/s.
    assert queues("interface eth0 lan output rate 1000")[""]["rate"] == "1Mbps"
    assert queues("interface eth0 lan output rate 200kbps sfq")[""]["rate"] == "1638kbps"
    assert queues("interface eth0 lan output rate 200kbps sfq")[""]["queue"]["kind"] == "sfq"
    assert "a class" in {x.what for x in read(text).left}
    for wrong, said in (
        ("interface eth0 lan output balanced", "interface output without a rate; write rate 20mbit"),
        ("interface eth0 lan output rate fast", "'fast' is no speed of FireQOS; write one such as 20mbit"),
        ("interface eth0 lan output adsl local pppox rate 1mbit", "adsl local pppox is not known"),
    ):
        with pytest.raises(ReadError) as e:
            read(wrong)
        assert said in str(e.value)


TREE = """\
tc qdisc add dev tun0 root handle 1: htb default 30
tc class add dev tun0 parent 1: classid 1:1 htb rate 20mbit ceil 20mbit
tc class add dev tun0 parent 1:1 classid 1:10 htb rate 2mbit ceil 20mbit prio 0 quantum 1514
tc class add dev tun0 parent 1:1 classid 1:30 htb rate 10mbit ceil 19mbit prio 2
tc qdisc add dev tun0 parent 1:10 pfifo limit 20
tc qdisc add dev tun0 parent 1:30 fq_codel
"""


def test_a_tree_by_code_points_is_a_tree() -> None:
    expected = {
        "kind": "htb", "rate": "20Mbps", "burst": "1600B", "default": "1:30",
        "classes": [
            {
                "name": "1:10", "rate": "2Mbps", "ceil": "20Mbps", "quantum": "1514B", "prio": 0,
                "dscp": [46], "queue": {"kind": "droptail", "buffer": "20 packets"},
            },
            {"name": "1:30", "rate": "10Mbps", "ceil": "19Mbps", "prio": 2, "queue": {"kind": "fq-codel"}},
        ],
    }  # fmt: skip
    # EF is 46, which leaves two bits for ECN.
    for match in ("u32 match ip dsfield 0xb8 0xfc", "u32 match ip tos 184 0xff", "flower ip_tos 0xb8/0xfc"):
        assert queues(f"{TREE}tc filter add dev tun0 protocol ip parent 1: prio 1 {match} flowid 1:10")[""] == expected
    # Without a code point the class of other packets stands for all: it has what is lent, up to its ceiling.
    for match in ("u32 match ip dport 22 0xffff", "u32 match ip tos 0x10 0x1e", "fw"):
        one = queues(f"{TREE}tc filter add dev tun0 protocol ip parent 1: prio 1 {match} flowid 1:10")[""]
        assert (one["rate"], one["queue"]) == ("19Mbps", {"kind": "fq-codel"})


def test_lines_of_a_tree_are_read_back() -> None:
    from tailback.apps.ask.link import candidates
    from tailback.apps.ask.link.link import link
    from tailback.apps.ask.link.production import lines as production

    text = TREE.replace("tun0", "DEV") + "tc filter add dev DEV parent 1: u32 match ip dsfield 0xb8 0xfc flowid 1:10\n"
    asked = link("50Mbps", "40ms", 2)
    table = queues(text)[""]
    made = production(candidates.given(table, asked)[1], asked)
    assert made is not None and not made.unsaid
    back = queues("\n".join(made.commands))[""]

    def bare(queue: dict[str, Any]) -> dict[str, Any]:
        """Without what a line says that is said by nothing: buckets as tc gives them, and ECN as the network has it."""
        rows = []
        for c in queue["classes"]:
            row = {k: v for k, v in c.items() if k not in ("burst", "cburst")}
            rows.append(row | {"queue": {k: v for k, v in c["queue"].items() if k != "ecn"}})
        return {**queue, "classes": rows}

    assert bare(back) == bare(table)
    named = {**table, "default": "rest", "classes": [{"name": "rest", "rate": "1Mbps"}, {"name": "v", "rate": "1Mbps"}]}
    named["classes"][1] |= {"dscp": ["EF", "AF41", "CS6"], "queue": "codel"}
    found = queues("\n".join(production(candidates.given(named, asked)[1], asked).commands))[""]
    assert [c.get("dscp") for c in found["classes"]] == [None, [34, 46, 48]] and found["default"] == "1:10"


def test_a_class_alone_has_what_the_simulator_gives_it() -> None:
    rng = Random(1)
    for _ in range(12):
        rates = [rng.choice([1, 2, 3, 4, 6, 8]) for _ in range(4)]
        top, inner, leaf = rates[:3]
        ceil, inner_ceil = max(leaf, rates[3]), max(inner, rng.choice([1, 4, 8]))
        lines = ["qdisc add dev tun0 root handle 1: htb default 10"]
        lines += [f"class add dev tun0 parent 1: classid 1:1 htb rate {top}mbit ceil 9mbit"]
        lines += [f"class add dev tun0 parent 1:1 classid 1:2 htb rate {inner}mbit ceil {inner_ceil}mbit"]
        lines += [f"class add dev tun0 parent 1:2 classid 1:10 htb rate {leaf}mbit ceil {ceil}mbit"]
        (side,) = read("".join(f"tc {line}\n" for line in lines)).data.sides
        classes = [
            {"name": "inner", "rate": f"{inner}Mbps", "ceil": f"{inner_ceil}Mbps"},
            {"name": "leaf", "parent": "inner", "rate": f"{leaf}Mbps", "ceil": f"{ceil}Mbps"},
        ]
        queue = {"kind": "htb", "rate": f"{top}Mbps", "default": "leaf", "classes": classes}
        link = {"from": "a", "to": "b", "rate": "100Mbps", "delay": "5ms", "queue": queue, "reverse_queue": "droptail"}
        flows = {"from": "a", "to": "b", "transport": "udp", "traffic": {"kind": "cbr", "rate": "20Mbps"}}
        result = tb.run({"duration": "6s", "warmup": "2s", "link": {"l": link}, "flows": {"f": flows}})
        assert 100e6 * result.links.to_list("utilisation")[0] == pytest.approx(side.rate_bps, abs=0.1e6), lines


LINES = list(product(("docsis", "vdsl", "adsl", "fibre", "unknown"), (False, True), (False, True)))


def setup(discipline: str, link: str, pppoe: bool, vlan: bool, **own: Any) -> Setup:
    wan = "pppoe-wan" if pppoe else "eth0"
    return Setup(discipline, 95e6, 19e6, framing(link, pppoe=pppoe, vlan=vlan), own, own, wan=wan, ifb=f"ifb4{wan}")


@pytest.mark.parametrize(("link", "pppoe", "vlan"), LINES)
def test_lines_for_a_router_are_read_back(link: str, pppoe: bool, vlan: bool) -> None:
    for discipline, own in (
        ("cake", {"rtt": "30ms", "isolation": "dual-src"}),
        ("fq-codel", {"target": "7ms", "interval": "120ms", "quantum": "300B", "ecn": True}),
        ("pie", {"reference": "20ms", "ecn": True}),
        ("droptail", {"buffer": "200 packets"}),
    ):
        asked = setup(discipline, link, pppoe, vlan, **own)
        found = queues("\n".join(lines(asked).commands))
        for way, rate in (("down", 95e6), ("up", 19e6)):
            queue = found[way]
            counted = asked.framing.simulated()
            if discipline == "cake":
                assert queue["rate"] == scenario_rate(rate) and {**queue, **own} == queue
                assert {k: queue.get(k, {"mpu": "0B", "framing": "plain"}.get(k)) for k in counted} == counted
                continue
            shaped = rate * asked.framing.rate_factor
            assert queue["rate"] == scenario_rate(int(shaped / 1e3 + 1e-9) * 1000)
            assert queue["burst"] == f"{burst_bytes(shaped, asked.framing)}B"
            # htb knows no ptm, so that its rate is the smaller one.
            cells = "plain" if counted["framing"] == "ptm" else counted["framing"]
            assert queue.get("overhead", "0B") == counted["overhead"] and queue.get("framing", "plain") == cells
            assert queue.get("mpu", "0B") == counted["mpu"]
            assert {**queue["queue"], **own} == queue["queue"]


@pytest.mark.parametrize(("link", "pppoe", "vlan"), LINES)
def test_a_block_for_openwrt_is_read_back(link: str, pppoe: bool, vlan: bool) -> None:
    for discipline, own in (("cake", {"isolation": "dual-src"}), ("fq-codel", {"target": "7ms", "interval": "120ms"})):
        asked = setup(discipline, link, pppoe, vlan, **own)
        block = sqm_of(asked)
        assert block is not None
        found = queues(block.block)
        for way, rate in (("down", 95e6), ("up", 19e6)):
            queue = found[way]
            shaped = rate if discipline == "cake" else rate * asked.framing.rate_factor
            assert queue["rate"] == scenario_rate(int(shaped / 1e3 + 1e-9) * 1000)
            inner = queue if discipline == "cake" else queue["queue"]
            assert {**inner, **own} == inner
            assert queue.get("overhead", "0B") == asked.framing.simulated()["overhead"]
