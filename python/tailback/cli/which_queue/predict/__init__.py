"""`tailback predict`: predictions of theory for a bottleneck."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from tailback.cli import options
from tailback.cli.which_queue.predict.arguments import asked, packet_bytes, print_table, quantity, round_trip
from tailback.cli.which_queue.predict.assured import allocation_command, redn_command
from tailback.cli.which_queue.predict.steady import red_command, tcp_command
from tailback.core.text.json_text import json_text
from tailback.core.theory.memory import memory, missed
from tailback.core.theory.predict import Qsdrr, TailDrop, qsdrr, tail_drop

F = TypeVar("F", bound=Callable[..., Any])


class _Models(click.Group):
    """The models; some have another name as a discipline."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            ctx.fail(_no_model(args[0], self.list_commands(ctx)))
        return super().resolve_command(ctx, args)


def _no_model(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    from tailback import _core

    queues = _core.models_meant("queue", name)
    near = ["tail-drop"] if queues == ["droptail"] else get_close_matches(name.lower(), known, 1)
    if near:
        return f"there is no model {name!r}; did you mean `tailback predict {near[0]}`?"
    problem = f"there is no model of {queues[0]}" if queues else f"there is no model {name!r}"
    return f"{problem}; models are {', '.join(known)}"


@click.group(cls=_Models)
def predict() -> None:
    """Show what theory predicts for a bottleneck, without simulating packets."""


def _options(f: F) -> F:
    for option in reversed(
        [
            click.option(
                "--flows", required=True, type=click.IntRange(1, 10_000_000), help="Number of long-lived flows."
            ),
            click.option("--rate", required=True, metavar="RATE", help="Rate of the bottleneck, such as 500Mbps."),
            click.option("--rtt", required=True, metavar="TIME", help="Round trip with an empty queue, such as 100ms."),
            click.option(
                "--buffer",
                "buffers",
                required=True,
                multiple=True,
                metavar="SIZE",
                help='Buffer, such as "1000 packets" or 1500KB. Repeatable.',
            ),
            click.option(
                "--packet", default="1500B", show_default=True, metavar="SIZE", help="Size of a packet on the wire."
            ),
            options.as_json(),
        ]
    ):
        f = option(f)
    return f


def _read(rate: str, rtt: str, buffers: tuple[str, ...], packet: str) -> tuple[float, float, list[float]]:
    """Packets a second, round trip in seconds, buffers in packets."""
    from tailback import _core

    size = packet_bytes(packet)
    c = quantity("rate", _core.parse_rate, rate) / 8 / size
    tau = round_trip(rtt)
    in_packets = []
    for text in buffers:
        amount, unit = quantity("buffer", _core.parse_size, text)
        if amount is None:
            raise click.BadParameter(
                "an unlimited buffer never overflows; give packets or bytes", param_hint="--buffer"
            )
        in_packets.append(amount / size if unit == "bytes" else float(amount))
    return c, tau, in_packets


@predict.command("tail-drop")
@_options
@click.option(
    "--hit-share",
    type=float,
    default=0.7,
    show_default=True,
    help="Share of the flows that lose a packet at an overflow, 0.5 to 1.",
)
@click.option("--series", is_flag=True, help="Also print the queue against time, over one cycle.")
def tail_drop_command(
    flows: int,
    rate: str,
    rtt: str,
    buffers: tuple[str, ...],
    packet: str,
    as_json: bool,
    hit_share: float,
    series: bool,
) -> None:
    """Queue drop and cycle of drop-tail with long-lived Reno flows of one round trip.

    At an overflow a share of the flows halve their windows, and the queue falls by the queue drop. Then it grows by one
    packet per flow and round trip until it is full: this is one cycle. If the buffer is too small, the queue runs empty
    and the line is idle for part of each cycle.
    """
    c, tau, sizes = _read(rate, rtt, buffers, packet)
    models = asked(lambda: [tail_drop(flows, c, tau, b, hit_share) for b in sizes])
    if as_json:
        _print_json("tail-drop", models, series)
        return
    m = models[0]
    click.echo(
        f"Drop-tail, {flows} flows at {rate} ({c:,.1f} packets/s), round trip {rtt}, {hit_share:g} of the flows hit"
    )
    click.echo(f"Window that fills the empty pipe: {m.window_empty:.2f} packets a flow\n")
    lines: list[tuple[str, ...]] = [
        ("buffer", "window", "queue after", "queue drop", "cycle", "utilisation"),
        ("packets", "packets", "packets", "packets", "s", "%"),
    ]
    for m in models:
        lines.append(
            (
                f"{m.buffer_packets:g}",
                f"{m.window_full:.2f}",
                f"{m.queue_after:.1f}",
                f"{m.queue_drop:.1f}",
                f"{m.cycle_s:.3f}",
                f"{100 * m.utilisation:.1f}",
            )
        )
    print_table(lines)
    if any(m.underflow for m in models):
        click.echo('\n"queue after" below zero: the queue runs empty, and the line is idle for that time.')
    if series:
        _print_series(models)


@predict.command("qsdrr")
@_options
@click.option("--series", is_flag=True, help="Also print the queue against time, over one cycle.")
def qsdrr_command(
    flows: int, rate: str, rtt: str, buffers: tuple[str, ...], packet: str, as_json: bool, series: bool
) -> None:
    """How many flows QSDRR hits at the first overflow in congestion avoidance, and how far the queue then falls.

    Regime 1: queues are so long that the first victim loses 1 packet, the next 2, then 3, and so on. Regime
    2: each victim loses its whole queue. Regime 3: there are fewer packets than queues.
    """
    c, tau, sizes = _read(rate, rtt, buffers, packet)
    models = asked(lambda: [qsdrr(flows, int(b), c, tau) for b in sizes])
    if as_json:
        _print_json("qsdrr", models, series)
        return
    click.echo(f"QSDRR, {flows} flows at {rate} ({c:,.1f} packets/s), round trip {rtt}\n")
    lines: list[tuple[str, ...]] = [
        ("buffer", "flows hit", "regime", "queue drop", "cycle"),
        ("packets", "", "", "packets", "s"),
    ]
    for m in models:
        drop, cycle = ("-", "-") if m.queue_drop is None else (f"{m.queue_drop:.1f}", f"{m.cycle_s:.3f}")
        lines.append((f"{m.buffer_packets:g}", str(m.victims), str(m.regime), drop, cycle))
    print_table(lines)
    if any(m.queue_drop is None for m in models):
        click.echo("\nNo queue drop: so few flows are hit that the queue overflows again in the next round trip.")
    if series:
        _print_series(models)


def _print_json(model: str, found: Sequence[TailDrop | Qsdrr], series: bool) -> None:
    rows = []
    for m in found:
        row, line = m.as_dict(), m.level() if series else None
        if line is not None:
            row["time_s"], row["queue_packets"] = line
        rows.append(row)
    click.echo(json_text({"model": model, "rows": rows}))


def _print_series(models: Sequence[TailDrop | Qsdrr]) -> None:
    for m in models:
        level = m.level()
        if level is None:
            continue
        click.echo(f"\nbuffer {m.buffer_packets:g} packets: time (s), queue (packets)")
        print_table([(f"{t:.4f}", f"{q:.1f}") for t, q in zip(*level, strict=True)])


@predict.command("memory")
@click.option("--flows", required=True, type=click.IntRange(1, 10**9), help="Number of flows.")
@click.option("--queues", required=True, type=click.IntRange(1, 10**8), help="Number of queues that they share.")
@click.option("--groups", type=click.IntRange(1, 10**9), help="Number of Bloom-filter groups.  [default: 10 per queue]")
@click.option(
    "--filter-bits", type=click.IntRange(1, 10**6), help="Bits of a filter.  [default: enough to miss 1 % of flows]"
)
@click.option("--counter-bits", type=click.IntRange(1, 64), help="Bits of a counter.  [default: 3 x the mean]")
@options.as_json()
def memory_command(
    flows: int,
    queues: int,
    groups: int | None,
    filter_bits: int | None,
    counter_bits: int | None,
    as_json: bool,
) -> None:
    """Memory of Bloom-filter groups, compared with a table of all flows.

    \b
    tailback predict memory --flows 100000 --queues 2000 --filter-bits 50
    """
    m = memory(flows, groups or 10 * queues, queues, filter_bits, counter_bits)
    if as_json:
        click.echo(json_text(m.as_dict(), indent=2))
        return
    e = m.flows / m.groups
    lines = [
        (f"a queue a flow: {m.flows:,} flows", m.per_flow_bytes),
        (f"{m.groups:,} groups of {m.filter_bits} + {m.counter_bits} bits", m.groups_bytes),
        (f"{m.queues:,} queues", m.queues_bytes),
        ("groups, as published", m.published_bytes),
        ("with queue and packet count of each group", m.complete_bytes),
    ]
    for title, n in lines:
        ratio = f"   1 : {m.per_flow_bytes / n:.1f}" if title.startswith(("groups,", "with")) else ""
        click.echo(f"{title:44}{n:>14,} B{ratio}")
    click.echo(f"a filter misses {100 * missed(m.filter_bits / e):.2g} % of the flows of a group of the mean size")


predict.add_command(red_command)
predict.add_command(tcp_command)
predict.add_command(redn_command)
predict.add_command(allocation_command)
