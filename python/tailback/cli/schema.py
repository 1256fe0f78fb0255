"""`tailback schema`: the JSON schema of scenarios."""

from __future__ import annotations

import json

import click


@click.command()
def schema() -> None:
    """Print the JSON schema of scenarios.

    With the schema an editor completes and checks a scenario while you write it. In a TOML file, write
    `#:schema ./schema.json` as the first line.
    """
    from tailback import _core

    click.echo(json.dumps(json.loads(_core.schema_json()), indent=2, ensure_ascii=False))


def register(group: click.Group) -> None:
    group.add_command(schema)
