"""`tailback predict redn` and `tailback predict allocation`: promised rates over colour-aware queues."""

from __future__ import annotations

import re
from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from tailback.cli import options
from tailback.cli.which_queue.predict.arguments import asked
from tailback.core.text.json_text import json_text
from tailback.core.theory.allocation import HEADROOM, Demand, Share, allocate
from tailback.core.theory.predict import PredictError
from tailback.core.theory.redn import Client, Redn, guidelines, tolerable_loss

if TYPE_CHECKING:
    _Type = click.ParamType[Fraction]
else:
    # Before click 8.4 it is not generic.
    _Type = click.ParamType


class Exact(_Type):
    """A quantity with its unit, or a bare number, as a fraction."""

    name = "exact"

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Fraction:
        if isinstance(value, Fraction):
            return value
        try:
            return read(self.kind, value)
        except ValueError as e:
            self.fail(str(e), param, ctx)


def read(kind: str, text: str) -> Fraction:
    """A rate in bit/s, a time in seconds (to the nanosecond), or a number."""
    from tailback import _core

    if kind == "rate":
        return Fraction(round(_core.parse_rate(text)))
    if kind == "time":
        return Fraction(round(_core.parse_time(text) * 10**9), 10**9)
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{text} is not a number; write one such as 1.2") from None


def _flow(text: str) -> tuple[int, Client]:
    """`[COUNTx]RATE,RTT`."""
    match = re.fullmatch(r"(?:(\d+)x)?([^,]+),([^,]+)", text.replace(" ", ""))
    try:
        if match is None or match[1] == "0":
            raise ValueError
        return int(match[1] or 1), Client(read("rate", match[2]), read("time", match[3]))
    except ValueError as e:
        fault = f": {e}" if str(e) else ""
        raise click.BadParameter(
            f"{text} is not a rate and a round trip such as 10Mbps,200ms or 12x10Mbps,200ms{fault}", param_hint="--flow"
        ) from e


@click.command("redn")
@click.option("--rate", type=Exact("rate"), metavar="RATE", help="Rate of the link.  [default: what the flows need]")
@click.option(
    "--rtt", type=Exact("time"), default="500ms", show_default=True, metavar="TIME", help="The longest round trip."
)
@click.option(
    "--flow",
    "flows",
    multiple=True,
    metavar="RATE,RTT",
    help='Promised rate and round trip of a flow: "10Mbps,200ms". "12x10Mbps,200ms" is twelve flows. Repeatable.',
)
@click.option(
    "--delay",
    type=Exact("time"),
    default="15ms",
    show_default=True,
    metavar="TIME",
    help="Queueing delay when the queue is at the middle threshold.",
)
@click.option(
    "--probability",
    type=Exact("number"),
    default="0.1",
    show_default=True,
    metavar="P",
    help="Largest signal probability.",
)
@click.option(
    "--headroom",
    type=Exact("number"),
    default="1.2",
    show_default=True,
    metavar="H",
    help="The link's rate divided by the sum of the promised rates.",
)
@click.option("--packet", default="1000B", show_default=True, metavar="SIZE", help="Mean size of a packet on the wire.")
@click.option(
    "--depth", type=int, default=5, show_default=True, metavar="PACKETS", help="Least depth of a conditioner's buckets."
)
@options.as_json()
def redn_command(
    rate: Fraction | None,
    rtt: Fraction,
    flows: tuple[str, ...],
    delay: Fraction,
    probability: Fraction,
    headroom: Fraction,
    packet: str,
    depth: int,
    as_json: bool,
) -> None:
    """Settings of REDn for a link: thresholds, weight and probabilities, by the guidelines of Liu (2001).

    \b
    tailback predict redn --rate 201.6Mbps --rtt 500ms
    tailback predict redn --flow "12x1Mbps,30ms" --flow "12x10Mbps,200ms"
    """
    from tailback import _core

    try:
        size = _core.parse_bytes(packet)
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="--packet") from e
    groups = [_flow(text) for text in flows]
    clients = [client for count, client in groups for _ in range(count)]
    options: dict[str, Any] = {"longest_rtt": rtt, "delay": delay, "probability": probability, "headroom": headroom}
    g = asked(lambda: guidelines(clients, rate=rate, packet=size, min_depth=depth, **options))
    rows = [_client(count, client, size) for count, client in groups]
    if as_json:
        answer = {k: v for k, v in g.as_dict().items() if k != "peak_rates_bps"}
        click.echo(json_text({**answer, "flows": rows}, indent=2))
        return
    _print(g, rows)


def _client(count: int, client: Client, packet: int) -> dict[str, Any]:
    def loss(delayed: bool) -> float:
        return float(asked(lambda: tolerable_loss(client, packet, delayed_acks=delayed)))

    return {
        "count": count,
        "committed_bps": float(client.rate),
        "peak_bps": float(2 * client.rate),
        "rtt_s": float(client.rtt),
        "tolerable_loss": loss(False),
        "tolerable_loss_delayed_acks": loss(True),
    }


