"""Reads SQM of OpenWrt: blocks of /etc/config/sqm, `uci show sqm` and `uci set sqm...`, as commands of `tc`.

The commands are those that the scripts of SQM run. Options and defaults are those of the OpenWrt wiki, "SQM
configuration /etc/config/sqm", and of sqm-scripts (defaults.sh and the scripts layer_cake, piece_of_cake, simple,
simplest and simplest_tbf). Rates are in kilobits a second.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tailback.linux import units
from tailback.linux.shaper import intermediate
from tailback.linux.units import TcError
from tailback.readers import shapers, tc
from tailback.readers.given import Given
from tailback.readers.reading import Notes, ReadError, Reading

NAME = "sqm"
_BLOCK = re.compile(r"config\s+queue\b\s*['\"]?([\w.-]*)")
_OPTION = re.compile(r"option\s+(\w+)\s+(?:'([^']*)'|\"([^\"]*)\"|(\S+))")
_SET = re.compile(r"(?:uci\s+(?:-q\s+)?set\s+)?sqm\.(@?\w+(?:\[-?\d+\])?)(?:\.(\w+))?=(?:'([^']*)'|\"([^\"]*)\"|(\S*))")
#: The values that SQM uses for empty options.
DEFAULTS = {
    "qdisc": "fq_codel",
    "linklayer": "none",
    "overhead": "0",
    "tcMTU": "2047",
    "tcTSIZE": "512",
    "tcMPU": "0",
    "ingress_ecn": "ECN",
    "egress_ecn": "ECN",
    "squash_dscp": "1",
    "squash_ingress": "1",
    "enabled": "1",
    "linklayer_adaptation_mechanism": "default",
    "interface": "eth0",
}
#: Options that do not affect the queue.
_SILENT = frozenset(
    ["qdisc_advanced", "qdisc_really_really_advanced", "linklayer_advanced", "debug_logging", "verbosity", "target"]
)
_KNOWN = frozenset(
    [*DEFAULTS, "download", "upload", "script", "ilimit", "elimit", "itarget", "etarget", "iqdisc_opts", "eqdisc_opts"]
)
#: Patterns of names by which the scripts recognise disciplines that shape, that have a target, that are like CoDel, and
#: that mark.
_CAKE, _DELAYS, _CODEL, _MARKS = map(re.compile, ("cake$", "(?:codel|pie)$", "codel$", "(?:codel|pie|red)$"))
#: The limit of a discipline in packets, and the device that incoming packets pass through.
LIMIT, THROUGH = 1001, "ifb4"
#: The largest packet of a device as SQM counts it, in bytes, and the microseconds for which a bucket is filled.
MTU, BURST_US = 1500, 1000
#: The highest rate of a line, kilobits a second.
MOST_KBIT = 10**9
#: Bits of 33 cells of ATM, which carry a largest packet.
_CELLS_BITS = 33 * 53 * 8


@dataclass
class Block:
    """A section: its options, and the number of each option's line."""

    line: int
    options: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.options.get(name, "") or DEFAULTS.get(name, "")


def recognises(given: Given) -> bool:
    return any(_BLOCK.match(line) or _SET.match(line) for line in given.lines[:2000] if len(line) < 400)


def read(given: Given) -> Reading:
    notes = Notes()
    sections = blocks(given.lines, notes)
    commands: list[str] = []
    for block in sections:
        if block["enabled"] != "1":
            shapers.leave(notes, "a block of SQM", "it is not enabled", block.line)
            continue
        for name, value in block.options.items():
            if name in _KNOWN:
                notes.say(name, shapers.masked(value), block.lines[name])
            elif name not in _SILENT:
                shapers.leave(notes, f"option {name}", "the queue does not depend on it here", block.lines[name])
        try:
            commands += lines(block)
        except TcError as e:
            problem, _, remedy = str(e).partition("; ")
            raise ReadError(problem, remedy, block.line, given.name) from None
    if not commands:
        raise ReadError("no block of SQM is enabled", "set option enabled '1'", name=given.name)
    try:
        return tc.made(NAME, "SQM of OpenWrt", commands, notes, given.name)
    except TcError as e:
        raise ReadError(str(e), "mend that option", name=given.name) from None


