"""The largest rate that a router can shape: reported numbers by router name, or the user's own number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from tailback.apps.ask.given import LinkError
from tailback.apps.ask.home import spoken


@dataclass(frozen=True)
class Router:
    """A router, and the largest rate of a direction at which it was observed to shape."""

    name: str
    most_bps: float
    source: str


_KNOWN = (
    Router("WNDR3800", 135e6, "Netgear WNDR3800, MIPS of 680 MHz: burntchrome.blogspot.com, December 2016"),
    Router("R7800", 150e6, "Netgear R7800, two cores of 1.7 GHz: OpenWrt forum, thread 50368"),
    Router("WRT32X", 450e6, "Linksys WRT32X: OpenWrt wiki, 'SQM', at 90 % of 500 Mbit/s"),
)
ROUTERS: Mapping[str, Router] = MappingProxyType({row.name.lower(): row for row in _KNOWN})


def router(text: str) -> Router:
    """A router by its name, or by the rate that it shapes: `R7800`, `200Mbps`, `200`. Raises `LinkError`."""
    word = text.strip()
    if re.fullmatch(r"\d+\.?\d*", word):
        word += "Mbps"
    if word[:1].isdigit():
        return Router("", spoken.rate("router", word), "your value")
    router = ROUTERS.get(word.lower())
    if router is not None:
        return router
    nearest = get_close_matches(word.lower(), ROUTERS, 1)
    hint = f"did you mean {ROUTERS[nearest[0]].name}?" if nearest else f"known are {', '.join(r.name for r in _KNOWN)}"
    raise LinkError(
        f"router = {text}: no measured limit of this router is known ({hint}); give the rate that it shapes, such as "
        "200Mbps: switch its shaper on at the line's rate, and take what a speed test shows"
    )
