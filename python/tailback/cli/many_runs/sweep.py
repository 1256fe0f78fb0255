"""`tailback sweep`: run a sweep file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from tailback.cli import options
from tailback.core.text.plain import warn

#: The most points of a table on the terminal.
MOST_SHOWN = 40


@click.command()
@click.argument("file")
@options.out("Folder for the results. Stored runs are not run again.  [default: out/NAME]")
@options.jobs
@options.overrides("at every point")
@options.shard("--merge")
@click.option("--merge", is_flag=True, help="Make the tables from the runs that shards have stored. Runs nothing.")
@click.option("--dask", metavar="ADDRESS", help="Run on the dask cluster with this scheduler, such as tcp://HOST:8786.")
@click.option("--dry-run", is_flag=True, help="Estimate number of runs, time and size. Stores nothing.")
@click.option("--emit", type=click.Choice(["slurm"]), help="Print a batch file for a job array instead of running.")
@click.option(
    "--shards", type=click.IntRange(1, 100_000), default=16, show_default=True, help="With --emit: number of jobs."
)
@click.option(
    "--cpus", type=click.IntRange(1, 4096), default=4, show_default=True, help="With --emit: cores of each job."
)
@options.check_laws()
@options.as_json()
@options.memory
def sweep(file: str, out: str | None, jobs: int, overrides: tuple[str, ...], **how: Any) -> None:
    """Run the sweep in FILE (TOML): a scenario over axes, with several seeds at each point.

    A sweep that was stopped goes on where it stopped. Shards, dask and a plain run may be mixed; the finished tables
    have the same bytes.
    """
    from tailback.core.text.room import MemoryRefusal
    from tailback.runs.campaign.load import load_sweep

    _one_of(how)
    try:
        plan = load_sweep(file, overrides)
    except ValueError as e:
        if type(e).__name__ == "ScenarioError":
            raise
        raise click.UsageError(str(e)) from e
    out_folder = Path(out) if out else Path("out") / plan.name
    for w in dict.fromkeys(w for _, s in plan.points for w in s.warnings):
        warn(w)
    if how["emit"]:
        from tailback.runs.campaign.slurm import batch_file

        path = os.path.relpath(file)
        text = batch_file(
            path, str(out_folder), overrides, shards=how["shards"], cpus=how["cpus"], runs=len(plan), here=os.getcwd()
        )
        click.echo(text, nl=False)
    else:
        try:
            if how["dry_run"]:
                _dry_run(plan, out_folder, jobs, how["as_json"])
            else:
                _run(plan, out_folder, jobs, how)
        except MemoryRefusal:
            raise
        except ValueError as e:
            # An error that only a run can find is also about the file.
            raise click.UsageError(f"{file}: {e}") from e


def _one_of(how: dict[str, Any]) -> None:
    names = {"shard": "--shard", "merge": "--merge", "dask": "--dask", "dry_run": "--dry-run", "emit": "--emit"}
    options = [text for name, text in names.items() if how[name]]
    if how["emit"] and how["as_json"]:
        raise click.UsageError("--emit prints a batch file, not JSON; leave --json out")
    if how["check_laws"] and how["dask"]:
        raise click.UsageError("--check-laws is for runs on this machine; leave --dask out")
    if len(options) > 1:
        raise click.UsageError(f"{options[0]} and {options[1]} exclude each other; give one of them")


def _dry_run(made: Any, where: Path, jobs: int, as_json: bool) -> None:

    from tailback.core.text.json_text import json_text
    from tailback.runs.campaign.estimate import estimate

    if made.stop is not None:
        from tailback.runs.campaign.grow import check

        check(made.stop, made.points[0][1])
    forecast = estimate(made, where)
    if as_json:
        click.echo(json_text(forecast.as_dict()))
    else:
        click.echo("\n".join([f"{made.name}: {forecast.lines(jobs)[0]}", *forecast.lines(jobs)[1:]]))


def _run(made: Any, where: Path, jobs: int, how: dict[str, Any]) -> None:
    from tailback.cli.errors import Failure, os_message, running
    from tailback.core.store.keys import stored
    from tailback.runs.campaign.dask import WorkerError, client_of
    from tailback.runs.campaign.left import leave
    from tailback.runs.campaign.shards import MissingRuns
    from tailback.runs.campaign.sweep import How, execute

    stored_before = stored(where)
    client = None
    try:
        client = client_of(how["dask"]) if how["dask"] else None
        with running(where) as progress:
            command = ["tailback", *sys.argv[1:]]
            results = execute(
                made, where, How(jobs, progress, how["shard"], client, how["merge"], how["check_laws"], command)
            )
    except (ImportError, MissingRuns, WorkerError) as e:
        raise Failure(str(e)) from e
    finally:
        if client is not None:
            client.close()
    for path in results.damaged:
        warn(f"{path} is damaged; runs that need it are run again")
    if results.store_error is not None:
        raise Failure(f"results cannot be stored in {where}: {os_message(results.store_error)}")
    if how["shard"] is None and results.report["reused"]:
        # If a sweep grows or ran elsewhere, some of the runs that are stored now were not in the folder before.
        results.report["reused"] = len(stored_before & set(results.runs.to_list("key")))
    _say(made, results, where, how["shard"], how["as_json"])
    if results.failure is not None:
        f = results.failure
        sentence = leave(made.plan(), results, where) if how["check_laws"] and not how["shard"] else ""
        raise Failure(
            f"{results.report['failed']} runs failed, the first with seed {f['seed']}: {f['message']}{sentence}"
        )


def _say(made: Any, results: Any, where: Path, shard: tuple[int, int] | None, as_json: bool) -> None:
    from dataclasses import asdict

    from tailback.core.results.setting import among
    from tailback.core.text.json_text import json_text
    from tailback.runs.campaign.grow import reached

    report = dict(results.report)
    ends = reached(made.stop, results) if made.stop and not shard and not results.failure else []
    if as_json:
        points = {"points": [asdict(p) for p in ends]} if ends else {}
        click.echo(json_text({"name": made.name, "dir": str(where), **report, **points}))
        return
    runs, reused_runs = report.get("done", 0), report.get("reused", 0)
    counts = f"{runs} runs" + (f", {reused_runs} of them stored before" if reused_runs else "")
    if shard is not None:
        i, n = shard
        click.echo(f"shard {i} of {n}: {counts}; stored in {where}")
        click.echo(f"when all {n} are done: tailback sweep FILE --out {where} --merge")
        return
    for sentence in among(made.points):
        click.echo(sentence)
    click.echo(f"{made.name}: {len(made.points)} points, {counts}; stored in {where}")
    if ends:
        _say_ends(made, ends)


def _say_ends(made: Any, ends: list[Any]) -> None:
    """The result of each point; for many points, only those whose interval is too wide."""
    from tailback.core.text.terminal import columns
    from tailback.runs.campaign.grow import table

    unsettled_points = [p for p in ends if not p.enough]
    shown_points = ends if len(ends) <= MOST_SHOWN else unsettled_points[:MOST_SHOWN]
    if shown_points:
        names = len(shown_points[0].labels)
        click.echo("")
        for line in columns(table(made.stop, shown_points), right=range(names, names + 4)):
            click.echo(line)
    if unsettled_points:
        click.echo(
            f"at {len(unsettled_points)} of them the interval of {made.stop.metric} is above the bound with "
            f"{made.stop.at_most} seeds; raise stop.at_most to allow more seeds"
        )
