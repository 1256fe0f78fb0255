"""Lines for a home line: every one is read by `tc`, those that this kernel has are installed and read back, and what
OpenWrt's SQM is told comes to the same."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kernel_words import NUMBERS
from netlink import needs_strace, numbered
from traffic_control import ALL_KINDS, DEVICES, LACKS_MODULE, TAKEN, needs_tc, said_of, shell
from uci import UciError, read_sqm

from tailback.apps.ask.given import LinkError
from tailback.apps.ask.home import candidates
from tailback.apps.ask.home.line import HomeLine, Share, question
from tailback.linux import TcError
from tailback.linux.forms import forms
from tailback.linux.framing import LINKS, Framing, FramingError, framing
from tailback.linux.openwrt import next_best, sqm
from tailback.linux.shaper import Setup, acks_share, lines, without_cake

FRAMINGS = [framing(x, pppoe=p, vlan=v) for x, p, v in itertools.product(LINKS, (False, True), (False, True))]
BELOW_HTB = [form.discipline for form in forms() if not form.shapes]
DISCIPLINES = [form.discipline for form in forms()]
#: Down and up, Mbit/s: slow, usual, asymmetrical, fast.
RATES = [(1.0, 0.3), (95.0, 19.0), (240.0, 6.0), (940.0, 940.0)]
LINE = question("95Mbps", "19Mbps", "30ms", ecn=True, share="100%")


def line(link: Framing = FRAMINGS[0], **other: Any) -> HomeLine:
    return replace(LINE, framing=link, share=Share(1.0, 1.0), **other)


def setup(discipline: str = "cake", link: Framing = FRAMINGS[0], given: Mapping[str, Any] = {}, **other: Any) -> Setup:
    """What `tailback compare` prints the lines of."""
    asked = line(link, **other)
    made = candidates.setup(candidates.candidate({"kind": discipline, **given}, asked), asked)
    assert made is not None
    return made


def distrusting(one: Setup) -> Setup:
    """The provider's code points mean nothing."""
    return replace(one, down={**one.down, "tins": "besteffort", "wash": True})


#: Parameters that leave nothing to the defaults.
OWN: Mapping[str, Mapping[str, Any]] = {
    "cake": {"isolation": "flows", "tins": "diffserv3", "ack_filter": "aggressive"},
    "fq-codel": {"buffer": "100 packets", "queues": 64},
    "droptail": {"buffer": "64KB"},
}


def setups() -> Iterator[Setup]:
    """Each line, discipline, rate and choice."""
    for discipline, link, (down, up), ecn in itertools.product(DISCIPLINES, FRAMINGS, RATES, (False, True)):
        rates = {"down_bps": down * 1e6, "up_bps": up * 1e6, "ecn": ecn}
        yield setup(discipline, link, **rates)
        yield setup(discipline, link, OWN.get(discipline, {}), rtt_s=0.004, **rates)
        far = setup(discipline, link, rtt_s=0.6, **rates)
        yield distrusting(far) if discipline == "cake" else far


# What a packet takes


def test_every_line_takes_what_its_source_says() -> None:
    """Bytes on the line for a packet of 1500 B and for an acknowledgement of 52 B, counted by hand."""
    sizes = {
        ("docsis", False, False): (1518, 70),
        ("vdsl", False, False): (1500 + 22 + 24, 74 + 2),
        ("vdsl", True, True): (1500 + 34 + 24, 86 + 2),
        # 1532 B are 31.9 cells, 84 B are 1.75.
        ("adsl", False, False): (32 * 53, 2 * 53),
        ("adsl", True, False): (33 * 53, 2 * 53),
        ("fibre", False, False): (1538, 90),
        ("ethernet", True, False): (1546, 98),
        # 1548 B are 32.25 cells, 100 B are 2.08: PPPoE and VLAN are in them.
        ("unknown", True, True): (33 * 53, 3 * 53),
    }
    for (link, pppoe, vlan), expected in sizes.items():
        row = framing(link, pppoe=pppoe, vlan=vlan)
        assert (row.on_wire(1500), row.on_wire(52)) == expected, row
    assert framing("docsis").on_wire(40) == 64 and framing("ethernet").on_wire(28) == 84
    assert framing("docsis").share_of_ip(1500) == pytest.approx(1500 / 1518)
    # What is lost where more is counted than the line takes.
    assert framing("unknown").share_of_ip() / framing("ethernet").share_of_ip() == pytest.approx(1538 / 1749)


