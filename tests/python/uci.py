"""A strict reader of files as UCI of OpenWrt has them: sections, and options with values in single quotes.

The format: OpenWrt wiki, "The UCI system", file syntax. Anything that UCI would read otherwise than it looks is an
error here: a value without quotes, an option twice, an option before a section.
"""

from __future__ import annotations

import re

#: Options of a queue of SQM: OpenWrt wiki, "SQM configuration /etc/config/sqm", and those of luci-app-sqm.
SQM_OPTIONS = frozenset(
    (
        *("enabled", "interface", "upload", "download", "debug_logging", "verbosity"),
        *("qdisc", "script", "qdisc_advanced", "squash_dscp", "squash_ingress", "ingress_ecn", "egress_ecn"),
        *("qdisc_really_really_advanced", "ilimit", "elimit", "itarget", "etarget", "iqdisc_opts", "eqdisc_opts"),
        *("linklayer", "overhead", "linklayer_advanced", "tcMTU", "tcTSIZE", "tcMPU", "linklayer_adaptation_mechanism"),
    )
)
#: Values that luci-app-sqm offers.
SQM_VALUES = {
    "enabled": {"0", "1"},
    "linklayer": {"none", "ethernet", "atm"},
    "script": {"piece_of_cake.qos", "layer_cake.qos", "simple.qos", "simplest.qos"},
    "qdisc": {"cake", "fq_codel"},
    "ingress_ecn": {"ECN", "NOECN"},
    "egress_ecn": {"ECN", "NOECN"},
    "squash_dscp": {"0", "1"},
    "squash_ingress": {"0", "1"},
    "linklayer_adaptation_mechanism": {"default", "cake", "htb_private", "tc_stab"},
}
#: An option is used only where its flag is set.
SQM_FLAGS = {
    **dict.fromkeys(("squash_dscp", "squash_ingress", "ingress_ecn", "egress_ecn"), "qdisc_advanced"),
    "qdisc_really_really_advanced": "qdisc_advanced",
    **dict.fromkeys(("iqdisc_opts", "eqdisc_opts", "ilimit", "elimit"), "qdisc_really_really_advanced"),
    **dict.fromkeys(("tcMTU", "tcTSIZE", "tcMPU", "linklayer_adaptation_mechanism"), "linklayer_advanced"),
}

_SECTION = re.compile(r"config ([a-z]\w*) '([\w-]+)'")
_OPTION = re.compile(r"\toption ([A-Za-z]\w*) '([^'\n]*)'")


class UciError(ValueError):
    """Not UCI, or not what SQM knows."""


def read(text: str) -> list[tuple[str, str, dict[str, str]]]:
    """Type, name and options of each section."""
    found: list[tuple[str, str, dict[str, str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if section := _SECTION.fullmatch(line):
            found.append((section[1], section[2], {}))
        elif (option := _OPTION.fullmatch(line)) and found:
            if option[1] in found[-1][2]:
                raise UciError(f"line {number}: {option[1]} stands there twice")
            found[-1][2][option[1]] = option[2]
        else:
            raise UciError(f"line {number}: {line!r} is no section and no option of one")
    return found


def read_sqm(text: str) -> dict[str, str]:
    """The options of the one queue, each known, with a value that is offered, and used."""
    sections = read(text)
    if [kind for kind, _, _ in sections] != ["queue"]:
        raise UciError(f"one queue is expected, not {sections}")
    options = sections[0][2]
    for name, value in options.items():
        if name not in SQM_OPTIONS:
            raise UciError(f"SQM has no option {name}")
        if value not in SQM_VALUES.get(name, {value}):
            raise UciError(f"{name} = {value}: not offered")
        flag = SQM_FLAGS.get(name)
        if flag is not None and options.get(flag) != "1":
            raise UciError(f"{name} is not used without {flag}")
    for name in ("download", "upload", "overhead", "tcMPU", "tcMTU", "tcTSIZE"):
        if name in options and not re.fullmatch(r"[0-9]+", options[name]):
            raise UciError(f"{name} = {options[name]}: a whole number is expected")
    return options
