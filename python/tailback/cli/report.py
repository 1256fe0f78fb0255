"""`tailback report`: the report of a folder of results."""

from __future__ import annotations

import click

from tailback.report import ReportError, write


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False))
def report(folder: str) -> None:
    """Write the report of a folder of results: one HTML file that needs no network."""
    try:
        click.echo(str(write(folder)))
    except (ReportError, FileNotFoundError) as e:
        raise click.UsageError(str(e)) from e


def register(group: click.Group) -> None:
    group.add_command(report)