def test_an_unknown_line_is_refused() -> None:
    with pytest.raises(FramingError, match="did you mean 'docsis'"):
        framing("docsi")
    with pytest.raises(FramingError, match="lines are docsis, vdsl"):
        framing("wet string")
    with pytest.raises(TcError, match="wan = eth0; rm"):
        replace(setup(), wan="eth0; rm")


#: Options of `cake` that a line for a home has, by name.
CAKE = {name: NUMBERS["cake"][name] for name in NUMBERS["cake"] if name != "memory"}


def cake(words: list[str]) -> list[dict[str, int]]:
    """What the kernel is told by each of these words behind `cake`."""
    sent = numbered([f"cake {w}" for w in words])
    return [{k: int.from_bytes(s[n], "little", signed=True) for k, n in CAKE.items() if n in s} for s in sent]


@needs_strace
def test_the_words_for_cake_are_the_numbers() -> None:
    """As `tc` sends them: a word that sets a number overwrites what stands before it, and a VLAN adds."""
    told = cake([f.cake for f in FRAMINGS])
    cells = {"plain": 0, "atm": 1, "ptm": 2}
    for link, sent in zip(FRAMINGS, told, strict=True):
        found = (sent["overhead"], sent.get("mpu", 0), sent.get("framing", 0))
        assert found == (link.overhead, link.mpu, cells[link.cells]), link
    order = cake(["ether-vlan overhead 46", "overhead 46 ether-vlan", "docsis ether-vlan"])
    assert [sent["overhead"] for sent in order] == [46, 50, 22]


# Every line


def _lines_of_tc(made: list[Setup]) -> dict[str, list[str]]:
    """Unique lines, in the order in which they can follow one another on one device."""
    found: dict[str, dict[str, None]] = {"cake": {}, "root": {}, "class": {}, "leaf": {}}
    for command in (command for one in made for command in lines(one).commands):
        if command.startswith("tc class"):
            found["class"][command] = None
        elif command.startswith("tc qdisc replace"):
            kind = "cake" if " cake " in command else "root" if " root " in command else "leaf"
            found[kind][command] = None
    return {kind: list(those) for kind, those in found.items()}


def wrong(said: dict[str, str]) -> dict[str, str]:
    """Lines that `tc` could not read. A line that the kernel refuses has to have a word behind its kind: without one
    nothing of it was read."""
    found = {}
    for line, words in said.items():
        kind, *options = re.split(r" (?:root|parent 1:1) ", line)[-1].split()
        # The production line of `sfq` has no word.
        if words == TAKEN or (words == LACKS_MODULE and (options or kind == "sfq")):
            continue
        # iproute2 has it since 6.17, and says that it does not know the kind.
        if kind == "dualpi2" and words.startswith('Unknown qdisc "dualpi2", hence option'):
            continue
        found[line] = words
    return found


@needs_tc
def test_tc_reads_every_line(tmp_path: Path) -> None:
    made = list(setups())
    unique = _lines_of_tc(made)
    assert len(unique["cake"]) > 1000 and len(unique["class"]) > 100 and len(unique["leaf"]) > 100, unique
    assert wrong(said_of(unique["cake"], tmp_path)) == {}
    # A class stands on a root, and a leaf on a class.
    htb = [*unique["root"], *unique["class"], *unique["leaf"]]
    said = said_of(htb, tmp_path)
    assert wrong(said) == {}
    taken = {line for line, words in said.items() if words == TAKEN}
    assert taken >= {*unique["root"], *unique["class"]}
    assert any(" pfifo" in line for line in taken)


