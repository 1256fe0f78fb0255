"""Instructions for the lines: where to type them, and how to check that they work.

Source for the package of SQM and for its bypass by hardware flow offloading: the OpenWrt wiki, "SQM".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback.apps.ask.home import summary
from tailback.apps.ask.home.candidates import MINE, MODEM
from tailback.apps.ask.words import joined

if TYPE_CHECKING:
    from tailback.apps.ask.home.compared import HomeComparison

#: The place to type lines of `tc`, for the terminal and the page alike.
ON_LINUX = (
    "type these lines as root on the router, not on a computer behind it. For WAN write the router's device towards "
    "the modem, which `ip route show default` names after `dev`. They hold until the router restarts."
)
#: The text before the lines if the advice is to change nothing.
NOT_NEEDED = "No change is needed: leave the line as it is. The lines are here in case you want them anyway."
#: The steps for a shaper that follows the line: installation, configuration, start and removal (cake-autorate,
#: INSTALLATION.md).
AUTORATE_TOO = (
    "Install cake-autorate on the router as well, after these lines or the block below; on OpenWrt (where there is no "
    "opkg, with `apk update` and `apk add bash fping`):"
)
AUTORATE_INSTALL = (
    "opkg update && opkg install bash fping",
    "wget -O /tmp/setup.sh https://raw.githubusercontent.com/lynxthecat/cake-autorate/master/setup.sh",
    "sh /tmp/setup.sh",
)
AUTORATE_CONFIG = (
    "Write into /root/cake-autorate/config.primary.sh (with SQM the first device is ifb4 and the name of the second, "
    "as `tc qdisc show` says):"
)
AUTORATE_DEVICES = ("dl_if=ifb4wan", "ul_if=WAN")
AUTORATE_START = ("service cake-autorate enable", "service cake-autorate start")
AUTORATE_THEN = "Then start it. It changes `bandwidth` from then on:"
AUTORATE_ENDS = "To stop it, before you undo the lines:"
AUTORATE_STOP = ("service cake-autorate stop", "service cake-autorate disable")
#: The package that a router needs for the block of SQM, and the commands that start it.
ON_OPENWRT = (
    "this needs the package sqm-scripts. For WAN write the device towards the modem, which `ip route show default` "
    "names after `dev`. Then turn flow offloading off (in LuCI: Network, Firewall), and type "
    "`/etc/init.d/sqm enable` and `/etc/init.d/sqm restart`."
)
#: When and how to undo the lines.
UNDO_LINUX = "To undo them, on the router (also before you paste them a second time):"
UNDO_OPENWRT = "To undo it, on the router (and turn flow offloading on again, if it was on):"
#: An explanation of the numbers.
SURE = (
    "± is the 95 % confidence interval of a mean over random runs; those of the other rows are under 'All "
    "measures'. It does not include the error of the model: the check below the lines to paste shows that."
)


def autorate(config: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    """The steps for a shaper that follows the line, each with a sentence and the text to type or write."""
    return [
        (AUTORATE_TOO, AUTORATE_INSTALL),
        (AUTORATE_CONFIG, (*AUTORATE_DEVICES, *config)),
        (AUTORATE_THEN, AUTORATE_START),
        (AUTORATE_ENDS, AUTORATE_STOP),
    ]


def nothing(answer: HomeComparison) -> str:
    """The effects without a change, and the certainty of the table."""
    has = MINE if MINE in answer.candidates else MODEM
    column = dict(zip(summary.names(answer), summary.heads(answer), strict=True))[has]
    sure = f" {SURE}" if len(answer.seeds) > 1 else ""
    return f"If you change nothing, the column '{column}' shows what happens whenever the line is full.{sure}"


def check(answer: HomeComparison) -> str:
    """How to check that the lines work; empty if there are no lines."""
    best = answer.best
    if best == MODEM:
        return ""
    expectations = []
    for measure, load in (("added_down_s", "a download"), ("added_up_s", "an upload")):
        if measure in answer.ranking.values and not math.isnan(answer.estimate(measure, best).mean):
            with_it, today = (summary.milliseconds(answer.estimate(measure, name)) for name in (best, MODEM))
            expectations.append(f"{with_it} under {load} (with the modem alone {today})")
    if not expectations:
        return ""
    return (
        "To check: `ping` a near server, first on the idle line, then while a speed test runs, on a computer with a "
        f"cable. The mean ping should be longer by some {joined(expectations, 'and')}, and the rates near those of the "
        "first table. If the rates are much lower, the router is too slow to shape so much (`top` shows it): give the "
        "rate that it shapes with --router. If the ping is much longer, a queue is still elsewhere: packets bypass the "
        "shaper (`tc -s qdisc show dev WAN` counts those that pass), or the line is slower than was said: then give "
        "its measured rates with --measured."
    )