def _print(g: Redn, rows: list[dict[str, Any]]) -> None:
    from tailback.core.text.terminal import columns

    weight = (
        "0.002, unless flows are given"
        if g.weight is None
        else f"{g.weight:.6f}, of N = {float(g.time_constant or 0):g}"
    )
    lines = [
        ("rate of the link (C)", f"{float(g.rate_bps) / 1e6:g} Mb/s"),
        ("max_threshold (H)", f"{g.max_threshold} packets"),
        ("middle_threshold (M)", f"{g.middle_threshold} packets"),
        ("min_threshold (L), queue_threshold (K)", f"{g.min_threshold} packets"),
        ("max_probability (Ps), initial_probability (Pd)", f"{float(g.max_probability):g}"),
        ("increase (U), decrease (D)", f"{g.increase}, {g.decrease}"),
        ("weight (w)", weight),
        ("buffer", f"more than {g.buffer_above_packets} packets"),
        ("depth of a conditioner's buckets, at least", f"{g.min_depth_packets} packets"),
    ]
    click.echo("\n".join(columns(lines, right=())))
    if rows:
        head = ("flows", "r1", "r2", "round trip", "loss it bears", "with delayed ACKs")
        units = ("", "Mb/s", "Mb/s", "ms", "", "")
        body = [
            (
                str(r["count"]),
                f"{r['committed_bps'] / 1e6:g}",
                f"{r['peak_bps'] / 1e6:g}",
                f"{1e3 * r['rtt_s']:g}",
                f"{r['tolerable_loss']:.2e}",
                f"{r['tolerable_loss_delayed_acks']:.2e}",
            )
            for r in rows
        ]
        click.echo("\n" + "\n".join(columns([head, units, *body], right=range(len(head)))))
    thresholds = (
        f'min_threshold = "{g.min_threshold} packets", middle_threshold = "{g.middle_threshold} packets", '
        f'max_threshold = "{g.max_threshold} packets"'
    )
    weight_text = f", weight = {g.weight:.6f}" if g.weight is not None else ""
    click.echo(f'\nqueue = {{ kind = "redn", mode = "adaptive_redn", {thresholds}{weight_text} }}')
    for warning in g.warnings:
        click.echo(f"warning: {warning}", err=True)


@click.command("allocation")
@click.argument("scenario", metavar="SCENARIO")
@click.option(
    "--headroom",
    type=Exact("number"),
    default=str(float(HEADROOM)),
    show_default=True,
    metavar="H",
    help="The rate of a declared link is divided by this. Access links count with their whole rate.",
)
@click.option("--flows", "groups", multiple=True, metavar="GROUP", help="Only the flows of this group. Repeatable.")
@options.overrides()
@options.as_json()
def allocation_command(
    scenario: str, headroom: Fraction, groups: tuple[str, ...], overrides: tuple[str, ...], as_json: bool
) -> None:
    """What each flow of a scenario should get: max-min fair, first green, then yellow, then red.

    Committed and peak rates are those of the flows' conditioners. A flow without a conditioner shares only
    the red rate.
    """
    from tailback.cli import source

    scenario_read = source.read(scenario, overrides)
    shares, demands = asked(lambda: of_scenario(scenario_read, headroom, groups))
    if as_json:
        rows = [
            {"flow": name, **{f"{c}_bps": float(getattr(s, c)) for c in ("green", "yellow", "red", "total")}}
            for name, s in shares.items()
        ]
        click.echo(json_text({"headroom": float(headroom), "flows": rows}, indent=2))
        return
    click.echo(f"headroom {float(headroom):g}: the rate of a link is divided by this\n")
    _print_shares(shares, demands)


def of_scenario(
    scenario: Any, headroom: Fraction = HEADROOM, groups: tuple[str, ...] = ()
) -> tuple[dict[str, Share], dict[str, Demand]]:
    """The shares of a scenario's flows, with their promised rates. Rates are those at the start."""
    from tailback import _core

    routes = _core.routes(scenario)
    names = list(dict.fromkeys(group for _, group, *_ in routes))
    for group in groups:
        if group not in names:
            raise PredictError(f'the scenario has no flows "{group}"; give one of {", ".join(names)}')
    links: dict[str, Fraction] = {}
    flows = {}
    for name, group, ports, rates in routes:
        if groups and group not in groups:
            continue
        links |= {port: Fraction(rate) for port, rate in ports}
        committed_bps, peak = rates or (0, 0)
        flows[name] = Demand(tuple(port for port, _ in ports), Fraction(committed_bps), Fraction(peak))
    declared_links = {row["name"] for row in scenario.spec["links"]}
    whole_ports = [port for port in links if port not in declared_links]
    return allocate(links, flows, headroom=headroom, whole=whole_ports), flows


def _print_shares(shares: dict[str, Share], promised: dict[str, Demand]) -> None:
    """One line for the flows of a group that get the same rates."""
    from tailback.core.text.terminal import columns

    alike: dict[tuple[Any, ...], int] = defaultdict(int)
    for name, share in shares.items():
        demand = promised[name]
        alike[name.rpartition(".")[0], demand.committed, demand.peak, share] += 1
    lines: list[tuple[str, ...]] = [
        ("group", "flows", "r1", "r2", "green", "yellow", "red", "total"),
        ("", "", *["Mb/s"] * 6),
    ]
    for (group, committed, peak, share), count in alike.items():
        numbers = (committed, peak, share.green, share.yellow, share.red, share.total)
        lines.append((group, str(count), *(f"{float(x) / 1e6:.6g}" for x in numbers)))
    click.echo("\n".join(columns(lines, right=range(1, 8))))