@needs_tc
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("tc qdisc replace dev WAN root cake bandwith 19000kbit nat docsis", 'What is "bandwith"?'),
        ("tc qdisc replace dev WAN root fq_codel ack-filter", 'What is "ack-filter"?'),
        ("tc qdisc replace dev WAN root cake bandwidth 19000kbitt docsis", 'Illegal "bandwidth"'),
        ("tc class replace dev WAN parent 1: classid 1:1 htb rate 19Mbit overhead docsis", 'Illegal "overhead"'),
    ],
)
def test_a_broken_line_fails_the_same_check(line: str, said: str, tmp_path: Path) -> None:
    assert wrong(said_of([line], tmp_path)) == {line: said}


def test_a_refused_line_without_options_proves_nothing() -> None:
    assert wrong({"tc qdisc replace dev WAN root cake": LACKS_MODULE})
    assert not wrong(
        {"tc qdisc replace dev WAN root cake docsis": LACKS_MODULE, "tc qdisc add dev WAN root pfifo": TAKEN}
    )


def test_production_lines_have_no_limits() -> None:
    """Except those of RED, which has to be told one."""
    for one in setups():
        if "buffer" in one.up:
            continue
        for command in lines(one).commands:
            assert not re.search(r"\b(limit|memlimit|memory_limit)\b", command), command


# What this kernel has, installed

#: Everything that there is on the devices.
STATE = "ip -o link show | sed 's/ state .*//'; tc qdisc show; tc filter show dev WAN parent ffff: 2> /dev/null; true\n"


@needs_tc
@pytest.mark.parametrize("link", FRAMINGS, ids=lambda f: f"{f.link}{'-pppoe' * f.pppoe}{'-vlan' * f.vlan}")
def test_the_kernel_has_what_was_asked_for(link: Framing) -> None:
    """htb, IFB, ingress, u32 and mirred are read back; the lines to undo leave the device as it was."""
    made = lines(setup("droptail", link, {"buffer": "77 packets"}, down_bps=94.5e6, up_bps=1.9e6))
    show = (
        "for d in WAN ifb4wan; do tc -d class show dev $d; tc qdisc show dev $d; done; tc filter show dev WAN ingress\n"
    )
    script = [DEVICES, STATE, "echo ====\n", "set -e\n", *(f"{c}\n" for c in made.commands), "set +e\n", show]
    script += ["echo ====\n", "set -e\n", *(f"{line.text}\n" for line in made.undo), "set +e\n", STATE]
    done = shell("".join(script))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    before, installed, after = done.stdout.split("====\n")
    assert before == after and "WAN" in before
    classes = re.findall(r"^class htb 1:1 .*$", installed, re.MULTILINE)
    assert len(classes) == 2
    for read, rate_bps in zip(classes, (1.9e6, 94.5e6), strict=True):
        found = dict(re.findall(r"\b(rate|ceil|overhead|linklayer|mpu|quantum) (\S+)", read))
        expected = rate_bps * (64 / 65 if link.cells == "ptm" else 1)
        for name in ("rate", "ceil"):
            assert _bits(found[name]) == pytest.approx(expected, abs=1000), read
        assert int(found["overhead"]) == link.overhead - (0 if link.pppoe else 14), read
        assert int(found.get("mpu", "0b").rstrip("b")) == link.mpu
        assert found["linklayer"] == ("atm" if link.cells == "atm" else "ethernet")
        burst = re.search(r" burst (\d+)b", read)
        assert burst and int(burst[1]) == pytest.approx(max(expected / 8000, 1514 + link.device_overhead), rel=0.02)
    assert installed.count("qdisc pfifo") == 2 and installed.count("limit 77p") == 2
    assert "qdisc ingress ffff:" in installed and "Redirect to device ifb4wan" in installed
    assert "match 00000000/00000000 at 0" in installed


