"""`tailback run`: run a scenario file."""

from __future__ import annotations

import os
import sys

import click

from tailback.cli.errors import folder, memory_option


@click.command()
@click.argument("file")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="PATH=VALUE",
    help="Change a value: link.bottleneck.rate=5Mbps. Repeatable.",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Seed of the first run.  [default: the scenario's]")
@click.option(
    "--replications",
    type=click.IntRange(1, 1_000_000),
    default=1,
    show_default=True,
    help="Number of runs, each with the next seed.",
)
@click.option(
    "--out",
    metavar="DIR",
    callback=folder,
    help="Folder for tables (Parquet), scenario.toml and manifest.json. Stored runs are not run again.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@click.option("--jobs", type=click.IntRange(0, 4096), default=0, show_default=True, help="Threads; 0 is all cores.")
@memory_option
def run(
    file: str,
    overrides: tuple[str, ...],
    seed: int | None,
    replications: int,
    out: str | None,
    as_json: bool,
    jobs: int,
) -> None:
    """Run the scenario in FILE and show the results.

    FILE is TOML, or JSON if its name ends in .json; - is standard input.
    """
    import json

    from tailback.campaign.progress import ProgressLine
    from tailback.cli.errors import Failure, Stopped, kept, os_message
    from tailback.cli.source import read
    from tailback.result import execute, failure_text

    texts = [*overrides, *([f"seed={seed}"] if seed is not None else [])]
    scenario = read(file, texts)
    if scenario.seed + replications > 2**63:
        raise click.UsageError("the last seed would be above 2^63; give a smaller --seed or fewer --replications")
    try:
        with ProgressLine() as progress:
            result = execute(scenario, replications, jobs, out, progress, command=["tailback", *sys.argv[1:]])
    except OSError as e:
        raise Failure(f"results cannot be stored in {out}: {os_message(e)}" if out else os_message(e)) from e
    except KeyboardInterrupt:
        raise Stopped(f"interrupted{kept(out)}") from None
    if result.failure is not None:
        raise Failure(failure_text(result))
    if as_json:
        click.echo(json.dumps(result.to_dict(), allow_nan=False))
    else:
        click.echo(result.summary())
    if result.store_error is not None:
        # What was computed has been shown; what was stored before is still there.
        why = os_message(result.store_error)
        raise Failure(f"results cannot be stored in {out}: {why}" if out else why)
    if out and not as_json:
        click.echo(f"\nstored in {os.path.relpath(out) if not os.path.isabs(out) else out}")


def register(group: click.Group) -> None:
    group.add_command(run)
