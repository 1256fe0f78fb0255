"""`tailback plot`: draw what a folder of results holds."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("folder", metavar="DIR")
@click.argument("what", required=False)
@click.option(
    "--to",
    metavar="FILE",
    help="File to write. Its ending gives the format: png, pdf, svg.  [default: DIR/figures/WHAT in all three]",
)
@click.option("--where", multiple=True, metavar="LABEL=VALUE", help="Draw only the points of this value. Repeatable.")
@click.option(
    "--over", "axes", multiple=True, metavar="AXIS", help="Draw TABLE.COLUMN against this axis. Give two for a map."
)
def plot(folder: str, what: str | None, to: str | None, where: tuple[str, ...], axes: tuple[str, ...]) -> None:
    """Draw the results in DIR.

    For a sweep, WHAT is TABLE.COLUMN. With one --over the figure has curves of the mean over that axis, with 95 %
    bands; with two it is a map; otherwise it shows the distribution of the values at each point.

    For a run, WHAT is a recorded quantity against time (queue, cwnd, ...), goodput (a bar for each flow), or
    completions (times of transfers by size). The default is the queue if it was recorded, else goodput. Only the first
    replication is drawn.
    """
    from tailback import _core, plots
    from tailback.cli.source import results_folder
    from tailback.result import Result, load_result

    where_it_is = results_folder(folder)
    results: _core.Results | Result
    if (where_it_is / "scenario.toml").is_file() and not _labels(where_it_is):
        results = load_result(where_it_is)
    else:
        results = _core.read_results(where_it_is)
    what = what or ("queue" if "queue" in set(results.series.to_list("probe")) else "goodput")
    chosen = dict(_pair(text) for text in where)
    try:
        if plots.is_metric(what):
            if len(axes) > 2:
                raise click.BadParameter("one axis makes curves, two a map", param_hint="--over")
            figure = plots.over(results, what, *axes, **chosen) if axes else plots.spread(results, what, **chosen)
        elif axes:
            raise click.UsageError(f"--over draws a TABLE.COLUMN, such as links.utilisation, not {what}")
        else:
            figure = plots.plot(results, what, **chosen)
    except ValueError as e:
        raise click.UsageError(str(e)) from e
    if to is None:
        name = "".join(c if c.isalnum() or c in "-_." else "-" for c in what)
        files = plots.save(figure, where_it_is / "figures" / name)
    else:
        stem, dot, kind = to.rpartition(".")
        if not dot or kind not in ("png", "pdf", "svg"):
            raise click.BadParameter(f"{to} should end in .png, .pdf or .svg", param_hint="--to")
        files = plots.save(figure, Path(stem), [kind])
    for file in files:
        click.echo(str(file))


def _labels(folder: Path) -> list[str]:
    from tailback import _core
    from tailback.results.means import labels_of

    return labels_of(_core.read_results(folder).runs)


def _pair(text: str) -> tuple[str, str]:
    label, sep, value = text.partition("=")
    if not sep:
        raise click.BadParameter(f"{text}: write LABEL=VALUE, such as buffer=200", param_hint="--where")
    return label, value
