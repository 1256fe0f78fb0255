"""Settings as words of `tc` and back, and what this machine's `tc` makes of the words, attribute by attribute."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kernel_words import NUMBERS, ROUND_TRIPS_US, number
from kernel_words import value as _value
from netlink import attributes, needs_strace, numbered, options

from tailback.linux import TcError, law, read, write
from tailback.linux.forms import Form, TcWord, form, form_of_class, forms, nearest
from tailback.linux.law import Path

PATH = Path(20e6, 1500, 0.03)
FORMS = {f.discipline: f for f in forms()}
#: Choices of one word are one value.
_SAME = {"destination": "source"}

_PACKETS = st.integers(2, 60_000).map("{} packets".format)
_BYTES = st.integers(1, 2_000_000).map("{}B".format)
_TIMES = st.integers(1, 10_000_000).map(lambda us: law.seconds(us * 1e-6))
_OF: Mapping[str, st.SearchStrategy[Any]] = {
    "packets": _PACKETS,
    "size": st.one_of(_PACKETS, _BYTES),
    "bytes": _BYTES,
    "bytes-of-packets": _PACKETS,
    "time": _TIMES,
    "seconds": st.integers(1, 10_000).map("{}s".format),
    "rate": st.integers(10_000, 10**10).map("{}bps".format),
    "whole": st.integers(1, 60_000),
    "times": st.integers(1, 32).map(lambda n: n / 16),
    "power-of-two": st.integers(1, 15).map(lambda n: 2**n),
    # tc cannot make a slope of a smaller probability.
    "number": st.integers(10, 999).map(lambda n: n / 1000),
    "percent": st.integers(0, 100).map(lambda n: n / 100),
}


def drawn(option: TcWord, draw: Any) -> dict[str, Any]:
    """A value that the word can say, for each parameter it says."""
    if option.value == "flag":
        return {option.parameter: draw(st.booleans())}
    if option.value == "choice":
        value = draw(st.sampled_from([value for value, word in option.words]))
        return {option.parameter: _SAME.get(value, value)}
    strategy = st.integers(0, option.most).map("{}B".format) if option.most == 256 else _OF[option.value]
    value = draw(strategy)
    return dict.fromkeys((option.parameter, *option.also), value)


@st.composite
def cases(draw: Any, there: Form) -> dict[str, Any]:
    """Some of the parameters that `tc` has words for."""
    made: dict[str, Any] = {}
    words: set[str] = set()
    for option in there.options:
        skip = not option.parameter or option.value in ("burst", "round-trip") or (option.word or "-") in words
        words.add(option.word)
        if not skip and (option.unsaid == "needed" or draw(st.booleans())):
            made |= drawn(option, draw)
    if "min_threshold" in made:
        low = draw(st.integers(2, 5000))
        made["buffer"] = f"{draw(st.integers(3 * low, 100_000))} packets"
        made |= {"min_threshold": f"{low} packets", "max_threshold": f"{3 * low} packets", "mean_packet": "1500B"}
        made["weight"] = 2.0 ** -law.burst(low, 2.0 ** -draw(st.integers(1, 20)))[1]
    return made


@pytest.mark.parametrize("discipline", [name for name, f in FORMS.items() if not f.shapes or not f.always])
def test_a_line_says_its_settings(discipline: str) -> None:
    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(cases(FORMS[discipline]))
    def check(drawn: dict[str, Any]) -> None:
        written = write(FORMS[discipline], drawn, PATH, ecn=drawn.get("ecn", False))
        assert not set(written.unsaid) & set(drawn), written
        name, back = read(f"tc qdisc replace dev eth0 root {written.text}")
        assert name == discipline
        for parameter, value in drawn.items():
            if parameter == "mark_above_max" and not drawn.get("ecn", False):
                continue
            expected = pytest.approx(value) if isinstance(value, float) else _value(value)
            assert _value(back[parameter]) == expected, (parameter, written.text, back)
        # What is read makes the same line.
        assert write(FORMS[discipline], back, PATH, ecn=False).text == written.text

    check()


def test_a_default_of_linux_is_said_where_it_is_not_the_simulators() -> None:
    sfq = FORMS["sfq"]
    assert write(sfq, {}).text == "sfq limit 40 divisor 16" and write(sfq, {}, as_linux=True).text == "sfq"
    assert read("sfq") == ("sfq", {"buffer": "127 packets", "buckets": 1024})
    assert write(FORMS["fq-codel"], {}).text == "fq_codel" and read("fq_codel") == ("fq-codel", {})
    # RED drops above its upper threshold with ECN too; Linux marks unless it is told.
    assert "harddrop" in write(FORMS["red"], {}, PATH, ecn=True).words
    assert "harddrop" not in write(FORMS["red"], {"mark_above_max": True}, PATH, ecn=True).words


def test_what_has_no_word_is_a_remark() -> None:
    for name, asked, said in (
        ("fq-codel", {"hash_key": "source"}, "tc cannot say hash_key = source."),
        ("fq-codel", {"buffer": "64KB"}, "it counts packets"),
        ("sfq", {"buckets": 100}, "tc cannot say buckets = 100 (a power of two)"),
        ("pie", {"alpha": 0.13}, "tc cannot say alpha = 0.13 (1/16)"),
        ("cake", {"target": "10ms"}, "tc cannot say target = 10ms (Linux's cake takes target and interval from rtt)"),
        ("cake", {"rtt": "30ms", "target": "10ms"}, "tc cannot say target = 10ms (rtt says another parameter)"),
        ("cake", {"ecn": False}, "it has no option that switches this off"),
        ("red", {"gentle": True}, "Linux drops all above `max`"),
        ("red", {"weight": 0.002}, "Linux's weight is a power of two, which follows from burst: 0.001953, not 0.002"),
        ("droptail", {"buffer": "0.5 bdp"}, "tc cannot say buffer = 0.5 bdp (a number of packets or bytes)"),
        ("codel", {"buffer": "0.5 bdp"}, "tc cannot say buffer = 0.5 bdp (a number of packets or bytes)"),
        ("codel", {"buffer": ["no", "size"]}, "tc cannot say buffer"),
    ):
        written = write(FORMS[name], asked, PATH)
        assert any(said in remark for remark in written.remarks), written
    # Of two parameters with one word the one that is given is said.
    assert "memlimit 1518000" in write(FORMS["fq-cobalt"], {"buffer": "1518000B"}, PATH).text
    assert "Linux drops all above" not in " ".join(write(FORMS["red"], {"gentle": False}, PATH).remarks)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "tc qdisc replace dev eth0 root fq_codel limt 100",
            "fq_codel: tc's 'limt' has no counterpart here; did you mean",
        ),
        ("fq_codel limit", "fq_codel: limit has no value"),
        ("fq_codel limit ten", "fq_codel: limit ten: give a whole number"),
        ("fq_codel target 5xs", "'5xs' is no time of tc; write one such as 5ms"),
        ("fq_kodel limit 10", "did you mean 'fq_codel'?"),
        ("cake bandwidth 10 mbit", "tc's 'mbit' has no counterpart"),
        ("tc qdisc del dev eth0 root", "'del' sets nothing up; write add, replace or change"),
        ("tc qdisc add dev", "dev has no value"),
        ("tc qdisc add dev eth0 root", "names no discipline"),
        ("red limit 100000 min 7500 max 22500 burst 20", "red: avpkt is missing; tc asks for it"),
        ("red limit 100000 avpkt 1500 min 30000 max 90000 burst 2", "burst 2 is less than min is in packets"),
        ("sfq perturb soon", "perturb soon: give a whole number"),
    ],
)
def test_a_line_that_is_none_gets_one_sentence(line: str, said: str) -> None:
    with pytest.raises(TcError) as e:
        read(line)
    assert said in str(e.value) and "\n" not in str(e.value)


def test_a_whole_line_is_read_wherever_it_stands() -> None:
    same = ("fq-codel", {"buffer": "1000 packets", "quantum": "300B", "ecn": False})
    for before in ("", "tc qdisc replace dev eth0 root ", "tc qdisc add dev WAN parent 1:1 handle 10: "):
        assert read(f"{before}fq_codel limit 1000 quantum 300 noecn") == same
    name, cake = read(
        "tc qdisc change dev eth0 root cake bandwidth 19mbit nat dual-srchost diffserv4 docsis ether-vlan"
    )
    assert name == "cake" and (cake["overhead"], cake["mpu"], cake["framing"]) == ("22B", "64B", "plain")
    assert (cake["isolation"], cake["translated"], cake["tins"]) == ("dual-src", "neither", "diffserv4")
    # A kilobyte of tc has 1024 bytes, and a megabyte a second is no megabit.
    assert read("fq_codel memory_limit 32mb")[1]["memory"] == "33554432B"
    assert read("cake bandwidth 1mbps")[1]["rate"] == "8Mbps"
    assert read("cake satellite")[1] == {"profile": "satellite"}
    assert read("red limit 60000 avpkt 1000 adaptive")[0] == "ared" and read("red limit 60000 avpkt 1000")[0] == "red"
    # By tc's own rule: a quarter of the limit, a third of that, 2 min + max in five thirds of it.
    assert read("red limit 60000 avpkt 1000")[1]["max_threshold"] == "15 packets"


def test_a_class_of_ones_own_has_the_line_that_it_declares() -> None:
    class Mine:
        limit, marks = "200 packets", True
        linux = {
            "kind": "mine",
            "options": [
                {"parameter": "limit", "word": "limit", "value": "packets"},
                {"parameter": "marks", "value": "flag", "words": [["true", "ecn"], ["false", "noecn"]]},
            ],
            "differs": "The kernel's is faster.",
        }

    there = form_of_class(Mine, "Mine")
    assert there is not None
    written = write(there, {})
    assert written.text == "mine limit 200 ecn" and written.remarks == ("The kernel's is faster.",)
    assert form_of_class(int, "int") is None
    for declared, said in (
        ({"kid": "mine"}, "has no 'kid'; it has kind"),
        ({}, "has no kind"),
        ("pfifo", "is a str; give a dict"),
        ({"kind": "mine", "options": [{"value": "length", "word": "limit"}]}, "there is no value 'length'; there are"),
    ):
        wrong = type("Wrong", (), {"linux": declared})
        with pytest.raises(TcError, match=said):
            there = form_of_class(wrong, "Wrong")
            assert there is not None
            write(there, {"limit": 1})


def test_the_nearest_that_linux_has_is_there() -> None:
    from tailback.linux.forms import models

    for name in models():
        assert form(name) is not None or form(nearest(name)) is not None, name
    for name, near in {
        "qsdrr": "sfq",
        "rem": "pie",
        "sred": "ared",
        "random-drop": "front-drop",
        "other": "fq-codel",
    }.items():
        assert nearest(name) == near


# What tc sends

#: A limit is a number of 32 bits.
_U32 = "=I"


def sent_at_once(discipline: str, many: int = 40) -> list[tuple[dict[str, Any], bytes, str]]:
    """Drawn settings, and what `tc` sends for their lines, all in one process."""
    collected: list[dict[str, Any]] = []

    @settings(max_examples=many, deadline=None, database=None, derandomize=True)
    @given(cases(FORMS[discipline]))
    def collect(made: dict[str, Any]) -> None:
        collected.append(made)

    collect()
    lines = [write(FORMS[discipline], made, PATH, ecn=made.get("ecn", False)).text for made in collected]
    return list(zip(collected, options(lines), lines, strict=True))


@needs_strace
@pytest.mark.parametrize("discipline", NUMBERS)
def test_tc_sends_what_was_said(discipline: str) -> None:
    numbers = NUMBERS[discipline]
    known = {option.parameter: option for option in FORMS[discipline].options if option.parameter in numbers}
    for made, raw, line in sent_at_once(discipline):
        sent = attributes(raw)
        for parameter, value in made.items():
            if parameter not in numbers:
                assert parameter == "profile" or parameter == "buffer", parameter
                continue
            expected = number(known[parameter], value)
            attribute = sent.get(numbers[parameter])
            # What is the default of tc is not sent.
            told = 0 if attribute is None else int.from_bytes(attribute, "little", signed=parameter == "overhead")
            assert told == pytest.approx(expected, abs=0.51), (parameter, value, line)


@needs_strace
@pytest.mark.parametrize("discipline", ["red", "ared", "choke"])
def test_tc_makes_the_weight_that_is_simulated(discipline: str) -> None:
    """`struct tc_red_qopt`: limit, thresholds, the exponents of weight, slope and idle time, flags."""
    for made, raw, line in sent_at_once(discipline, 60):
        sent = attributes(raw)
        limit, low, high, weight, _, _, flags = struct.unpack_from("=IIIBBBB", sent[1])
        packet = 1 if discipline == "choke" else 1500
        for told, parameter in ((limit, "buffer"), (low, "min_threshold"), (high, "max_threshold")):
            assert told == packet * int(made[parameter].split()[0]), (parameter, line)
        assert 2.0**-weight == made["weight"], line
        if discipline != "choke":
            flags = struct.unpack("=II", sent[4])[0]
        assert bool(flags & 1) == made.get("ecn", False), line
        if discipline != "choke":
            hard = made.get("ecn", False) and not made.get("mark_above_max", False)
            assert (bool(flags & 2), bool(flags & 4)) == (hard, discipline == "ared"), line


@needs_strace
def test_tc_sends_the_limit_of_a_fifo_and_the_buckets_of_sfq() -> None:
    for name in ("droptail", "front-drop"):
        for made, sent, line in sent_at_once(name, 20):
            given = made.get("buffer")
            told = None if given is None else int(given.split()[0].removesuffix("B"))
            assert sent == (b"" if told is None else struct.pack(_U32, told)), line
    for made, sent, line in sent_at_once("sfq", 30):
        _, perturb, limit, divisor = struct.unpack_from("=IiII", sent)
        assert perturb == int(made.get("perturb", "0s").removesuffix("s")), line
        assert limit == int(made.get("buffer", "40 packets").split()[0]), line
        assert divisor == made.get("buckets", 16), line


def option_of(discipline: str, parameter: str) -> TcWord:
    return next(o for o in FORMS[discipline].options if o.parameter == parameter)


@needs_strace
def test_the_words_of_a_line_for_cake_are_their_numbers() -> None:
    words = [preset["word"] for preset in FORMS["cake"].presets]
    words += ["docsis ether-vlan", "ethernet ether-vlan", *dict(option_of("cake", "profile").words)]
    for word, sent in zip(words, numbered([f"cake {word}" for word in words]), strict=True):
        back = read(f"cake {word}")[1]
        for parameter, at in (("overhead", 6), ("mpu", 14), ("framing", 4)):
            if parameter in back:
                option = option_of("cake", parameter)
                assert int.from_bytes(sent.get(at, b"\0"), "little", signed=True) == number(option, back[parameter]), (
                    word
                )
        if word in ROUND_TRIPS_US:
            assert int.from_bytes(sent[7], "little") == ROUND_TRIPS_US[word], word


def test_every_word_says_a_parameter_that_there_is() -> None:
    for name, there in FORMS.items():
        # The forms within `cake` share their words.
        if there.shapes and there.always:
            continue
        named = [p for o in there.options for p in (o.parameter, *o.also, o.only_with) if p]
        named += [b["parameter"] for b in there.built_in] + [p for preset in there.presets for p, _ in preset["values"]]
        assert set(named) <= set(there.defaults), (name, set(named) - set(there.defaults))
