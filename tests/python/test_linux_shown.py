"""A tree as this kernel has it: what `tc -d -s` shows of it is read as the commands that set it up."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from traffic_control import needs_tc, shell

from tailback.readers.given import Given
from tailback.readers.recognise import read

#: Shapers and trees, of kinds that every kernel with `htb` has.
SCRIPTS = (
    """tc qdisc add dev WAN root handle 1: htb default 30 direct_qlen 77
    tc class add dev WAN parent 1: classid 1:1 htb rate 20mbit burst 15k cburst 15k overhead 22 linklayer atm mpu 53
    tc class add dev WAN parent 1:1 classid 1:10 htb rate 5mbit ceil 20mbit burst 15k cburst 3k prio 1 quantum 3000 \
        overhead 22 linklayer atm mpu 53
    tc class add dev WAN parent 1:1 classid 1:30 htb rate 1500kbit ceil 20mbit prio 3 quantum 1500 burst 1600 \
        cburst 1600 overhead 22 linklayer atm mpu 53
    tc qdisc add dev WAN parent 1:10 handle 10: pfifo limit 60
    tc qdisc add dev WAN parent 1:30 handle 30: tbf rate 1mbit burst 5k limit 9k peakrate 2mbit mtu 1600
    tc filter add dev WAN protocol ip parent 1: prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10
    tc filter add dev WAN protocol ipv6 parent 1: prio 2 u32 match ip6 priority 0x88 0xfc flowid 1:10""",
    """tc qdisc add dev WAN root handle 1: htb default 20
    tc class add dev WAN parent 1: classid 1:1 htb rate 9mbit burst 4000 cburst 4000
    tc class add dev WAN parent 1:1 classid 1:20 htb rate 2mbit ceil 9mbit burst 4000 cburst 4000 overhead 18
    tc qdisc add dev WAN parent 1:20 handle 20: bfifo limit 30000""",
    "tc qdisc add dev WAN root tbf rate 3mbit burst 60000 limit 90000 peakrate 5mbit mtu 1540 overhead 10",
    "tc qdisc add dev WAN root handle 1: stab overhead 30 mpu 64 linklayer ethernet pfifo limit 40",
)
SHOW = "tc {0} qdisc show dev WAN; tc {0} class show dev WAN; tc filter show dev WAN"
DEVICE = "ip tuntap add WAN mode tap && ip link set WAN up || exit 3\n"


def alike(a: Any, b: Any) -> bool:
    """Whether two queues are one, but for what an output has rounded: buckets are shown in ticks, a limit as a time."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    sizes = [re.fullmatch(r"(\d+)B", v) if isinstance(v, str) else None for v in (a, b)]
    if sizes[0] and sizes[1]:
        return float(sizes[0][1]) == pytest.approx(float(sizes[1][1]), rel=0.02)
    return bool(a == b)


def sides(text: str) -> tuple[list[Any], list[str]]:
    reading = read(Given("f", text.encode()))
    return [s.queue for s in reading.data.sides], sorted(x.what for x in reading.left)


@needs_tc
@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("options", ["-s", "-d -s"])
def test_what_the_kernel_shows_is_what_was_set_up(script: str, options: str) -> None:
    shown = shell(f"set -e\n{DEVICE}{script}\n{SHOW.format(options)}")
    assert shown.returncode == 0, shown.stderr
    told, left = sides(shown.stdout)
    asked, _ = sides(script)
    if options == "-s":
        # Without details neither a quantum nor the least of a packet is shown, and no table of sizes.
        asked, told = ([_without(q, ("quantum", "mpu")) for q in both] for both in (asked, told))
    assert alike(told, asked), (told, asked)
    assert not any("a filter" in x for x in left), left


