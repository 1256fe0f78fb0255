"""`tailback export`: a table of a folder of results as CSV or Parquet, the series of a flow as qlog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tailback.cli import options


@click.command()
@options.folder()
@click.argument("table")
@click.option(
    "--to",
    required=True,
    metavar="FILE",
    help="File to write, in the format of its ending: .csv or .parquet; for the series of a flow also .sqlog.",
)
@click.option("--means", is_flag=True, help="Average over seeds. NAME_ci95 is half of the 95 % interval of a mean.")
@click.option("--flow", metavar="GROUP.NUMBER", help="For .sqlog: the flow, such as bulk.0.")
@options.seed("For .sqlog: the seed of the run, if there are several.")
def export(folder: str, table: str, to: str, means: bool, flow: str | None, seed: int | None) -> None:
    """Write a TABLE (links, flows, ...) of the results in DIR to one file, for a spreadsheet or another program."""
    from tailback import _core
    from tailback.cli.source import results_folder
    from tailback.store.paths import write_csv

    if table not in _core.TABLES:
        raise click.UsageError(f"there is no table {table}; tables are {', '.join(_core.TABLES)}")
    path = Path(to)
    if path.suffix == ".sqlog" or flow is not None or seed is not None:
        if path.suffix != ".sqlog" or table != "series" or not flow or means:
            raise click.UsageError(
                "qlog has the series of a flow: `tailback export DIR series --flow bulk.0 --to FILE.sqlog`"
            )
        _qlog(results_folder(folder), path, flow, seed)
        click.echo(to)
        return
    if path.suffix not in (".csv", ".parquet"):
        raise click.BadParameter(f"{to} should end in .csv or .parquet", param_hint="--to")
    results = _core.read_results(results_folder(folder))
    found = getattr(results, table)
    if not means:
        if path.suffix == ".parquet":
            _core.write_parquet(found, path)
        else:
            write_csv(path, [found.columns, *(row.values() for row in found.rows())])
    elif path.suffix == ".parquet":
        raise click.BadParameter("means are written as .csv; `links.to_polars()` has more", param_hint="--to")
    else:
        rows = _means(results, found)
        names = list(dict.fromkeys(n for row in rows for n in row))
        write_csv(path, [names, *([row.get(n, "") for n in names] for row in rows)])
    click.echo(to)


def _qlog(folder: Path, path: Path, flow: str, seed: int | None) -> None:
    from tailback import _core
    from tailback.results.qlog import NoSeries, qlog
    from tailback.scenario.read import read

    if not (folder / "scenario.toml").is_file():
        raise click.UsageError(
            f"{folder} has no scenario.toml; qlog needs the results of one scenario, of `tailback run` or `live`"
        )
    results = _core.read_results(folder)
    runs = [r for r in results.runs.rows() if seed in (None, r["seed"])]
    if len(runs) != 1:
        seeds = sorted(r["seed"] for r in results.runs.rows())
        raise click.UsageError(f"give the run with --seed; there are the seeds {', '.join(map(str, seeds[:20]))}")
    groups = {g["name"]: g for g in read(folder / "scenario.toml", classes=True).spec["flows"]}
    group = groups.get(flow.rpartition(".")[0])
    if group is None:
        raise click.BadParameter(f"there is no group of {flow!r}; give one of {', '.join(groups)}", param_hint="--flow")
    run = runs[0]["run"], runs[0]["replication"]
    series, log = ((r for r in t.rows() if (r["run"], r["replication"]) == run) for t in (results.series, results.log))
    try:
        text = "".join(qlog(series, log, flow, group["segment_bytes"] or 1, folder.name))
    except NoSeries as e:
        raise click.UsageError(str(e)) from e
    path.write_text(text, encoding="utf-8")


def _means(results: Any, table: Any) -> list[dict[str, Any]]:
    from tailback.results.difference import TABLES
    from tailback.results.means import averages, finished, labels_of

    if table.name not in TABLES:
        raise click.UsageError(f"--means does not apply to the table {table.name}; it averages {', '.join(TABLES)}")
    return averages(table, [*labels_of(table), *TABLES[table.name]], runs=finished(results.runs))
