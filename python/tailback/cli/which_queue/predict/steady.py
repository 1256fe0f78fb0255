"""`tailback predict red` and `tailback predict tcp`: long-lived flows in the steady state."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, get_args

import click

from tailback.cli import options
from tailback.cli.which_queue.predict.arguments import asked, packet_bytes, print_table, quantity, round_trip
from tailback.core.text.json_text import json_text
from tailback.core.theory.steady import Ramp, Spacing, red_equilibrium, square_root, with_timeouts

F = TypeVar("F", bound=Callable[..., Any])


def _path(f: F) -> F:
    """The options of both commands."""
    for option in (
        options.as_json(),
        click.option(
            "--acked",
            default=1,
            show_default=True,
            type=click.IntRange(1, 64),
            help="Packets for each ACK; 2 with delayed ACKs.",
        ),
        click.option(
            "--packet", default="1500B", show_default=True, metavar="SIZE", help="Size of a packet on the wire."
        ),
        click.option("--rtt", required=True, metavar="TIME", help="Round trip with an empty queue, such as 100ms."),
    ):
        f = option(f)
    return f


def _probability(text: str) -> float:
    """A probability such as 0.01 or 1%."""
    match = re.fullmatch(r"\s*([0-9.eE+-]+)\s*(%?)\s*", text)
    try:
        if not match:
            raise ValueError
        return float(match[1]) / (100 if match[2] else 1)
    except ValueError:
        raise click.BadParameter(
            f"{text} is not a probability; write one such as 0.01 or 1%", param_hint="--loss"
        ) from None


@click.command("tcp")
@click.option(
    "--loss",
    "losses",
    required=True,
    multiple=True,
    metavar="P",
    help="Share of packets that are lost or marked, such as 1%. Repeatable.",
)
@_path
@click.option("--timeout", metavar="TIME", help="Retransmission timeout.  [default: 4 round trips]")
def tcp_command(losses: tuple[str, ...], rtt: str, packet: str, acked: int, as_json: bool, timeout: str | None) -> None:
    """What one long-lived Reno flow sends when a share of its packets is lost.

    The square-root law (Mathis et al. 1997) is congestion avoidance alone. The second column includes timeouts (Padhye
    et al. 1998; RFC 5348). For the law a mark counts as a loss.

    \b
    tailback predict tcp --loss 0.1% --loss 1% --rtt 40ms
    """
    from tailback import _core

    size, tau = packet_bytes(packet), round_trip(rtt)
    waits = quantity("timeout", _core.parse_time, timeout) if timeout else None
    rows = []
    for p in map(_probability, losses):
        law = asked(partial(square_root, p, tau, acked))
        slower = asked(partial(with_timeouts, p, tau, acked, waits))
        rows.append(
            {
                "loss": p,
                "window_packets": law * tau,
                "square_root_bps": 8 * size * law,
                "with_timeouts_bps": 8 * size * slower,
            }
        )
    if as_json:
        click.echo(json_text({"model": "tcp", "rows": rows}))
        return
    click.echo(f"One Reno flow, round trip {rtt}, packets of {packet}, an ACK for {acked}\n")
    lines = [("loss", "window", "square root", "with timeouts"), ("%", "packets", "Mbps", "Mbps")]
    for r in rows:
        lines.append(
            (
                f"{100 * r['loss']:.4g}",
                f"{r['window_packets']:.2f}",
                f"{r['square_root_bps'] / 1e6:.4g}",
                f"{r['with_timeouts_bps'] / 1e6:.4g}",
            )
        )
    print_table(lines)


def _declared() -> dict[str, Any]:
    """RED's parameters with their defaults."""
    from tailback import _core

    (red,) = json.loads(_core.describe_json("red"))
    return {
        p["name"]: json.loads(p["default"]) for p in red["parameters"] if p["name"] in ("max_probability", "gentle")
    }


@click.command("red")
@click.option(
    "--flows",
    "counts",
    required=True,
    multiple=True,
    type=click.IntRange(1, 10_000_000),
    help="Number of long-lived flows. Repeatable.",
)
@click.option("--rate", required=True, metavar="RATE", help="Rate of the bottleneck, such as 500Mbps.")
@click.option("--min-threshold", required=True, metavar="SIZE", help='RED\'s lower threshold, such as "20 packets".')
@click.option("--max-threshold", metavar="SIZE", help="RED's upper threshold.  [default: three times the lower one]")
@click.option("--max-probability", type=float, help="Signal probability at the upper threshold.  [default: RED's]")
@click.option(
    "--gentle/--not-gentle", default=None, help="Whether the probability has a second ramp.  [default: RED's]"
)
@click.option(
    "--spacing",
    type=click.Choice(get_args(Spacing)),
    default="wait",
    show_default=True,
    help="How signals are spaced: RED's `spread = false`, `wait = false` and `wait = true`.",
)
@_path
def red_command(
    counts: tuple[int, ...],
    rate: str,
    rtt: str,
    packet: str,
    acked: int,
    as_json: bool,
    min_threshold: str,
    max_threshold: str | None,
    max_probability: float | None,
    gentle: bool | None,
    spacing: Spacing,
) -> None:
    """The average queue at which RED and long-lived Reno flows agree (Firoiu and Borden 2000).

    At this queue, RED signals just the share of packets at which the flows fill the line by the square-root
    law. With few flows or a long round trip the average oscillates around this point, or the line is idle at
    times.

    \b
    tailback predict red --flows 10 --flows 20 --rate 10Mbps --rtt 100ms --min-threshold "20 packets"
    """
    from tailback import _core

    size = packet_bytes(packet)
    packets_per_s = quantity("rate", _core.parse_rate, rate) / 8 / size

    def threshold(option: str, text: str) -> float:
        amount, unit = quantity(option, _core.parse_size, text)
        if amount is None:
            raise click.BadParameter("give packets or bytes", param_hint=f"--{option}")
        return amount / size if unit == "bytes" else float(amount)

    tau = round_trip(rtt)
    lower = threshold("min-threshold", min_threshold)
    upper = threshold("max-threshold", max_threshold) if max_threshold else 3 * lower
    options = {"max_probability": max_probability, "gentle": gentle}
    values = _declared() | {name: value for name, value in options.items() if value is not None}
    ramp = asked(lambda: Ramp(lower, upper, spacing=spacing, **values))
    equilibria = [asked(partial(red_equilibrium, n, packets_per_s, tau, ramp, acked)) for n in counts]
    if as_json:
        click.echo(json_text({"model": "red", "rows": [e.as_dict() for e in equilibria]}))
        return
    click.echo(
        f"RED at {rate} ({packets_per_s:,.1f} packets/s), round trip {rtt}, thresholds {lower:g} and {upper:g}\n"
    )
    lines: list[Sequence[str]] = [
        ("flows", "average", "delay", "signalled", "window", "region"),
        ("", "packets", "ms", "%", "packets", ""),
    ]
    for e in equilibria:
        lines.append(
            (
                str(e.flows),
                f"{e.average:.1f}",
                f"{1e3 * e.queue_s:.1f}",
                f"{100 * e.signalled:.3g}",
                f"{e.window:.1f}",
                e.region,
            )
        )
    print_table(lines)
    if any(e.region == "beyond" for e in equilibria):
        click.echo('\n"beyond": the ramp ends before the flows slow down enough; the average swings around its end.')
    if any(e.timeouts for e in equilibria):
        click.echo("\nBelow a window of 4 packets losses lead to timeouts, and the queue is shorter than predicted.")
