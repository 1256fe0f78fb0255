"""`tailback compare`: which queue for a link, and what helps on a home line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tailback.cli import options
from tailback.text.json_text import json_text

if TYPE_CHECKING:
    from tailback.campaign.progress import ProgressLine
    from tailback.comparison.answer import Trial


def _list(_ctx: click.Context, _param: click.Parameter, value: str | None) -> list[str] | None:
    """Values between commas."""
    return [part.strip() for part in value.split(",") if part.strip()] if value is not None else None


#: Options that only one of the two questions has.
LINK_ONLY = ("buffer", "packet")
HOME_ONLY = ("hosts", "link", "pppoe", "vlan", "modem", "share", "varies")


@click.command()
@click.option("--rate", metavar="RATE", help="Rate of the link: 50Mbps. Or give --down and --up.")
@click.option("--down", metavar="RATE", help="Download rate of a home line: 100Mbps.")
@click.option("--up", metavar="RATE", help="Upload rate of a home line: 20Mbps.")
@click.option(
    "--rtt", required=True, metavar="TIME[,...]", callback=_list, help="Round trip with empty queues: 40ms; or several."
)
@click.option("--flows", type=int, help="Number of long transfers.  [default: 16; on a home line 4 in each direction]")
@click.option(
    "--traffic",
    metavar="KIND[,...]",
    callback=_list,
    help="Kinds of traffic: bulk, web, voice, unresponsive, incast.  [default: the first four; with dctcp bulk, "
    "incast]  On a home line: bulk, upload, web, "
    "call, game, rrul, rrul-be.  [default: bulk,web,call,game]",
)
@click.option(
    "--senders",
    metavar="NAME[,...]",
    callback=_list,
    help="Congestion controls of the transfers; for a link also one of yours, mine.py:Class.  [default: "
    "cubic,bbr; on a home line cubic]",
)
@click.option(
    "--queue",
    "queues",
    multiple=True,
    metavar="NAME[,...]",
    help='Disciplines by name, or one as a table, { kind = "red", ecn = true }; on a home line also a class of yours, '
    "mine.py:Class. Repeatable.  [default: droptail,red,codel,pie,fq-codel,fq-pie,cake,qsdrr; with ECN also dualpi2; "
    "with dctcp what a switch has; "
    "on a home line cake,fq-codel]",
)
@click.option(
    "--ecn/--no-ecn",
    default=None,
    help="Use ECN at hosts, and mark at queues.  [default: ecn if a sender needs marks, as dctcp and prague do]",
)
@click.option(
    "--buffer",
    metavar="SIZE",
    help='Of a link: buffer of every discipline, "500 packets" or 750KB.  [default: one rate-delay product; with dctcp '
    "1/24 of 4MB]",
)
@click.option("--packet", metavar="SIZE", help="Of a link: largest packet on the wire.  [default: 1500B]")
@click.option("--hosts", type=int, help="Home line: hosts behind it.  [default: 5]")
@click.option(
    "--link", metavar="KIND", help="Home line: docsis, vdsl, adsl, fibre, ethernet or unknown.  [default: unknown]"
)
@click.option("--pppoe", is_flag=True, default=None, help="Home line: packets have PPPoE headers.")
@click.option("--vlan", is_flag=True, default=None, help="Home line: packets have a VLAN tag.")
@click.option(
    "--modem",
    metavar="TIME[,...]",
    help="Home line: what the provider and the modem let wait, as a time at the line's rate, or a size; or one down "
    "and one up.  [default: 250ms]",
)
@click.option(
    "--share",
    metavar="PERCENT[,...]",
    help="Home line: the shaper's share of the line's rate; or one down and one up.  [default: 95%]",
)
@click.option(
    "--varies",
    metavar="HOW",
    help="Home line: its rate varies, as evening, lte or satellite, or after a CSV file.  [default: it does not]",
)
@options.replications("Number of seeds.", default=5)
@options.seed("First seed.", default=1)
@click.option("--duration", metavar="TIME", help="Length of a run.  [default: what the link needs]")
@options.jobs
@options.out("Folder for the page with figures, and for the runs.")
@options.as_json()
@options.memory
def compare(as_json: bool, **about: Any) -> None:
    """Say which queue discipline serves a link best, or what helps on a home line.

    With --rate, the same traffic with the same seeds goes through every discipline of a link. With --down and --up,
    a home line is loaded in phases; the modem alone is compared with shapers at home, and the answer has the lines to
    paste.

    \b
        tailback compare --rate 50Mbps --rtt 40ms --flows 16
        tailback compare --rate 10Mbps --rtt 20ms,80ms,200ms --queue droptail,cake --out out/mine
        tailback compare --rate 10Gbps --rtt 100us --senders dctcp
        tailback compare --down 100Mbps --up 20Mbps --rtt 30ms --link docsis --out out/home
    """

    from tailback.cli.errors import Failure, all_there, os_message, running
    from tailback.comparison import LinkError
    from tailback.comparison.answer import Trial
    from tailback.result import RunError
    from tailback.text.plain import command_line

    trial = Trial(
        **{name: about.pop(name) for name in ("replications", "seed", "duration", "jobs", "out")},
        command=" ".join(command_line(["tailback", *sys.argv[1:]])),
        say=None if as_json else _say,
    )
    options.check_seeds(trial.seed, trial.replications)
    out = trial.out
    at_home = _at_home(about)
    try:
        with running(out) as progress:
            found = (_home if at_home else _link)(about, trial, progress)
    except LinkError as e:
        raise click.UsageError(_as_options(str(e))) from e
    except RunError as e:
        raise Failure(str(e)) from e
    try:
        page = found.write_page(out) if out else None
    except OSError as e:
        raise Failure(f"the page cannot be written in {out}: {os_message(e)}") from e
    if page is not None:
        all_there([page, page.parent / "runs.parquet"])
    if as_json:
        click.echo(json_text(found.to_dict()))
        return
    click.echo(found.text() if at_home else found.text(opened=True))
    click.echo(
        f"\nthe page is {page}" if page else "\n--out DIR writes a page with figures, parameters and their reasons"
    )


def _say(question: str) -> None:
    """On standard output at once, also where that is a file."""
    click.echo(question)
    sys.stdout.flush()


def _at_home(about: dict[str, Any]) -> bool:
    """Which of the two questions this is; removes the options of the other. Raises UsageError."""
    rate, down, up = about["rate"], about["down"], about["up"]
    if not rate and not (down and up):
        missing = "--up" if down else "--down" if up else ""
        if missing:
            raise click.UsageError(f"{missing} is missing: a home line has a rate down and a rate up")
        raise click.UsageError("give --rate for a link, or --down and --up for a home line")
    if rate and (down or up):
        raise click.UsageError(
            "--rate is the rate of a link, --down and --up are those of a home line: give one of both"
        )
    other, words = (HOME_ONLY, "--down and --up") if rate else (LINK_ONLY, "--rate")
    given = next((name for name in other if about[name] is not None), None)
    if given == "buffer":
        raise click.UsageError("--buffer needs --rate; on a home line --modem is the buffer that is there")
    if given is not None:
        raise click.UsageError(f"--{given} needs {words}")
    gone = {*other, *(("down", "up") if rate else ("rate",))}
    for name in gone:
        del about[name]
    return not rate


def _given(about: dict[str, Any]) -> dict[str, Any]:
    """What is not left to the defaults."""
    return {name: value for name, value in about.items() if value is not None}


def _link(about: dict[str, Any], trial: Trial, progress: ProgressLine) -> Any:
    from dataclasses import replace

    from tailback.comparison import link
    from tailback.comparison.answer import answer

    queues = _queues(about.pop("queues"))
    asked = link(**{"flows": 16, **_given(about)})
    return answer(asked, queues or None, replace(trial, progress=progress))


def _home(about: dict[str, Any], trial: Trial, progress: ProgressLine) -> Any:
    from dataclasses import replace

    from tailback.comparison import LinkError
    from tailback.home.answer import answer
    from tailback.home.line import question

    queues = _queues(about.pop("queues"))
    rtts, senders = about.pop("rtt"), about.pop("senders")
    if len(rtts) != 1:
        raise LinkError(f"rtt = {','.join(rtts)}: a home line has one round trip, such as 30ms")
    if senders is not None and len(senders) != 1:
        raise LinkError(f"senders = {','.join(senders)}: on a home line all senders are the same; name one")
    given = _given({"transfers": about.pop("flows"), "sender": senders[0] if senders else None, **about})
    return answer(question(rtt=rtts[0], **given), queues or None, replace(trial, progress=progress))


def _as_options(message: str) -> str:
    """The message with its first word as the name of an option: `rate` becomes `--rate`."""
    import re

    return re.sub(r"^[a-z]+(?= = |: )", lambda name: f"--{name[0]}", message)


def _queues(given: Sequence[str]) -> list[Any]:
    """Names between commas, and tables."""
    import tomllib

    from tailback.comparison import LinkError
    from tailback.text import toml

    found: list[Any] = []
    for text in given:
        if text.lstrip().startswith("{"):
            try:
                found.append(toml.loads(f"queue = {text}")["queue"])
            except (tomllib.TOMLDecodeError, RecursionError) as e:
                raise LinkError(
                    f"queue = {text}: this is not a TOML table ({e}); write one such as "
                    '{ kind = "red", ecn = true }, with one --queue for each table'
                ) from e
        else:
            found += [name.strip() for name in text.split(",") if name.strip()]
    return found
