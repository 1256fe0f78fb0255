"""Sets up SQM of OpenWrt for a home line: a block of /etc/config/sqm, the commands that write it, and those that undo
it.

Names and values of the options are those of the OpenWrt wiki, "SQM configuration /etc/config/sqm", and of luci-app-sqm.
The scripts of SQM make lines of `tc` from them: `layer_cake.qos` and `piece_of_cake.qos` for `cake`, `simplest.qos` for
one class of `htb` with `fq_codel`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tailback.linux import units
from tailback.linux.shaper import OFFLOAD, PROCESSOR, Setup

#: The disciplines for which SQM is set up here.
OFFERED = ("cake", "fq_codel")
#: The name of the section in /etc/config/sqm.
SECTION = "wan"
#: The largest packet and the slots of a size table, as luci-app-sqm has them.
TABLE = {"tcMTU": "2047", "tcTSIZE": "128"}


@dataclass(frozen=True)
class Sqm:
    """SQM of OpenWrt for a home line."""

    discipline: str
    options: tuple[tuple[str, str], ...]
    #: The commands that undo it.
    undo: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def block(self) -> str:
        """The block for /etc/config/sqm."""
        return "\n".join([f"config queue '{SECTION}'", *(f"\toption {n} '{v}'" for n, v in self.options)]) + "\n"

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that write the block and turn flow offloading off."""
        return (
            f"uci set sqm.{SECTION}=queue",
            *(f"uci set sqm.{SECTION}.{name}='{value}'" for name, value in self.options),
            "uci commit sqm",
            "uci set firewall.@defaults[0].flow_offloading='0'",
            "uci set firewall.@defaults[0].flow_offloading_hw='0'",
            "uci commit firewall",
            "/etc/init.d/firewall restart",
            "/etc/init.d/sqm enable",
            "/etc/init.d/sqm restart",
        )


_UNDO = (
    f"uci delete sqm.{SECTION}",
    "uci commit sqm",
    "/etc/init.d/sqm restart",
)
_OFFLOAD_AGAIN = (
    "If flow offloading was on before (`uci get firewall.@defaults[0].flow_offloading`), set it to '1' again, commit "
    "firewall and restart it. The wiki says that SQM works with software flow offloading, but off is the safe choice."
)


def sqm(setup: Setup) -> Sqm | None:
    """The settings of SQM; None if SQM does not have the discipline."""
    if not _offered(setup):
        return None
    shapes = setup.form is not None and setup.form.shapes
    options = _cake(setup) if shapes else _fq_codel(setup)
    own_remarks = () if shapes else ("SQM gives fq_codel a limit of 1001 packets, and a target that follows the rate.",)
    return Sqm(setup.discipline, tuple(options), _UNDO, (*own_remarks, OFFLOAD, _OFFLOAD_AGAIN, PROCESSOR))


def next_best(setup: Setup) -> Setup:
    """A discipline that SQM has."""
    return setup if _offered(setup) else replace(setup, discipline="cake", up={}, down={}, own_form=None)


def _offered(setup: Setup) -> bool:
    """Whether SQM has the kind, and the discipline needs no fixed words."""
    return setup.form is not None and setup.form.kind in OFFERED and not setup.form.always


_Options = list[tuple[str, str]]


def _cake(setup: Setup) -> _Options:
    framing = setup.framing
    # For these the script adds `besteffort` and `wash`. Words of the options would follow these two and undo them.
    is_besteffort = setup.up.get("tins") == "besteffort"
    squashed_by = {
        "wash": bool(setup.down.get("wash")),
        "tins": setup.down.get("tins") == "besteffort" and not is_besteffort,
    }
    of_script = tuple(name for name, squashed in squashed_by.items() if squashed)
    down_words, up_words = setup.written("down", without=of_script, bare=True), setup.written("up", bare=True)
    cells = ("ptm",) if framing.cells == "ptm" else ()
    return [
        *_basic(setup, setup.down_bps, setup.up_bps),
        ("qdisc", "cake"),
        ("script", "piece_of_cake.qos" if is_besteffort else "layer_cake.qos"),
        ("qdisc_advanced", "1"),
        ("squash_dscp", f"{squashed_by['wash']:d}"),
        ("squash_ingress", f"{squashed_by['tins']:d}"),
        ("ingress_ecn", "ECN"),
        ("egress_ecn", "ECN"),
        ("qdisc_really_really_advanced", "1"),
        ("iqdisc_opts", " ".join((*down_words.words, *cells))),
        ("eqdisc_opts", " ".join((*up_words.words, *cells))),
        *_link(setup, framing.overhead),
    ]


def _fq_codel(setup: Setup) -> _Options:
    framing = setup.framing
    down_bps, up_bps = setup.down_bps * framing.rate_factor, setup.up_bps * framing.rate_factor
    marks = ["ECN" if own.get("ecn", setup.ecn) else "NOECN" for own in (setup.down, setup.up)]
    words_of_ways = [setup.written(direction, without=("ecn",)).words for direction in ("down", "up")]
    options_given = [
        (name, " ".join(own)) for name, own in zip(("iqdisc_opts", "eqdisc_opts"), words_of_ways, strict=True) if own
    ]
    return [
        *_basic(setup, down_bps, up_bps),
        ("qdisc", "fq_codel"),
        ("script", "simplest.qos"),
        ("qdisc_advanced", "1"),
        ("squash_dscp", "0"),
        ("squash_ingress", "0"),
        ("ingress_ecn", marks[0]),
        ("egress_ecn", marks[1]),
        *([("qdisc_really_really_advanced", "1"), *options_given] if options_given else []),
        *_link(setup, framing.device_overhead),
    ]


def _basic(setup: Setup, down_bps: float, up_bps: float) -> _Options:
    return [
        ("enabled", "1"),
        ("interface", setup.wan),
        ("download", str(units.kbit(down_bps))),
        ("upload", str(units.kbit(up_bps))),
    ]


def _link(setup: Setup, overhead: int) -> _Options:
    framing = setup.framing
    options_given = [("linklayer", framing.linklayer), ("overhead", str(overhead))]
    if framing.mpu:
        options_given += [("linklayer_advanced", "1"), *TABLE.items(), ("tcMPU", str(framing.mpu))]
        options_given.append(("linklayer_adaptation_mechanism", "default"))
    return options_given
