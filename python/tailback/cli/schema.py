"""`tailback schema`: the JSON schema of scenarios."""

from __future__ import annotations

import json

import click

from tailback.text.json_text import json_text


@click.command()
def schema() -> None:
    """Print the JSON schema of scenarios.

    With the schema an editor completes and checks a scenario while you write it. In a TOML file, write
    `#:schema ./schema.json` as the first line.
    """
    from tailback import _core

    click.echo(json_text(json.loads(_core.schema_json()), indent=2, ascii=False))
