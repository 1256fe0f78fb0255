"""The same for SQM of OpenWrt: a block of /etc/config/sqm, the commands that write it, and how to undo them.

Names and values of the options are those of the OpenWrt wiki, "SQM configuration /etc/config/sqm", and of luci-app-sqm.
The scripts of SQM make lines of `tc` from them: `layer_cake.qos` and `piece_of_cake.qos` for `cake`, `simplest.qos` for
one class of `htb` with `fq_codel`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tailback.home.leaves import FAST_BPS, INTERVAL_S, SMALL_QUANTUM, Leaf, sojourn_times, tc_time
from tailback.home.lines import OFFLOAD, PROCESSOR, Setup, cake_words

#: The disciplines that SQM is asked for here.
OFFERED = ("cake", "fq-codel")
#: The name of the section.
SECTION = "wan"
#: Largest packet and slots of a table of sizes: luci-app-sqm's.
TABLE = {"tcMTU": "2047", "tcTSIZE": "128"}


@dataclass(frozen=True)
class Sqm:
    """SQM of OpenWrt for a home line."""

    discipline: str
    options: tuple[tuple[str, str], ...]
    #: How to undo it, as commands.
    undo: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def block(self) -> str:
        """For /etc/config/sqm."""
        return "\n".join([f"config queue '{SECTION}'", *(f"\toption {n} '{v}'" for n, v in self.options)]) + "\n"

    @property
    def commands(self) -> tuple[str, ...]:
        """The block as commands, and flow offloading off."""
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
    "firewall and restart it. SQM works with software flow offloading by the wiki; off is the safe choice."
)


def sqm(setup: Setup) -> Sqm | None:
    """What SQM is told; none where it does not have the discipline."""
    if setup.discipline not in OFFERED:
        return None
    made = _cake(setup) if setup.discipline == "cake" else _fq_codel(setup)
    return Sqm(setup.discipline, tuple(made), _UNDO, _remarks(setup))


def next_best(setup: Setup) -> Setup:
    """A discipline that SQM has."""
    return setup if setup.discipline in OFFERED else replace(setup, discipline="cake")


def _remarks(setup: Setup) -> tuple[str, ...]:
    own: tuple[str, ...] = ()
    if setup.discipline == "fq-codel":
        own = ("SQM gives fq_codel a limit of 1001 packets, and a target that follows the rate.",)
    return (*own, OFFLOAD, _OFFLOAD_AGAIN, PROCESSOR)


def _kbit(rate_bps: float) -> str:
    return str(max(1, int(rate_bps / 1e3 + 1e-9)))


def _cake(setup: Setup) -> list[tuple[str, str]]:
    framing = setup.framing
    ptm = " ptm" if framing.cells == "ptm" else ""
    # The script adds `besteffort wash` for these two; words of the options stand behind its own and would undo them.
    squash = "0" if setup.trusted else "1"
    down = cake_words(setup, "down").removesuffix(" besteffort wash").replace(" besteffort wash ", " ")
    script = "piece_of_cake.qos" if setup.diffserv == "besteffort" else "layer_cake.qos"
    return [
        *_basic(setup, setup.down_bps, setup.up_bps),
        ("qdisc", "cake"),
        ("script", script),
        ("qdisc_advanced", "1"),
        ("squash_dscp", squash),
        ("squash_ingress", squash),
        ("ingress_ecn", "ECN"),
        ("egress_ecn", "ECN"),
        ("qdisc_really_really_advanced", "1"),
        ("iqdisc_opts", f"{down}{ptm}"),
        ("eqdisc_opts", f"{cake_words(setup, 'up')}{ptm}"),
        *_link(setup, framing.overhead),
    ]


def _fq_codel(setup: Setup) -> list[tuple[str, str]]:
    framing = setup.framing
    down, up = setup.down_bps * framing.rate_factor, setup.up_bps * framing.rate_factor
    ecn = "ECN" if setup.ecn else "NOECN"
    return [
        *_basic(setup, down, up),
        ("qdisc", "fq_codel"),
        ("script", "simplest.qos"),
        ("qdisc_advanced", "1"),
        ("squash_dscp", "0" if setup.trusted else "1"),
        ("squash_ingress", "0" if setup.trusted else "1"),
        ("ingress_ecn", ecn),
        ("egress_ecn", ecn),
        *_leaf_options(setup, down, up),
        *_link(setup, framing.device_overhead),
    ]


def _leaf_options(setup: Setup, down_bps: float, up_bps: float) -> list[tuple[str, str]]:
    """Words for the queue, where its defaults and those of SQM do not do."""

    def words(rate_bps: float) -> str:
        found = [f"quantum {SMALL_QUANTUM}"] if rate_bps < FAST_BPS else []
        leaf = Leaf(rate_bps, setup.framing.shaped(1500), setup.rtt_s, setup.ecn)
        target, interval = sojourn_times(leaf)
        if (target, interval) != (INTERVAL_S / 20, INTERVAL_S):
            found.append(f"target {tc_time(target)} interval {tc_time(interval)}")
        if setup.limit is not None:
            found.append(f"limit {setup.limit}")
        return " ".join(found)

    given = [("iqdisc_opts", words(down_bps)), ("eqdisc_opts", words(up_bps))]
    given = [(name, value) for name, value in given if value]
    return [("qdisc_really_really_advanced", "1"), *given] if given else []


def _basic(setup: Setup, down_bps: float, up_bps: float) -> list[tuple[str, str]]:
    return [
        ("enabled", "1"),
        ("interface", setup.wan),
        ("download", _kbit(down_bps)),
        ("upload", _kbit(up_bps)),
    ]


def _link(setup: Setup, overhead: int) -> list[tuple[str, str]]:
    framing = setup.framing
    given = [("linklayer", framing.linklayer), ("overhead", str(overhead))]
    if framing.mpu:
        given += [("linklayer_advanced", "1"), *TABLE.items(), ("tcMPU", str(framing.mpu))]
        given.append(("linklayer_adaptation_mechanism", "default"))
    return given
