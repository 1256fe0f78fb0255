"""`netem`: what `tc` takes and refuses, and what it shows, as the impairment of that name."""

from __future__ import annotations

import json
from typing import Any

import netlink
import pytest
from kernel_words import differences
from netlink import needs_strace

from tailback.linux.netem import as_command, parse
from tailback.linux.statement import statement
from tailback.linux.units import TcError
from tailback.readers.given import Given
from tailback.readers.reading import ReadError
from tailback.readers.recognise import read

#: Lines as people write them: beginnings of words, words in any order, percentages without the sign.
TAKEN = (
    "delay 10ms 1ms dist normal", "del 10ms", "lat 10ms", "lo 1%", "dr 1%", "dup 1%", "delay 5ms reord 3%", "lim 2k",
    "re 5% del 1ms", "c 1%", "d 3", "delay 10ms 20ms 30% distribution paretonormal", "loss 0.5", "loss 10% 25",
    "loss random 1% 25%", "loss state 1% 2%", "loss state 1% 2% 3% 4% 5%", "loss gemodel 1%", "loss gemodel 1% 10% 70%",
    "loss 1% ecn", "rate 1mbit", "rate 1mbit 20 48 5", "delay 1ms slot 1ms 2ms packets 5 loss 1%",
    "slot distribution pareto 800us 300us loss 2%", "loss 1% delay 5ms gap 3 reorder 50% 10%", "corrupt 1% 3%",
)  # fmt: skip
#: What `tc` refuses, and what we say.
REFUSED = {
    "gap 5 delay 5ms": "gap without reorder",
    "reorder 5%": "reorder without a delay",
    "delay 1ms distribution normal": "distribution without a jitter",
    "ecn": "ecn without a loss",
    "loss 150%": "give a percentage",
    "limit 1000p": "is no size of tc",
    "r 1mbit": "give a percentage",
    "foo 1": "tc has no word 'foo' here",
}


def one(words: str) -> Any:
    made = statement(1, ["tc", "qdisc", "replace", "dev", "lo", "root", "netem", *words.split()])
    assert made is not None
    return made


@needs_strace
def test_what_tc_takes_is_read_as_it_sends_it() -> None:
    sent, said = netlink.requests([f"qdisc replace dev lo root netem {words}" for words in TAKEN])
    assert not said and len(sent) == len(TAKEN), said
    wrong = {words: found for words, s in zip(TAKEN, sent, strict=True) if (found := differences(one(words), s))}
    assert not wrong, wrong


@needs_strace
def test_what_tc_refuses_is_refused_in_words() -> None:
    for words, why in REFUSED.items():
        sent, said = netlink.requests([f"qdisc replace dev lo root netem {words}"])
        assert said and not sent, words
        with pytest.raises(TcError) as e:
            parse(words.split())
        assert why in str(e.value), words


def impairments(text: str) -> tuple[list[dict[str, Any]], list[str], list[str]]:
    reading = read(Given("paste", text.encode()))
    said = [f"{u.what}: {u.value}" for u in reading.understood]
    return reading.data.sides[0].impair, [x.what for x in reading.left], said


def test_an_output_names_its_values() -> None:
    """`print_opt` of iproute2's q_netem.c has a name before each number of these words; a command has none."""
    text = (
        "qdisc netem 8001: dev wg0 root refcnt 2 limit 1000 delay 100ms  10ms 25% loss gemodel p 1% r 10% 1-h 70% "
        "1-k 0.1% duplicate 1% reorder 25% 50% rate 1Mbit cellsize 48 celloverhead 5 slot 1ms 2ms gap 5"
    )
    made = {
        "kind": "netem", "limit": 1000, "delay": "100ms", "jitter": "10ms", "loss_gemodel": [0.01, 0.1, 0.7, 0.001],
        "duplicate": 0.01, "reorder": 0.25, "delay_correlation": 0.25, "reorder_correlation": 0.5, "gap": 5,
        "rate": "1Mbps", "cell_size": "48B", "cell_overhead": "5B",
    }  # fmt: skip
    found, left, said = impairments(text)
    assert found == [made] and left == ["slot"]
    # The table of a distribution is not shown.
    assert "distribution of netem: assumed uniform: tc does not show it" in said
    options = {
        "limit": 1000, "delay": {"delay": 0.1, "jitter": 0.01, "correlation": 0.25},
        "loss-gemodel": {"p": 0.01, "r": 0.1, "1-h": 0.7, "1-k": 0.001},
        "duplicate": {"duplicate": 0.01, "correlation": 0}, "reorder": {"reorder": 0.25, "correlation": 0.5},
        "rate": {"rate": 125000, "packetoverhead": 0, "cellsize": 48, "celloverhead": 5},
        "slot": {"min-delay": 0.001, "max-delay": 0.002}, "gap": 5,
    }  # fmt: skip
    document = [{"kind": "netem", "handle": "8001:", "dev": "wg0", "root": True, "options": options}]
    assert impairments(json.dumps(document))[:2] == ([made], ["slot"])


def test_states_are_in_the_order_of_a_command() -> None:
    words = ["loss", "state", "p13", "1%", "p31", "2%", "p32", "3%", "p23", "4%", "p14", "5%", "ecn"]
    assert as_command(words) == ["loss", "state", "1%", "2%", "3%", "4%", "5%", "ecn"]
    states = {"p13": 0.01, "p31": 0.02, "p32": 0.03, "p14": 0.05, "p23": 0.04}
    row = {"kind": "netem", "handle": "1:", "dev": "wg0", "root": True, "options": {"limit": 9, "loss-state": states}}
    assert impairments(json.dumps([row]))[0] == [
        {"kind": "netem", "limit": 9, "loss_state": [0.01, 0.02, 0.03, 0.04, 0.05]}
    ]


def test_a_wrong_share_is_a_message() -> None:
    with pytest.raises(ReadError, match="give a percentage"):
        read(Given("paste", b"tc qdisc add dev eth0 root netem loss 300%"))
