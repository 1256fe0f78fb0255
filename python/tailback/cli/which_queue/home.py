"""`tailback home`: what helps on a home line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tailback.cli.which_queue import questions

if TYPE_CHECKING:
    from tailback.apps.ask.trial import Trial


@click.command()
@click.option(
    "--measured",
    metavar="TEXT|FILE",
    help='Results of a speed test, "250/40, idle 18, down 240, up 190": Mb/s of goodput, and round trips in ms, idle '
    "and under load (or `down +222`, what is added).",
)
@click.option("--down", metavar="RATE", help="Download rate of the line: 100Mbps.")
@click.option("--up", metavar="RATE", help="Upload rate of the line: 20Mbps.")
@click.option("--rtt", metavar="TIME", help="Usual round trip with empty queues: 30ms.")
@click.option(
    "--as-given",
    is_flag=True,
    default=None,
    help="Take the rates as given although the upload is faster than the download.",
)
@click.option(
    "--people",
    metavar="TEXT",
    help='Who is behind the line, each on a host: "2 calls, 2 games, 3 readers, 1 backup, 1 download".',
)
@click.option(
    "--router",
    metavar="NAME|RATE",
    help="The router that shapes at home: a model whose limit is known, or the rate that it can shape, 200Mbps.",
)
@click.option(
    "--mine",
    metavar="FILE|-",
    help="Your present queue, to compare: a tc script, `tc qdisc show`, or an SQM block; - is standard input.",
)
@click.option(
    "--link",
    default="unknown",
    show_default=True,
    metavar="KIND",
    help="docsis (cable), vdsl, adsl, fibre, lte, satellite, ethernet or unknown.",
)
@click.option("--pppoe", is_flag=True, default=None, help="Packets have PPPoE headers.")
@click.option("--vlan", is_flag=True, default=None, help="Packets have a VLAN tag.")
@click.option(
    "--modem",
    metavar="TIME[,...]",
    help="Buffers at the provider and in the modem: a time at the line's rate, or a size; one value, or two for down "
    "and up.  [default: 250ms]",
)
@click.option(
    "--policer",
    metavar="SIZE[,...]",
    help="The provider polices the line: it drops packets above the rate, after a burst of this size: 250KB.",
)
@click.option(
    "--vpn",
    metavar="WHO",
    help="The end of the tunnel that carries the packets: router, or host (each host has its own).",
)
@click.option(
    "--hosts",
    type=int,
    help="Hosts behind the line, all active; they take the kinds of traffic in turn.  [default: one for each kind]",
)
@click.option(
    "--traffic",
    metavar="KIND[,...]",
    callback=questions.parts,
    help="Kinds of traffic: bulk, upload, web, call, video, game, rrul, rrul-be.  [default: bulk,web,call,game]",
)
@click.option(
    "--adapt",
    metavar="NAME",
    help="Calls also have video, and all video adapts by this rate control: gcc, nada, scream, or your own, "
    "mine.py:Class.  [default: audio alone]",
)
@click.option("--flows", "transfers", type=int, help="Number of long transfers in each direction.  [default: 4]")
@click.option(
    "--senders", "sender", metavar="NAME", default="cubic", show_default=True, help="Congestion control of all senders."
)
@click.option(
    "--queue",
    "queues",
    multiple=True,
    metavar="NAME[,...]",
    help='Disciplines by name; or one as a table, { kind = "cake", rtt = "30ms" }, or your own class, mine.py:Class. '
    "Repeatable.  [default: cake,fq-codel]",
)
@click.option(
    "--ecn/--no-ecn",
    default=None,
    help="Use ECN at hosts, and mark at queues.  [default: ecn if the sender needs marks, as dctcp and prague do]",
)
@click.option(
    "--share",
    metavar="PERCENT[,...]",
    help="The shaper's share of the line's rate; one value, or two for down and up.  [default: the best one]",
)
@click.option(
    "--varies",
    metavar="HOW",
    help="The line's rate varies: evening, lte, satellite, a range 50..200Mbps, or CSV files down.csv,up.csv.  "
    "[default: it does not]",
)
@questions.trial_options("what the phases need")
def home(as_json: bool, **about: Any) -> None:
    """Say what helps on a home line, what it costs, and which lines to paste.

    The line is loaded in phases; the modem alone is compared with shapers at home.

    \b
        tailback home --measured "250/40, idle 18, down 240, up 190" --link cable --out out/home
        tailback home --down 100Mbps --up 20Mbps --rtt 30ms --people "2 calls, 2 games, 3 readers, 1 backup"
    """
    questions.answer(about, as_json, _ask)


def _ask(about: dict[str, Any], trial: Trial) -> Any:
    from tailback.apps.ask.home.answer import answer
    from tailback.apps.ask.home.line import question

    queues, present_queue = questions.queues(about.pop("queues")), about.pop("mine")
    return answer(question(**questions.given(about)), queues or None, trial, present_queue)