def _bits(text: str) -> float:
    found = re.fullmatch(r"([0-9.]+)(G|M|K)?bit", text, re.IGNORECASE)
    assert found, text
    return float(found[1]) * {"g": 1e9, "m": 1e6, "k": 1e3, "": 1.0}[(found[2] or "").lower()]


# What a kernel with all modules has, installed: the job `home lines` of .github/workflows/ci.yml asks for all of it

#: What Ubuntu 24.04 lacks.
NOT_IN_UBUNTU = {"dualpi2"}


def read_back(line: str, shown: str) -> str:
    """What `tc qdisc show` does not say as the line asked for it; nothing where all is there."""
    words = re.split(r" (?:root|parent 1:1) ", line)[-1].split()
    there = shown.split()
    if there[1] != words[0]:
        return f"kind {there[1]}"
    pairs = itertools.zip_longest(words[1:], words[2:], fillvalue="")
    return ", ".join(_told(word, value) for word, value in pairs if not _is_shown(word, value, there))


_TIMES, _NUMBERS = {"target", "interval", "rtt"}, {"quantum", "limit", "perturb"}
_FLAGS = {"ecn": "noecn", "nat": "nonat", "wash": "nowash", "ack-filter": "no-ack-filter"}
_SHOWN = {"besteffort", "diffserv3", "diffserv4", "flows", "flowblind", "dual-srchost", "dual-dsthost", "ingress"}


def _told(word: str, value: str) -> str:
    return f"{word} {value}" if word in {*_TIMES, *_NUMBERS, "bandwidth"} else word


def _is_shown(word: str, value: str, there: list[str]) -> bool:
    if word in _TIMES:
        # PIE keeps its times in ticks of the kernel, and `tc` shows few digits.
        return abs(_seconds(_after(there, word)) - _seconds(value)) <= max(0.05 * _seconds(value), 0.004)
    if word in _NUMBERS:
        return _after(there, word).rstrip("pbsec") == value
    if word == "bandwidth" and there[1] == "cake":
        return _bits(_after(there, word)) == pytest.approx(_bits(value), rel=0.01)
    if word in _FLAGS:
        return word in there and _FLAGS[word] not in there
    if word == "noecn":
        return "ecn" not in there
    return word not in {*_SHOWN, "adaptive"} or word in there


def _after(words: list[str], name: str) -> str:
    return words[words.index(name) + 1] if name in words[:-1] else ""


