"""Reads rates and lines in plain words (`250Mbit`, `840kbit`, `cable`, `LTE`). Also gives the delay that a medium adds
to that of queues.

On a shared medium a sender requests a time to send and waits for the grant. This wait is part of the idle round trip.
The change of this wait under load is not modelled, so every number has a range.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from tailback import _core
from tailback.apps.ask.given import LinkError, parsed

#: The range of a line's rate.
LEAST_BPS, MOST_BPS = 64e3, 10e9
#: A rate such as `250Mbit`, as `tc` and providers write it. The engine reads its own units.
_BIT = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([kmg]?)bit(?:s?/s)?\s*", re.IGNORECASE)
_PREFIX = MappingProxyType({"": "", "k": "k", "m": "M", "g": "G"})


def rate(option: str, text: str, least: float = LEAST_BPS, most: float = MOST_BPS) -> float:
    """A rate in bit/s, in words of `tc` too. Raises `LinkError`.

    >>> rate("down", "840kbit"), rate("down", "250Mbps")
    (840000.0, 250000000.0)
    """
    match = _BIT.fullmatch(text)
    rate_text = f"{match[1]}{_PREFIX[match[2].lower()]}bps" if match else text
    bps = float(parsed(option, _core.parse_rate, rate_text))
    if not least <= bps <= most:
        raise LinkError(f"{option} = {text}: give a rate from 64kbps to 10Gbps, such as 100Mbps")
    return bps


@dataclass(frozen=True)
class Medium:
    """The time in seconds that a packet waits for the medium, without the time in queues, and the source of the
    numbers."""

    title: str
    least_s: float
    most_s: float
    source: str

    @property
    def span_s(self) -> float:
        """The most by which this wait may exceed that of the idle line."""
        return self.most_s - self.least_s


#: A medium without a known wait, or with a constant one.
STILL = Medium("", 0.0, 0.0, "")


@dataclass(frozen=True)
class Kind:
    """A kind of line: its framing, and its medium."""

    name: str
    link: str
    medium: Medium = STILL
    #: Other effects of this kind of line that the model leaves out.
    note: str = ""


_CABLE = Medium(
    "a cable modem asks for each burst and waits for the grant",
    0.002,
    0.008,
    "White, Sundaresan and Briscoe, Low Latency DOCSIS: Technology Overview, CableLabs 2019",
)
_OPTICAL = Medium(
    "a passive optical network grants the upload in cycles",
    0.0,
    0.003,
    "N'dri, Ouattara and Gnimassoun, Open Journal of Applied Sciences 15(9), 2025: at most 3 ms on XG-PON",
)
_CELL = Medium(
    "a phone asks for a grant, and the radio repeats what it lost",
    0.0,
    0.008,
    "Holma and Toskala, LTE for UMTS: a repetition takes 8 ms",
)
_LEO = Medium(
    "the satellite is exchanged each 15 s, and its scheduler serves in turns",
    0.0,
    0.010,
    "arXiv:2601.08439: spikes of some 140 and 75 ms around each exchange, 1.4 % of the time; the range here is of ours",
)
#: The kinds by the first word of each row. A line without cells is counted as Ethernet, which is safe.
KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "docsis": Kind("docsis", "docsis", _CABLE),
        "fibre": Kind("fibre", "fibre", _OPTICAL),
        "lte": Kind("lte", "ethernet", _CELL),
        "satellite": Kind("satellite", "ethernet", _LEO),
        "vdsl": Kind(
            "vdsl", "vdsl", note="DSL that repeats what noise destroyed (ITU-T G.998.4) adds some milliseconds"
        ),
        "adsl": Kind(
            "adsl", "adsl", note="DSL that interleaves adds milliseconds, which the idle round trip already has"
        ),
        "ethernet": Kind("ethernet", "ethernet"),
        "unknown": Kind("unknown", "unknown", note="a cable, a radio and an optical network add waits of their own"),
    }
)
_WORDS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("cable", "coax", "hfc", "docsis 3.0", "docsis 3.1", "docsis3", "docsis3.1"), "docsis"),
        **dict.fromkeys(("fiber", "ftth", "fttp", "gpon", "xgs-pon", "pon"), "fibre"),
        **dict.fromkeys(("4g", "5g", "mobile", "cell", "cellular"), "lte"),
        **dict.fromkeys(("starlink", "sat", "leo"), "satellite"),
        **dict.fromkeys(("vdsl2", "fttc"), "vdsl"),
        **dict.fromkeys(("adsl2", "adsl2+"), "adsl"),
    }
)


def kind(text: str) -> Kind:
    """The kind of a line from plain words. Raises `LinkError`."""
    word = text.strip().lower()
    word = _WORDS.get(word, word)
    if word in KINDS:
        return KINDS[word]
    if word == "dsl":
        raise LinkError(
            "link = dsl: write vdsl (more than 24 Mb/s down, fibre to the street) or adsl; the modem says it"
        )
    nearest = get_close_matches(word, [*KINDS, *_WORDS], 1)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"lines are {', '.join(KINDS)}"
    raise LinkError(f"link = {text}: there is no line {text!r}; {hint}")
