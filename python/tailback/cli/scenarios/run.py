"""`tailback run` and `tailback check`: run a scenario file, or only read it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from tailback.cli import options, pasted


@click.command()
@click.argument("file")
@options.overrides()
@pasted.queue()
@options.seed("Seed of the first run.  [default: the scenario's]")
@options.replications("Number of runs, each with the next seed.")
@options.out("Folder for tables (Parquet), scenario.toml and manifest.json. Stored runs are not run again.")
@options.check_laws()
@options.as_json()
@options.jobs
@options.memory
def run(
    file: str,
    overrides: tuple[str, ...],
    queue: str | None,
    seed: int | None,
    replications: int,
    out: str | None,
    check_laws: bool,
    as_json: bool,
    jobs: int,
) -> None:
    """Run the scenario in FILE and show the results.

    FILE is TOML, or JSON if its name ends in .json, or the name of an example; - is standard input.
    """
    from tailback.cli.errors import Failure, os_message, running, say
    from tailback.core.results.document import bytes_of, parts
    from tailback.core.scenario.settled import sentences
    from tailback.core.text import room
    from tailback.runs.campaign.left import leave
    from tailback.runs.campaign.plan import Plan
    from tailback.runs.result import execute, failure_text

    texts = [*overrides, *([f"seed={seed}"] if seed is not None else [])]
    scenario = pasted.scenario(file, texts, queue)
    options.check_seeds(scenario.seed, replications)
    for sentence in sentences(scenario):
        say(f"note: {sentence}")
    with running(out) as progress:
        command = ["tailback", *sys.argv[1:]]
        result = execute(scenario, replications, jobs, out, progress, command=command, check_laws=check_laws)
    if result.failure is not None:
        law_findings = (
            leave(Plan([({}, scenario)], replications), result.results, Path(out or ".")) if check_laws else ""
        )
        raise Failure(failure_text(result) + law_findings)
    if as_json:
        room.promise_bytes(bytes_of(result.results), "the document", "--out DIR and tailback export")
        for part in parts(result):
            click.echo(part, nl=False)
        click.echo()
    else:
        click.echo(result.summary())
    if result.store_error is not None:
        # The computed results have been shown, and the results that were stored before are still there.
        failure = os_message(result.store_error)
        raise Failure(f"results cannot be stored in {out}: {failure}" if out else failure)
    if out and not as_json:
        click.echo(f"\nstored in {os.path.relpath(out) if not os.path.isabs(out) else out}")


@click.command()
@click.argument("file")
@options.overrides()
@pasted.queue()
@options.memory
def check(file: str, overrides: tuple[str, ...], queue: str | None) -> None:
    """Read the scenario in FILE (- for standard input) and say what is wrong with it, without running it.

    A correct scenario prints `ok` and gives exit status 0; warnings go to standard error. A wrong one gives exit
    status 2 and says what to write instead.
    """
    from tailback.cli.errors import say
    from tailback.core.scenario import loads
    from tailback.core.scenario.marking import by_default
    from tailback.core.scenario.settled import sentences
    from tailback.runs.campaign import memory

    scenario = pasted.scenario(file, overrides, queue)
    for warning in scenario.warnings:
        say(f"warning: {warning}")
    if memory_warning := memory.warning(scenario):
        say(f"warning: {memory_warning}")
    for sentence in sentences(scenario):
        say(f"note: {sentence}")
    for sentence in loads.sentences(scenario):
        say(f"note: {sentence}")
    if marks := by_default(scenario):
        say(f"note: {marks}")
    click.echo("ok")
