"""`tailback home`: what helps on a home line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tailback.cli.which_queue import questions

if TYPE_CHECKING:
    from tailback.apps.ask.trial import Trial


@click.command()
@click.option("--down", required=True, metavar="RATE", help="Download rate: 100Mbps.")
@click.option("--up", required=True, metavar="RATE", help="Upload rate: 20Mbps.")
@click.option("--rtt", required=True, metavar="TIME", help="Usual round trip with empty queues: 30ms.")
@click.option(
    "--link",
    default="unknown",
    show_default=True,
    metavar="KIND",
    help="docsis, vdsl, adsl, fibre, ethernet or unknown.",
)
@click.option("--pppoe", is_flag=True, default=None, help="Packets have PPPoE headers.")
@click.option("--vlan", is_flag=True, default=None, help="Packets have a VLAN tag.")
@click.option(
    "--modem",
    metavar="TIME[,...]",
    help="What the provider and the modem let wait, as a time at the line's rate, or a size; or one down and one up.  "
    "[default: 250ms]",
)
@click.option("--hosts", type=int, default=5, show_default=True, help="Hosts behind the line.")
@click.option(
    "--traffic",
    metavar="KIND[,...]",
    callback=questions.parts,
    help="Kinds of traffic: bulk, upload, web, call, game, rrul, rrul-be.  [default: bulk,web,call,game]",
)
@click.option(
    "--flows", "transfers", type=int, default=4, show_default=True, help="Number of long transfers in each direction."
)
@click.option(
    "--senders", "sender", metavar="NAME", default="cubic", show_default=True, help="Congestion control of all senders."
)
@click.option(
    "--queue",
    "queues",
    multiple=True,
    metavar="NAME[,...]",
    help='Disciplines by name, one as a table, { kind = "cake", rtt = "30ms" }, or a class of yours, mine.py:Class. '
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
    help="The shaper's share of the line's rate; or one down and one up.  [default: 95%]",
)
@click.option(
    "--varies",
    metavar="HOW",
    help="The line's rate varies, as evening, lte or satellite, or after a CSV file.  [default: it does not]",
)
@questions.trial_options("what the phases need")
def home(as_json: bool, **about: Any) -> None:
    """Say what helps on a home line, what it costs, and which lines to paste.

    The line is loaded in phases; the modem alone is compared with shapers at home.

    \b
        tailback home --down 100Mbps --up 20Mbps --rtt 30ms --link docsis --out out/home
    """
    questions.answer(about, as_json, _ask)


def _ask(about: dict[str, Any], trial: Trial) -> Any:
    from tailback.apps.ask.home.answer import answer
    from tailback.apps.ask.home.line import question

    queues = questions.queues(about.pop("queues"))
    return answer(question(**questions.given(about)), queues or None, trial)
