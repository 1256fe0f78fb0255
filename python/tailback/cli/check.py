"""`tailback check`: is a scenario right, without running it."""

from __future__ import annotations

import click

from tailback.cli import options


@click.command()
@click.argument("file")
@options.overrides()
@options.memory
def check(file: str, overrides: tuple[str, ...]) -> None:
    """Read the scenario in FILE (- for standard input) and say what is wrong with it, without running it.

    A correct scenario prints `ok` and gives exit status 0; warnings go to standard error. A wrong one gives exit
    status 2 and says what to write instead.
    """
    from tailback.campaign import memory
    from tailback.cli.errors import say
    from tailback.cli.source import read
    from tailback.scenario.marking import by_default
    from tailback.scenario.settled import sentences

    scenario = read(file, list(overrides))
    for warning in scenario.warnings:
        say(f"warning: {warning}")
    if much := memory.warning(scenario):
        say(f"warning: {much}")
    for sentence in sentences(scenario):
        say(f"note: {sentence}")
    if marks := by_default(scenario):
        say(f"note: {marks}")
    click.echo("ok")
