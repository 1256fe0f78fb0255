"""`tailback export`: a table of results as CSV or Parquet, means for a paper, the series of a flow as qlog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tailback.cli import options
from tailback.core.text.whole import whole, write_text

_ENDINGS = (".csv", ".parquet", ".tex", ".md", ".sqlog")


@click.command()
@options.folder()
@click.argument("what", nargs=-1, required=True)
@click.option(
    "--to",
    required=True,
    metavar="FILE",
    help="File to write, in the format of its ending: .csv, .parquet, .tex, .md, .sqlog.",
)
@click.option("--means", is_flag=True, help="Average over seeds. NAME_ci95 is half of the 95 % interval of a mean.")
@click.option(
    "--where",
    multiple=True,
    metavar="LABEL=VALUE",
    help="Write only the points with this value of an axis. Repeatable.",
)
@click.option("--flow", metavar="GROUP.NUMBER", help="For .sqlog: the flow whose series are written, such as bulk.0.")
@options.seed("For .sqlog: the seed of the run, if there are several.")
def export(
    folder: str,
    what: tuple[str, ...],
    to: str,
    means: bool,
    where: tuple[str, ...],
    flow: str | None,
    seed: int | None,
) -> None:
    """Write numbers of the results in DIR to one file.

    With a table (links, flows, ...) as WHAT: all its rows, as CSV or Parquet, for a spreadsheet or another program.

    With TABLE.COLUMN or expressions of columns, as `tailback plot` takes them: a row for each point, with a column for
    each expression. As LaTeX (booktabs) or Markdown a cell has the mean and half of the 95 % interval; as CSV each has
    a column of its own. A cell without a value is empty.

    With series as WHAT, --flow and --to FILE.sqlog: the recorded series of a flow as qlog, for the tools of QUIC.
    """
    from tailback import _core
    from tailback.cli.many_runs.plot import pair
    from tailback.cli.source import results_folder

    path = Path(to)
    if path.suffix not in _ENDINGS:
        raise click.BadParameter(f"{to} should end in {', '.join(_ENDINGS)}", param_hint="--to")
    if path.suffix == ".sqlog" or flow is not None or seed is not None:
        if path.suffix != ".sqlog" or what != ("series",) or not flow or means or where:
            raise click.UsageError(
                "qlog has the series of a flow: `tailback export DIR series --flow bulk.0 --to FILE.sqlog`"
            )
        _qlog(results_folder(folder), path, flow, seed)
    elif len(what) == 1 and what[0].isidentifier():
        if where or path.suffix in (".tex", ".md"):
            raise click.UsageError(f"--where, .tex and .md are for columns: name some, such as {what[0]}.COLUMN")
        if what[0] not in _core.TABLES:
            raise click.UsageError(f"there is no table {what[0]}; tables are {', '.join(_core.TABLES)}")
        _whole(_core.read_results(results_folder(folder)), what[0], path, means)
    else:
        if tables := [w for w in what if w in _core.TABLES]:
            raise click.UsageError(
                f"{tables[0]} is a whole table; export it alone, or name a column of it, such as {tables[0]}.COLUMN"
            )
        if path.suffix == ".parquet":
            raise click.BadParameter("means are written as .csv, .tex or .md", param_hint="--to")
        _columns(_core.read_results(results_folder(folder)), what, path, dict(pair(text) for text in where))
    click.echo(to)


def _columns(results: Any, what: tuple[str, ...], path: Path, where: dict[str, str]) -> None:
    from tailback.core.results.quantities import axis_titles
    from tailback.core.results.reading import folder_of
    from tailback.core.results.written import table_of
    from tailback.core.store import manifest

    place = folder_of(results)
    titles = axis_titles(manifest.read(place).get("sweep") if place else None)
    try:
        text = table_of(results, what, where, titles).text(path.suffix[1:])
    except ValueError as e:
        raise click.UsageError(str(e)) from e
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)


def _whole(results: Any, name: str, path: Path, means: bool) -> None:
    """All rows of a table."""
    from tailback import _core
    from tailback.core.store.paths import write_csv

    table = getattr(results, name)
    if not means:
        if path.suffix == ".parquet":
            with whole(path) as partial:
                _core.write_parquet(table, partial)
        else:
            write_csv(path, [table.columns, *(row.values() for row in table.rows())])
    elif path.suffix == ".parquet":
        raise click.BadParameter("means are written as .csv; `links.to_polars()` has more", param_hint="--to")
    else:
        rows = _means(results, table)
        names = list(dict.fromkeys(n for row in rows for n in row))
        write_csv(path, [names, *([row.get(n, "") for n in names] for row in rows)])


def _qlog(folder: Path, path: Path, flow: str, seed: int | None) -> None:
    from tailback import _core
    from tailback.core.results.qlog import NoSeries, qlog
    from tailback.core.scenario.read import read

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
    if not group:
        raise click.BadParameter(f"there is no group of {flow!r}; give one of {', '.join(groups)}", param_hint="--flow")
    run = runs[0]["run"], runs[0]["replication"]
    series, log = ((r for r in t.rows() if (r["run"], r["replication"]) == run) for t in (results.series, results.log))
    try:
        text = "".join(qlog(series, log, flow, group["segment_bytes"] or 1, folder.name))
    except NoSeries as e:
        raise click.UsageError(str(e)) from e
    write_text(path, text)


def _means(results: Any, table: Any) -> list[dict[str, Any]]:
    from tailback.core.results.columns import averaged
    from tailback.core.results.means import averages, finished, labels_of

    if table.name not in averaged():
        raise click.UsageError(f"--means does not apply to the table {table.name}; it averages {', '.join(averaged())}")
    return averages(table, [*labels_of(table), *averaged()[table.name]], runs=finished(results.runs))