def blocks(lines: list[str], notes: Notes) -> list[Block]:
    """The sections of a text, in both forms."""
    sections: list[Block] = []
    blocks_by_name: dict[str, Block] = {}
    current_block: Block | None = None
    for line_number, line in enumerate(lines, 1):
        if _BLOCK.match(line):
            current_block = Block(line_number)
            sections.append(current_block)
        elif line.startswith("config "):
            current_block = None
            shapers.leave(notes, "another section", "it is not of SQM's queues", line_number)
        elif (option := _OPTION.match(line)) is not None and current_block is not None:
            _give(current_block, option[1], option[2] or option[3] or option[4] or "", line_number)
        elif (option_match := _SET.match(line)) is not None:
            if option_match[1] not in blocks_by_name:
                blocks_by_name[option_match[1]] = Block(line_number)
                sections.append(blocks_by_name[option_match[1]])
            if option_match[2]:
                _give(
                    blocks_by_name[option_match[1]],
                    option_match[2],
                    option_match[3] or option_match[4] or option_match[5] or "",
                    line_number,
                )
        elif line and not line.startswith("#"):
            shapers.leave(notes, "a line", "no option of SQM", line_number)
    return sections


def _give(block: Block, name: str, value: str, line: int) -> None:
    block.options[name], block.lines[name] = value, line


def lines(block: Block) -> list[str]:
    """The commands of `tc` that SQM runs, first for the upload and then for the download. Raises `TcError`."""
    device = block["interface"] if re.fullmatch(r"[\w.@-]{1,24}", block["interface"]) else "WAN"
    ifb = f"{THROUGH}{device}"[:15]
    commands: list[str] = []
    up_kbit, down_kbit = _kbit(block, "upload"), _kbit(block, "download")
    if not up_kbit and not down_kbit:
        raise TcError("download and upload are both 0, which shapes nothing; give the rates in kbit/s")
    if up_kbit:
        commands += _direction(block, device, up_kbit, "e")
    if down_kbit:
        commands += intermediate(device, ifb)
        commands += _direction(block, ifb, down_kbit, "i")
    return commands


def _kbit(block: Block, name: str) -> int:
    text = block.options.get(name, "0") or "0"
    if not units.is_whole(text) or int(text) > MOST_KBIT:
        raise TcError(f"option {name} '{text[:20]}': give kilobits a second, such as 85000")
    return int(text)


def _direction(block: Block, device: str, kbit: int, way: str) -> list[str]:
    """The commands of one direction. `way` is "e" for outgoing and "i" for incoming packets, as in SQM."""
    script = re.sub(r"\.qos$", "", block["script"])
    qdisc, options = block["qdisc"], block[f"{way}qdisc_opts"]
    if not re.fullmatch(r"[a-z_0-9]{1,16}", qdisc):
        raise TcError(f"option qdisc '{qdisc[:20]}': give the kernel's name, such as cake or fq_codel")
    if _cakes(script) or _cakes(qdisc):
        own_words = _of_cake(block, script, way)
        shape = f"cake bandwidth {kbit}kbit {own_words} {options}"
        return [_line(f"tc qdisc add dev {device} root", _stab(block, True), shape)]
    ecn = _ecn(qdisc, block["egress_ecn" if way == "e" else "ingress_ecn"])
    flows = "flows 1024" if qdisc.endswith("fq_codel") or qdisc.startswith("sf") else ""
    limit, target = _limit(qdisc, block[f"{way}limit"]), _target(qdisc, block[f"{way}target"], kbit)
    leaf = _line(qdisc, limit, target, ecn, flows, options)
    if script == "simplest_tbf":
        bucket = f"tbf rate {kbit}kbit burst {_burst(kbit)} latency 300ms"
        return [
            _line(f"tc qdisc add dev {device} root handle 1:", _stab(block, False), bucket, _private(block)),
            f"tc qdisc add dev {device} parent 1: handle 110: {leaf}",
        ]
    if script not in ("simplest", "simple"):
        known_scripts = "layer_cake, piece_of_cake, simple, simplest or simplest_tbf"
        raise TcError(f"script '{script[:24]}.qos' is not known; give {known_scripts}")
    return _classes(block, script, way, device, kbit, leaf)


def _cakes(name: str) -> bool:
    return _CAKE.search(name) is not None


def _of_cake(block: Block, script: str, way: str) -> str:
    """The words that the scripts for cake add: layers or one tin, hosts behind NAT, the line's headers."""
    words = [_link(block)]
    if not _CAKE.search(script):
        keeps = script == "simple" and (way == "e" or block["squash_ingress"] != "1")
        return " ".join(words if keeps else [*words, "besteffort"])
    words.append("diffserv3 nat")
    squash = block["squash_ingress"] == "1" and way == "i"
    if script.startswith("piece") or squash:
        words.append("besteffort")
    if way == "i" and block["squash_dscp"] == "1":
        words.append("wash")
    return " ".join(words)


