"""`tailback compare`: which queue for a link."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import click

from tailback.cli import options
from tailback.text.json_text import json_text


def _list(_ctx: click.Context, _param: click.Parameter, value: str | None) -> list[str] | None:
    """Values between commas."""
    return None if value is None else [part.strip() for part in value.split(",") if part.strip()]


@click.command()
@click.option("--rate", required=True, metavar="RATE", help="Rate of the link: 50Mbps.")
@click.option(
    "--rtt", required=True, metavar="TIME[,...]", callback=_list, help="Round trip with empty queues: 40ms; or several."
)
@click.option("--flows", type=int, default=16, show_default=True, help="Number of long transfers.")
@click.option(
    "--buffer",
    metavar="SIZE",
    help='Buffer of every discipline: "500 packets" or 750KB.  [default: one rate-delay product]',
)
@click.option(
    "--traffic",
    metavar="KIND[,...]",
    callback=_list,
    help="Kinds of traffic: bulk, web, voice, unresponsive.  [default: all four]",
)
@click.option(
    "--senders",
    metavar="NAME[,...]",
    callback=_list,
    help="Congestion controls of the transfers.  [default: cubic,bbr]",
)
@click.option(
    "--queue",
    "queues",
    multiple=True,
    metavar="NAME[,...]",
    help='Disciplines by name, or one as a table, { kind = "red", ecn = true }. Repeatable.  '
    "[default: droptail,red,codel,pie,fq-codel,fq-pie,cake,qsdrr; with --ecn also dualpi2]",
)
@click.option("--packet", default="1500B", show_default=True, metavar="SIZE", help="Largest packet on the wire.")
@click.option("--ecn/--no-ecn", default=None, help="Use ECN at hosts, and mark at queues.  [default: no-ecn]")
@options.replications("Number of seeds.", default=5)
@options.seed("First seed.", default=1)
@click.option("--duration", metavar="TIME", help="Length of a run.  [default: what the link needs]")
@options.jobs
@options.out("Folder for compare.html with figures, and for the runs.")
@options.as_json()
@options.memory
def compare(rate: str, rtt: list[str], flows: int, queues: tuple[str, ...], as_json: bool, **about: Any) -> None:
    """Say which queue discipline serves a link best, by which measures, and which differences are not significant.

    The same traffic with the same seeds goes through every discipline. Each discipline has the parameters that its
    guideline gives for the link.

    \b
        tailback compare --rate 50Mbps --rtt 40ms --flows 16
        tailback compare --rate 10Mbps --rtt 20ms,80ms,200ms --queue droptail,cake --out out/mine
    """

    from tailback.cli.errors import Failure, all_there, os_message, running
    from tailback.comparison import LinkError, link
    from tailback.comparison.answer import Trial, answer
    from tailback.result import RunError
    from tailback.text.plain import command_line

    trial = Trial(
        **{name: about.pop(name) for name in ("replications", "seed", "duration", "jobs", "out")},
        command=" ".join(command_line(["tailback", *sys.argv[1:]])),
    )
    options.check_seeds(trial.seed, trial.replications)
    out = trial.out
    try:
        asked = link(rate, rtt, flows, **about)
        with running(out) as progress:
            found = answer(asked, _queues(queues) or None, replace(trial, progress=progress))
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
    click.echo(found.text())
    click.echo(
        f"\nthe page is {page}" if page else "\n--out DIR writes a page with figures, parameters and their reasons"
    )


def _as_options(message: str) -> str:
    """The message with its first word as the name of an option: `rate` becomes `--rate`."""
    import re

    return re.sub(r"^[a-z]+(?= = |: )", lambda name: f"--{name[0]}", message)


def _queues(given: tuple[str, ...]) -> list[Any]:
    """Names between commas, and tables."""
    import tomllib

    from tailback.comparison import LinkError

    found: list[Any] = []
    for text in given:
        if text.lstrip().startswith("{"):
            try:
                found.append(tomllib.loads(f"queue = {text}")["queue"])
            except tomllib.TOMLDecodeError as e:
                raise LinkError(
                    f"queue = {text}: this is not a TOML table ({e}); write one such as "
                    '{ kind = "red", ecn = true }, with one --queue for each table'
                ) from e
        else:
            found += [name.strip() for name in text.split(",") if name.strip()]
    return found
