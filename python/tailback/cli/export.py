"""`tailback export`: a table of a folder of results as CSV or Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tailback.cli import options


@click.command()
@options.folder()
@click.argument("table")
@click.option(
    "--to", required=True, metavar="FILE", help="File to write, in the format of its ending: .csv or .parquet."
)
@click.option("--means", is_flag=True, help="Average over seeds. NAME_ci95 is half of the 95 % interval of a mean.")
def export(folder: str, table: str, to: str, means: bool) -> None:
    """Write a TABLE (links, flows, ...) of the results in DIR to one file, for a spreadsheet or another program."""
    from tailback import _core
    from tailback.cli.source import results_folder
    from tailback.store.paths import write_csv

    if table not in _core.TABLES:
        raise click.UsageError(f"there is no table {table}; tables are {', '.join(_core.TABLES)}")
    path = Path(to)
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


def _means(results: Any, table: Any) -> list[dict[str, Any]]:
    from tailback.results.difference import TABLES
    from tailback.results.means import averages, finished, labels_of

    if table.name not in TABLES:
        raise click.UsageError(f"--means does not apply to the table {table.name}; it averages {', '.join(TABLES)}")
    return averages(table, [*labels_of(table), *TABLES[table.name]], runs=finished(results.runs))