def _seconds(text: str) -> float:
    found = re.fullmatch(r"([0-9.]+)(us|ms|s)", text)
    return float(found[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[found[2]] if found else math.inf


def framing_shown(shown: str, link: Framing) -> bool:
    """Whether `cake` counts what this line takes."""
    words = shown.split()
    cells = {"plain": "noatm"}.get(link.cells, link.cells)
    mpu = _after(words, "mpu") or "0"
    return (_after(words, "overhead"), mpu, cells in words) == (str(link.overhead), str(link.mpu), True)


@needs_tc
def test_lines_are_installed_where_the_kernel_has_the_kind() -> None:
    """Each kind that this kernel has is set up on both devices, shown, and undone. Where the kernel is known to have
    all kinds, none may be refused."""
    refused, wrongly = set(), []
    for discipline, link in itertools.product(DISCIPLINES, FRAMINGS):
        # Under htb the line is in the class, which is read back by itself.
        if discipline in refused or (discipline in BELOW_HTB and link not in FRAMINGS[::9]):
            continue
        one = setup(discipline, link, up_bps=5e6, ecn=link.vlan)
        made = lines(one)
        asked = [made.up[-1].text, made.down[-1].text]
        kind = re.split(r" (?:root|parent 1:1) ", asked[0])[-1].split()[0]
        show = "".join(f"tc qdisc show dev {device} | grep '^qdisc {kind} '\n" for device in ("WAN", "ifb4wan"))
        undo = "".join(f"{line.text}\n" for line in made.undo)
        done = shell(f"{DEVICES}set -e\n" + "".join(f"{c}\n" for c in made.commands) + show + undo)
        if done.returncode:
            assert LACKS_MODULE in done.stderr or "Unknown qdisc" in done.stderr, (made.commands, done.stderr)
            refused.add(discipline)
            continue
        for line, shown in zip(asked, done.stdout.splitlines(), strict=True):
            missed = read_back(line, shown)
            if " root cake " in line and not framing_shown(shown, link):
                missed += " framing"
            if missed:
                wrongly.append((line, shown, missed))
    assert not wrongly, wrongly[:5]
    assert "droptail" not in refused
    if ALL_KINDS:
        assert refused <= NOT_IN_UBUNTU, refused


def test_what_is_shown_is_read_as_it_stands_there() -> None:
    """Words of tc-cake(8) and of `tc qdisc show` as published: https://github.com/gnuton/asuswrt-merlin.ng/issues/146
    and the tests of Linux for fq_codel."""
    cake = (
        "qdisc cake 8001: root refcnt 2 bandwidth 46080Kbit diffserv3 dual-srchost nat nowash no-ack-filter split-gso "
        "rtt 100ms noatm overhead 18 mpu 64"
    )
    line = "tc qdisc replace dev WAN root cake bandwidth 46080kbit nat dual-srchost diffserv3 docsis"
    assert read_back(line, cake) == "" and framing_shown(cake, framing("docsis"))
    assert not framing_shown(cake, framing("docsis", vlan=True)) and not framing_shown(cake, framing("adsl"))
    for change, missed in (
        ("46080kbit nat", "bandwidth 45000kbit"),
        ("diffserv3 docsis", "diffserv4"),
        ("nat dual", "ack-filter"),
        ("docsis", "rtt 600ms"),
        ("docsis", "wash"),
    ):
        other = (
            line.replace("46080kbit", "45000kbit")
            if "bandwidth" in missed
            else line.replace(change, f"{missed} {change}")
        )
        assert read_back(other, cake) == missed, other
    fq_codel = (
        "qdisc fq_codel 1: root refcnt 2 limit 10240p flows 1024 quantum 300 target 5ms interval 100ms "
        "memory_limit 32Mb ecn drop_batch 64"
    )
    assert read_back("tc qdisc replace dev WAN parent 1:1 fq_codel quantum 300 ecn", fq_codel) == ""
    wrongly = "fq_codel limit 100 target 18216us quantum 1514 noecn"
    assert read_back(f"tc qdisc replace dev WAN parent 1:1 {wrongly}", fq_codel) == (
        "limit 100, target 18216us, quantum 1514, noecn"
    )
    assert read_back("tc qdisc replace dev WAN parent 1:1 codel ecn", fq_codel) == "kind fq_codel"


# Choices


def test_acknowledgements_are_thinned_out_where_they_crowd_the_line() -> None:
    """One of 70 B for two packets of 1518 B on a cable."""
    cable = FRAMINGS[0]
    assert acks_share(cable, 95e6, 95e6) == pytest.approx(70 / 3036)
    assert acks_share(cable, 400e6, 10e6) == pytest.approx(40 * 70 / 3036)

    def filters(**given: Any) -> bool:
        return "ack-filter" in lines(setup(**given)).up[0].text.split()

    assert not filters(up_bps=95e6 / 7) and filters(up_bps=95e6 / 8)
    assert filters(given={"ack_filter": "conservative"}) and not filters(up_bps=1e6, given={"ack_filter": "off"})
    down = lines(setup(up_bps=1e6)).down[-1].text.split()
    assert "ack-filter" not in down and "ingress" in down and "dual-dsthost" in down


def test_times_are_told_where_the_defaults_do_not_serve() -> None:
    told = {rtt: setup(rtt_s=rtt).written("up", bare=True).text for rtt in (0.004, 0.01, 0.03, 0.3, 0.6)}
    assert [("rtt" in text.split()) for text in told.values()] == [True, False, False, False, True]
    # The round trip itself, without a least one.
    assert told[0.004].endswith("rtt 4ms") and told[0.6].endswith("rtt 600ms")
    assert _leaf(setup("fq-codel")) == "fq_codel quantum 300 ecn"
    assert _leaf(setup("fq-codel", up_bps=200e6, ecn=False)) == "fq_codel noecn"
    # 1518 B take 12.144 ms at 1 Mbit/s: one and a half packets, and the interval longer by what the target is.
    slow = _leaf(setup("fq-codel", up_bps=1e6))
    assert slow == "fq_codel quantum 300 target 18216us interval 113216us ecn"
    assert _leaf(setup("codel", up_bps=1e6, rtt_s=0.6)) == "codel target 30ms interval 600ms ecn"
    assert _leaf(setup("pie", up_bps=1e6)) == "pie target 18216us ecn" and _leaf(setup("pie")) == "pie ecn"


def _leaf(one: Setup) -> str:
    return lines(one).up[-1].text.split(" parent 1:1 ")[1]


def test_the_lines_say_what_was_tried() -> None:
    """Each key alone, and all together, in the lines of `tc` and in those of SQM."""
    own = {"rtt": "30ms", "tins": "besteffort", "isolation": "flows", "ack_filter": "off"}
    words = {"rtt": "rtt 30ms", "tins": "besteffort", "isolation": "flows", "ack_filter": "no-ack-filter"}
    usual = {"rtt": None, "tins": "diffserv4", "isolation": "dual-srchost", "ack_filter": None}
    for keys in (*([key] for key in own), list(own)):
        one = setup("cake", given={key: own[key] for key in keys})
        up, down = (lines(one).up[-1].text, lines(one).down[-1].text)
        block = sqm(one)
        assert block is not None
        options = dict(block.options)
        for text in (up, down, options["iqdisc_opts"], options["eqdisc_opts"]):
            assert all(f" {words[key]} " in f" {text} " for key in keys), (keys, text)
        for text in (up, options["eqdisc_opts"]):
            assert all(usual[key] is None or usual[key] in text.split() for key in own if key not in keys), text
    assert " nat " not in up and "diffserv4" not in up
    codel = setup("fq-codel", given={"target": "7ms"})
    block = sqm(codel)
    assert block is not None and "target 7ms" in _leaf(codel) and "target 7ms" in dict(block.options)["iqdisc_opts"]
    assert "tc cannot say hash_key = source." in lines(setup("fq-codel", given={"hash_key": "source"})).remarks
    with pytest.raises(LinkError, match=r"queue = cake: rate = 5Mbps would hold both directions; .* leave rate out"):
        setup("cake", given={"rate": "5Mbps"})
    framed = lines(setup("cake", given={"overhead": "44B"})).up[-1].text
    assert framed.endswith("overhead 44 mpu 64 noatm")


def test_what_linux_lacks_is_said() -> None:
    for name, instead in {"qsdrr": "sfq", "rem": "pie", "sred": "ared"}.items():
        made = lines(setup(name))
        assert made.commands == () and made.instead == instead and name in made.why_not
        assert lines(setup(instead)).commands
    assert lines(replace(setup(), discipline="mine.py:Queue")).instead == "fq-codel"
    assert without_cake(setup("cake")).discipline == "fq-codel"
    assert without_cake(setup("pie")).discipline == "pie"


# SQM of OpenWrt


@pytest.mark.parametrize("link", FRAMINGS, ids=lambda f: f"{f.link}{'-pppoe' * f.pppoe}{'-vlan' * f.vlan}")
@pytest.mark.parametrize("discipline", ["cake", "fq-codel"])
def test_sqm_has_every_option(link: Framing, discipline: str) -> None:
    plain = {"tins": "besteffort"} if discipline == "cake" else {}
    for one in (
        replace(setup(discipline, link), wan="pppoe-wan"),
        distrusting(setup(discipline, link, ecn=False)) if plain else setup(discipline, link, ecn=False),
        setup(discipline, link, plain, down_bps=1e6, up_bps=2e5, rtt_s=0.6),
    ):
        made = sqm(one)
        assert made is not None
        options = read_sqm(made.block)
        # The commands write the same.
        written = dict(re.findall(r"^uci set sqm\.wan\.(\w+)='([^']*)'$", "\n".join(made.commands), re.MULTILINE))
        assert written == options
        assert options["interface"] == one.wan
        off = [c for c in made.commands if "flow_offloading" in c]
        assert len(off) == 2 and all(c.endswith("='0'") for c in off)
        # `cake` counts from the IP packet, tables of sizes from the packet as the device has it.
        counted = 0 if link.pppoe or discipline == "cake" else 14
        assert (int(options["overhead"]), int(options.get("tcMPU", 0))) == (link.overhead - counted, link.mpu)
        factor = 64 / 65 if (link.cells, discipline) == ("ptm", "fq-codel") else 1
        assert int(options["download"]) == pytest.approx(one.down_bps * factor / 1e3, abs=1)
    assert sqm(setup("pie", link)) is None and next_best(setup("pie", link)).discipline == "cake"


@needs_strace
def test_sqm_comes_to_the_same_cake() -> None:
    """The scripts of SQM put these words together: rate, cells and sizes, `diffserv3 nat`, what is squashed, and the
    options last. A later word wins."""
    ours, theirs = [], []
    for link in FRAMINGS:
        far = setup("cake", link, rtt_s=0.6, up_bps=5e6)
        for one in (setup(link=link), distrusting(setup(link=link)), far, setup("cake", link, {"tins": "besteffort"})):
            made = sqm(one)
            assert made is not None
            o = read_sqm(made.block)
            atm = "atm " if o["linklayer"] == "atm" else ""
            sizes = f"{atm}overhead {o['overhead']} mpu {o.get('tcMPU', 0)} diffserv3 nat"
            best = " besteffort" if o["script"] == "piece_of_cake.qos" else ""
            down = (" besteffort" if o["squash_ingress"] == "1" else "") + (" wash" if o["squash_dscp"] == "1" else "")
            theirs.append(f"bandwidth {o['upload']}kbit {sizes}{best} {o['eqdisc_opts']}")
            theirs.append(f"bandwidth {o['download']}kbit {sizes}{best}{down} {o['iqdisc_opts']}")
            ours += [c.split(" root cake ")[1] for c in lines(one).commands if " root cake " in c]
    for mine, theirs_too, a, b in zip(ours, theirs, cake(ours), cake(theirs), strict=True):
        # What stands there as the default need not be sent.
        assert {"mpu": 0, "framing": 0, **a} == {"mpu": 0, "framing": 0, **b}, (mine, theirs_too)


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("config queue 'wan'\n\toption enabled 1\n", "line 2"),
        ("option enabled '1'\n", "line 1"),
        ("config queue 'wan'\n\toption enabled '1'\n\toption enabled '0'\n", "twice"),
        ("config queue 'wan'\n\toption link_layer 'atm'\n", "no option link_layer"),
        ("config queue 'wan'\n\toption linklayer 'ptm'\n", "not offered"),
        ("config queue 'wan'\n\toption iqdisc_opts 'nat'\n", "not used without"),
    ],
)
def test_the_reader_of_sqm_is_strict(block: str, said: str) -> None:
    with pytest.raises(UciError, match=said):
        read_sqm(block)
