"""`tailback describe` and `tailback schema`: the reference of models, and the schema of scenarios."""

from __future__ import annotations

import json

import click

from tailback.cli import options
from tailback.core.text.json_text import json_text


@click.command()
@click.argument("name", required=False)
@options.as_json()
@click.option("--markdown", is_flag=True, help="Print the whole reference in Markdown.")
def describe(name: str | None, as_json: bool, markdown: bool) -> None:
    """Explain a model: what it does, its parameters with ranges, defaults and sources, and its probes.

    Without NAME, list all models.
    """
    from tailback import _core

    if markdown and (as_json or name is not None):
        raise click.UsageError("--markdown is the whole reference; leave the name and --json out, or --markdown")
    if markdown:
        click.echo(_core.reference_markdown(), nl=False)
        return
    try:
        click.echo(_core.describe_json(name) if as_json else _core.describe_text(name).rstrip("\n"))
    except ValueError as e:
        raise click.UsageError(str(e)) from e


@click.command()
def schema() -> None:
    """Print the JSON schema of scenarios.

    With the schema an editor completes and checks a scenario while you write it. In a TOML file, write
    `#:schema ./schema.json` as the first line.
    """
    from tailback import _core

    click.echo(json_text(json.loads(_core.schema_json()), indent=2, ascii=False))
