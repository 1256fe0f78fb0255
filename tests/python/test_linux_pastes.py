"""Lines and scripts of `tc` as people paste them: what they are in a scenario, beside what `tc` here sends."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import netlink
import pytest
from kernel_words import again, differences
from netlink import needs_strace

import tailback as tb
from tailback.linux.classful import REFUSED
from tailback.linux.shell import commands
from tailback.linux.statement import Statement, statement
from tailback.linux.tree import _standing
from tailback.linux.units import TcError
from tailback.readers import tc
from tailback.readers.given import Given
from tailback.readers.reading import ReadError
from tailback.scenario.read import load_scenario

PASTES = tomllib.loads(Path(__file__).parents[1].joinpath("reference/tc/pastes.toml").read_text())["paste"]
#: As many pastes as the whole has, and of these as many that are read; the others are refused in words.
MANY, READ = 60, 57


def rows(reading: Any) -> list[dict[str, Any]]:
    """What a reading says of each device, as the file has it."""
    found = []
    for side in reading.data.sides:
        row: dict[str, Any] = {"device": side.device, "way": side.way}
        row |= {"queue": side.queue} if side.queue else {}
        row |= {"impair": side.impair} if side.impair else {}
        found.append(row)
    return found


def test_there_are_enough_of_all_kinds() -> None:
    read = [p for p in PASTES if "queues" in p]
    assert len(PASTES) >= MANY and len(read) >= READ
    whole = " ".join(p["text"] for p in PASTES)
    kinds = "cake fq_codel codel pie fq_pie red sfq tbf htb prio netem stab ingress pfifo bfifo choke"
    assert all(f" {kind}" in whole for kind in kinds.split())


@pytest.mark.parametrize("paste", PASTES, ids=lambda p: p["about"])
def test_a_paste_is_what_it_sets_up(paste: dict[str, Any]) -> None:
    given = Given("paste", paste["text"].encode())
    assert tc.recognises(given)
    if "refused" in paste:
        with pytest.raises(ReadError) as e:
            tc.read(given)
        assert paste["refused"] in str(e.value) and "\n" not in str(e.value)
        return
    reading = tc.read(given)
    assert rows(reading) == paste["queues"]
    assert [f"{x.line} {x.what}" for x in reading.left] == paste.get("left", [])
    # What is left out has its line and its reason, and no address is repeated.
    assert all(x.line > 0 and x.why for x in reading.left)
    said = str(reading.as_dict())
    assert not any(address in said for address in ("192.0.2.44", "2001:db8", "OpenWrt"))
    for row in paste["queues"]:
        network = tb.dumbbell(flows=1, bottleneck="10Mbps", rtt="80ms", queue=row.get("queue", "droptail"))
        assert load_scenario(network.set(duration="1s")).json


def statements(text: str) -> list[Statement]:
    """The commands of a paste that set a qdisc or a class up."""
    found = []
    for command in commands(text).commands:
        one = statement(command.line, command.words) if command.words[0] == "tc" else None
        if (
            one is not None
            and one.object != "filter"
            and one.verb != "delete"
            and one.kind not in ("ingress", "clsact")
        ):
            found.append(_standing(one))
    return found


@needs_strace
def test_every_attribute_is_what_tc_sends() -> None:
    asked = [(paste["about"], one) for paste in PASTES for one in statements(paste["text"])]
    sent, said = netlink.requests([again(one) for _, one in asked])
    assert not said, said
    assert len(sent) == len(asked)
    wrong: dict[str, list[str]] = {}
    refused = set()
    for (about, one), request in zip(asked, sent, strict=True):
        assert (request.object, request.kind) == (one.object, one.kind)
        if one.kind in REFUSED:
            refused.add(about)
            continue
        if found := differences(one, request):
            wrong.setdefault(about, []).extend(found)
    assert not wrong, wrong
    assert len(PASTES) - len(refused) >= READ


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "tc qdisc add dev eth0 root cake bandwidth $RATE",
            "$RATE has no value in what was pasted; write RATE=... above it",
        ),
        ("tc qdisc add dev eth0 root tbf rate 1mbit latency 50ms", "burst is missing"),
        ("tc qdisc add dev eth0 root tbf rate 1mbit burst 10k", "limit or latency is missing"),
        ("tc qdisc add dev eth0 root handle 1: htb default 1", "htb without a class holds no rate"),
        ("tc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit", "no line sets up that root"),
        ("tc qdisc add dev eth0 root netem loss 300%", "give a percentage from 0 to 100"),
        ("tc qdisc add dev eth0 root netem dealy 30ms", "tc has no word 'dealy' here"),
        ("tc qdisc add dev eth0 root fq_codel limit ten", "limit ten: give a whole number"),
        ("tc qdisc add dev eth0 parent 1:zz fq_codel", "'1:zz' is no handle"),
        ("tc qdisc add dev eth0 root htb defualt 1", "tc has no word 'defualt' here; did you mean 'default'?"),
        ("tc qdisc add dev eth0 root cake bandwidth $(cat rate)", "it needs what another command prints"),
        ("tc qdisc del dev eth0 root", "no line sets a queue up"),
    ],
)
def test_what_cannot_be_read_gets_one_message(text: str, said: str) -> None:
    with pytest.raises(ReadError) as e:
        tc.read(Given("paste", text.encode()))
    assert said in str(e.value) and "\n" not in str(e.value)


def test_a_second_one_of_a_place_is_what_the_kernel_makes_of_it() -> None:
    def queue(text: str) -> tuple[dict[str, Any], list[str]]:
        reading = tc.read(Given("paste", text.encode()))
        return reading.data.sides[0].queue, [x.why for x in reading.left]

    add = "tc qdisc {} dev eth0 root {}"
    first, why = queue("\n".join([add.format("add", "fq_codel"), add.format("add", "sfq")]))
    assert first["kind"] == "fq-codel" and "refuses it; write replace" in why[0]
    assert queue("\n".join([add.format("add", "fq_codel"), add.format("replace", "sfq")]))[0]["kind"] == "sfq"
    gone = [add.format("add", "fq_codel"), "tc qdisc del dev eth0 root", add.format("add", "sfq")]
    assert queue("\n".join(gone))[0]["kind"] == "sfq"
    changed = [add.format("add", "fq_codel limit 100 target 3ms"), add.format("change", "fq_codel limit 200")]
    assert queue("\n".join(changed))[0] == {"kind": "fq-codel", "buffer": "200 packets", "target": "3ms"}
    either, why = queue(f"{add.format('add', 'cake bandwidth 1mbit')} || {add.format('add', 'fq_codel')}")
    assert either["kind"] == "cake" and why == ["it runs only if the command before it fails"]


def test_a_wrong_word_of_tc_is_no_reading() -> None:
    """The comparison with `tc` would see a reader that is wrong."""
    one = statement(1, ["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "100ms"])
    assert one is not None
    sent = netlink.Sent("qdisc", 0xFFFFFFFF, 0, "netem", bytes(24), b"")
    assert any("delay_s" in text for text in differences(one, sent))
    with pytest.raises(TcError):
        statement(1, ["tc", "qdisk", "add"])