def _link(block: Block) -> str:
    """The line's headers in the words of cake."""
    adaptation = block["linklayer_adaptation_mechanism"]
    if (adaptation != "default" and not _CAKE.search(adaptation)) or block["linklayer"] == "none":
        return ""
    return f"{'atm ' if block['linklayer'] == 'atm' else ''}overhead {block['overhead']} mpu {block['tcMPU']}"


def _stab(block: Block, cake: bool) -> str:
    """The line's headers as a table of sizes."""
    adaptation = block["linklayer_adaptation_mechanism"]
    adaptation = "tc_stab" if adaptation == "default" and not cake else adaptation
    if adaptation != "tc_stab" or block["linklayer"] == "none":
        return ""
    return (
        f"stab mtu {block['tcMTU']} tsize {block['tcTSIZE']} mpu {block['tcMPU']} overhead {block['overhead']} "
        f"linklayer {block['linklayer']}"
    )


def _private(block: Block) -> str:
    """The line's headers in the words of htb."""
    if block["linklayer_adaptation_mechanism"] != "htb_private" or block["linklayer"] == "none":
        return ""
    return f"mpu {block['tcMPU']} linklayer {block['linklayer']} overhead {block['overhead']} mtu {block['tcMTU']}"


def _burst(kbit: int) -> int:
    """The size of a bucket: the bytes of a millisecond at the rate, at least the largest packet and 48 B in cells of
    ATM."""
    return max(BURST_US * kbit // 8000, -(-(MTU + 48) // 48) * 53)


def _limit(qdisc: str, said: str) -> str:
    counts = _DELAYS.search(qdisc) is not None or qdisc.startswith(("pfifo", "sf"))
    return f"limit {said or LIMIT}" if counts else f"limit {said or LIMIT * MTU}" if qdisc.startswith("bf") else ""


def _target(qdisc: str, said: str, kbit: int) -> str:
    """The target: as given, or five milliseconds, or on a slow line the time of the largest packet in cells of ATM."""
    if not _DELAYS.search(qdisc):
        return ""
    if re.fullmatch(r"\d{1,9}(?:us|usecs?|ms|msecs?|s|secs?)", said):
        return f"target {said}"
    if said.lower() == "default":
        return ""
    target = max(5000, _CELLS_BITS * 1000 // kbit)
    interval = f" interval {95_000 + target}us" if _CODEL.search(qdisc) else ""
    return f"target {target}us{interval}"


def _ecn(qdisc: str, said: str) -> str:
    return {"ECN": "ecn", "NOECN": "noecn"}.get(said, "") if _MARKS.search(qdisc) else ""


def _classes(block: Block, script: str, way: str, device: str, kbit: int, leaf: str) -> list[str]:
    """One class of htb, or three classes by marks. The download has three classes only if marks are kept."""
    has_three_classes = script == "simple" and (way == "e" or block["squash_ingress"] != "1")
    burst, private_words = _burst(kbit), _private(block)
    bucket = f"burst {burst} cburst {burst}"
    whole_rate = f"rate {kbit}kbit ceil {kbit}kbit {bucket}"
    if has_three_classes:
        least_kbit = 128 if way == "e" else 32
        quanta = (300, 300, 300) if way == "e" else (500, 1500, 300)
        part_rate = f"rate {kbit // 6}kbit ceil {kbit - 16}kbit {bucket}"
        shares = (f"rate {least_kbit}kbit ceil {kbit // 3}kbit prio 1", f"{part_rate} prio 2", f"{part_rate} prio 3")
        rows = list(zip((11, 12, 13), shares, quanta, strict=True))
    else:
        rows = [(10, f"{whole_rate} prio 0", 0)]
    default = rows[1 if has_three_classes else 0][0]
    lines = [
        _line(f"tc qdisc add dev {device} root handle 1:", _stab(block, False), f"htb default {default}"),
        _line(f"tc class add dev {device} parent 1: classid 1:1 htb quantum {burst}", whole_rate, private_words),
    ]
    for minor, words, quantum in rows:
        head = f"tc class add dev {device} parent 1:1 classid 1:{minor} htb quantum {burst}"
        extra = f"quantum {quantum}" if quantum and leaf.startswith(("fq_codel", "fq_pie")) else ""
        lines.append(_line(head, words, private_words))
        lines.append(_line(f"tc qdisc add dev {device} parent 1:{minor} handle {minor}0:", leaf, extra))
    return lines


def _line(*parts: str) -> str:
    return " ".join(" ".join(parts).split())
