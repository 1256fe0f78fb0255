"""`tailback compare`: which queue for a link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tailback.cli.which_queue import questions

if TYPE_CHECKING:
    from tailback.apps.ask.trial import Trial


@click.command()
@click.option("--rate", required=True, metavar="RATE", help="Rate of the link: 50Mbps.")
@click.option(
    "--rtt",
    metavar="TIME[,...]",
    callback=questions.parts,
    help="Round trip with empty queues: 40ms; or several. In a fabric: the round trip of the longest path.  [default: "
    "none; in a fabric 1us a link]",
)
@click.option("--flows", type=int, help="Number of long transfers over the link.  [default: 16]")
@click.option(
    "--fabric",
    metavar="KIND",
    help="Ask for all ports of a fabric, leaf-spine or fat-tree, whose hosts send flows to one another.",
)
@click.option(
    "--load",
    type=float,
    metavar="SHARE",
    help="In a fabric: payload, as a share of the rate of the hosts' links.  [default: 0.5]",
)
@click.option(
    "--traffic",
    metavar="KIND[,...]",
    callback=questions.parts,
    help="bulk, web, voice, unresponsive, video, incast; in a fabric web-search, data-mining, incast.  [default: the "
    "first four; with dctcp bulk,incast; in a fabric web-search,incast]",
)
@click.option(
    "--adapt",
    metavar="NAME",
    help="The call in the traffic `voice` also has video, and all video adapts by this rate control: gcc, nada, "
    "scream, or your own, mine.py:Class.  [default: audio alone]",
)
@click.option(
    "--senders",
    metavar="NAME[,...]",
    callback=questions.parts,
    help="Congestion controls of the transfers; also your own control or transport, mine.py:Class.  [default: "
    "cubic,bbr; in a fabric dctcp]",
)
@click.option(
    "--queue",
    "queues",
    multiple=True,
    metavar="NAME[,...]",
    help='Disciplines by name; or one as a table, { kind = "red", ecn = true }, as a line of tc, a file of such lines, '
    "or a block of SQM (- is standard input). Repeatable.  [default: "
    "droptail,red,codel,pie,fq-codel,fq-pie,cake,qsdrr; with ECN also dualpi2; with dctcp what a switch has]",
)
@click.option(
    "--ecn/--no-ecn",
    default=None,
    help="Use ECN at hosts, and mark at queues.  [default: ecn if a sender needs marks, as dctcp and prague do]",
)
@click.option(
    "--buffer",
    metavar="SIZE",
    help='Buffer of every discipline, "500 packets" or 750KB.  [default: one rate-delay product; with dctcp 1/24 of '
    "4MB]",
)
@click.option("--packet", metavar="SIZE", help="Largest packet on the wire.  [default: 1500B]")
@questions.trial_options("what the link needs")
def compare(as_json: bool, **about: Any) -> None:
    """Say which queue discipline serves a link best.

    The same traffic with the same seeds goes through every discipline. `tailback home` asks what helps on a home line.

    \b
        tailback compare --rate 50Mbps --rtt 40ms --flows 16
        tailback compare --rate 10Mbps --rtt 20ms,80ms,200ms --queue droptail,cake --out out/mine
        tailback compare --rate 10Gbps --rtt 100us --senders dctcp
        tailback compare --rate 10Gbps --senders dctcp --fabric leaf-spine
    """
    questions.answer(about, as_json, _ask, opens=True)


def _ask(about: dict[str, Any], trial: Trial) -> Any:
    from tailback.apps.ask.link import link
    from tailback.apps.ask.link.answer import answer

    queues = questions.queues(about.pop("queues"), pastes=True)
    return answer(link(**questions.given(about)), queues or None, trial)