def _without(value: Any, names: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        return {k: _without(v, names) for k, v in value.items() if k not in names}
    return [_without(v, names) for v in value] if isinstance(value, list) else value


def test_filters_of_an_output_are_no_counters() -> None:
    tree = """qdisc htb 1: dev wg0 root refcnt 2 r2q 10 default 0x20 direct_packets_stat 7 ver 3.17 direct_qlen 1000
class htb 1:1 root rate 20Mbit ceil 20Mbit linklayer ethernet burst 1600b/1 mpu 0b cburst 1600b/1 mpu 0b level 7
class htb 1:10 parent 1:1 prio 0 quantum 3000 rate 5Mbit ceil 20Mbit burst 1600b/1 mpu 0b cburst 1600b/1 mpu 0b level 0
class htb 1:20 parent 1:1 prio 0 quantum 3000 rate 5Mbit ceil 20Mbit burst 1600b/1 mpu 0b cburst 1600b/1 mpu 0b level 0
filter parent 1: protocol ip pref 1 u32 chain 0
filter parent 1: protocol ip pref 1 u32 chain 0 fh 800: ht divisor 1
filter parent 1: protocol ip pref 1 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 *flowid 1:10 not_in_hw
  match 00b80000/00fc0000 at 0
filter parent 1: protocol ip pref 2 u32 chain 0 fh 801::800 order 2048 key ht 801 bkt 0 *flowid 1:10 not_in_hw
  match 00880000/00fc0000 at 0
  match 00000016/0000ffff at 20
"""
    reading = read(Given("f", tree.encode()))
    (side,) = reading.data.sides
    assert [c.get("dscp") for c in side.queue["classes"]] == [[46], None]
    # A second condition is none of a code point alone.
    assert [x.line for x in reading.left] == [9]
    counters = {q.statement.handle: q.counters for q in reading.data.counters}
    assert counters == {"1:": {"direct_packets_stat": 7}}


def test_the_headers_of_a_bucket_are_those_of_its_own_class() -> None:
    head = "tc qdisc add dev eth0 root handle 1: htb default 20\n"
    head += "tc class add dev eth0 parent 1: classid 1:1 htb rate 9mbit"
    leaf = "tc class add dev eth0 parent 1:1 classid 1:20 htb rate 2mbit"

    def counted(top: str, own: str) -> tuple[Any, ...]:
        queue = sides(f"{head} {top}\n{leaf} {own}\n")[0][0]
        return queue["rate"], queue["overhead"], queue.get("framing")

    # The class that holds it counts: that at the top where it borrows all, itself below its ceiling.
    assert counted("overhead 22 linklayer atm", "ceil 9mbit") == ("9Mbps", "36B", "atm")
    assert counted("overhead 22 linklayer atm", "ceil 5mbit overhead 4") == ("5Mbps", "18B", None)
    assert counted("", "ceil 5mbit overhead 4") == ("5Mbps", "18B", None)


def test_words_of_a_tree_that_have_no_counterpart_are_named() -> None:
    tree = """tc qdisc add dev eth0 root handle 1: htb default 99 r2q 5
tc class add dev eth0 parent 1: classid 1:1 htb rate 9mbit overhead 22
tc class add dev eth0 parent 1:1 classid 1:10 htb rate 2mbit ceil 9mbit
tc class add dev eth0 parent 1:1 classid 1:20 htb rate 2mbit ceil 9mbit overhead 22
tc filter add dev eth0 parent 1: protocol ip u32 match ip dsfield 0xb8 0xfc flowid 1:10
"""
    reading = read(Given("f", tree.encode()))
    assert reading.data.sides[0].queue["r2q"] == 5 and "default" not in reading.data.sides[0].queue
    assert {"headers of class 1:10", "default 1:99"} == {x.what for x in reading.left}
    more = [{"class": "htb", "handle": "1:1", "root": True, "rate": 1125000, "ceil": 1125000, "burst": 1600}]
    more[0] |= {"cburst": 1600, "overhead": 22, "linklayer": "atm", "mpu": 53, "level": 7}
    qdisc = {"kind": "htb", "handle": "1:", "dev": "eth0", "root": True, "options": {"default": "0x1", "ver": "3.17"}}
    (side,) = read(Given("f", json.dumps([qdisc, *more]).encode())).data.sides
    assert (side.queue["overhead"], side.queue["mpu"], side.queue["framing"]) == ("36B", "53B", "atm")
