"""`tailback demo`: shows the program in three pictures."""

from __future__ import annotations

import click

from tailback.cli import options


@click.command()
@options.out("Folder for demo.html, and for the results of each picture.  [default: out/demo]")
@options.seed("Seed of all runs.  [default: drawn anew, and printed]")
@options.jobs
@options.memory
def demo(out: str | None, seed: int | None, jobs: int) -> None:
    """Show in three pictures what a queue does, and what this program computes.

    A queue against time, the goodput of each flow, and the delay of a call, each under two or three disciplines, on one
    HTML page.
    """
    import secrets
    import sys
    from pathlib import Path

    from tailback.apps.demo import DemoOrder, Occupied, demonstrate
    from tailback.cli.errors import Failure, Stopped, all_there, running
    from tailback.runs.result import RunError

    out_folder = Path(out or "out/demo")
    # Short enough to be typed again.
    chosen = seed if seed is not None else secrets.randbelow(1_000_000)
    try:
        with running(out_folder) as progress:
            page = demonstrate(DemoOrder(out_folder, chosen, jobs, ["tailback", *sys.argv[1:]]), progress)
    except Occupied as e:
        raise click.BadParameter(str(e), param_hint="--out") from e
    except RunError as e:
        raise Failure(str(e)) from e
    except Stopped:
        raise Stopped(f"interrupted; `tailback demo --seed {chosen}` begins again with the same seed") from None
    all_there([page])
    click.echo(f"seed {chosen}; --seed {chosen} makes the same page again")
    click.echo(f"the page is {page}")
