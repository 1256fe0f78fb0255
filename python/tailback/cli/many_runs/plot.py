"""`tailback plot`: draws the contents of a folder of results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tailback.cli import options

#: The values of `--as`.
FORMS = ("curves", "map", "box", "cdf")


def _inches(_ctx: click.Context, param: click.Parameter, value: str | None) -> float:
    """A width as 3.5in, 89mm or 9cm; 0 without one."""
    if not value:
        return 0.0
    units = {"in": 1.0, "mm": 1 / 25.4, "cm": 1 / 2.54, "pt": 1 / 72.27}
    number_text, factor = next(((value[: -len(u)], f) for u, f in units.items() if value.endswith(u)), ("", 0.0))
    try:
        inches = float(number_text) * factor
    except ValueError:
        inches = 0.0
    if not 2.0 <= inches <= 30.0:
        raise click.BadParameter(f"{value}: write a width from 2in to 30in, such as 3.5in or 89mm", param=param)
    return inches


@click.command()
@options.folder()
@click.argument("what", required=False)
@click.option(
    "--to",
    metavar="FILE",
    help="File to write. Its ending gives the format: png, pdf, svg.  [default: DIR/figures/WHAT in all three]",
)
@click.option(
    "--where", multiple=True, metavar="LABEL=VALUE", help="Draw only the points with this value of an axis. Repeatable."
)
@click.option("--over", "axes", multiple=True, metavar="AXIS", help="Draw against this axis. Give two for a map.")
@click.option("--by", default="", metavar="AXIS", help="With --over: a panel for each label of this axis.")
@click.option(
    "--against", metavar="AXIS=LABEL", help="With --over: divide each run by the run with this label and the same seed."
)
@click.option(
    "--as", "form", type=click.Choice(FORMS), help="Kind of figure.  [default: curves, a map or distributions]"
)
@click.option("--width", metavar="WIDTH", callback=_inches, help="Width of the figure, such as 3.5in or 89mm.")
@click.option(
    "--style",
    type=click.Choice(("screen", "paper", "dark")),
    default="screen",
    show_default=True,
    help="Style of the figure: its fonts and colours.",
)
def plot(
    folder: str, what: str | None, to: str | None, where: tuple[str, ...], width: float, style: str, **asked: Any
) -> None:
    """Draw the results in DIR.

    For a sweep, WHAT is TABLE.COLUMN, TABLE.COLUMN[NAME] for one link or group, or an expression of these: "bbr /
    total" is the share of the group bbr, "jain(flows.goodput_bps)" an index over flows. With one --over the figure has
    curves of the mean over that axis, with 95 % bands; with two it is a map; otherwise distributions, or boxes (--as
    box).

    For any run, WHAT is a recorded quantity (queue, cwnd, ...) against time, or as a distribution (--as cdf); sojourn,
    delay or round_trip, which every run stores as distributions; goodput (a bar for each flow), goodput-over-time (that
    of each group, with `interval` in the scenario), completions (times of transfers by size), or slowdowns (of
    workloads, by size). The default is the queue if it was recorded, else goodput.

    For a study, WHAT is an experiment: its figure is drawn again.
    """
    from tailback.show import plots
    from tailback.study.errors import StudyError

    if to and Path(to).suffix not in (".png", ".pdf", ".svg"):
        raise click.BadParameter(f"{to} should end in .png, .pdf or .svg", param_hint="--to")
    try:
        with plots.on(width, style):
            figure, name, folder_path = _drawn(Path(folder), what, dict(pair(text) for text in where), asked)
    except (ValueError, StudyError) as e:
        raise click.UsageError(str(e)) from e
    if not to:
        files = plots.save(
            figure, folder_path / "figures" / "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
        )
    else:
        stem, _, kind = to.rpartition(".")
        files = plots.save(figure, Path(stem), [kind])
    for file in files:
        click.echo(str(file))


def _drawn(folder: Path, what: str | None, where: dict[str, str], asked: dict[str, Any]) -> tuple[Any, str, Path]:
    """The figure, the name of its files, and their folder."""
    from tailback import _core
    from tailback.cli.source import results_folder
    from tailback.core.results.reading import pieces
    from tailback.show import plots

    if (folder / "study.json").is_file():
        from tailback.study.redraw import redraw

        if not what:
            raise click.UsageError(f"{folder} holds a study: name one of its experiments, such as those of its report")
        return redraw(folder, what), what, folder
    folder_path = results_folder(str(folder))
    results: Any = _core.read_results(folder_path)
    if not what:
        queue_is_recorded = any("queue" in piece["probe"] for piece in pieces(results, "series", ["probe"]))
        what = "queue" if queue_is_recorded else "goodput"
    axes, form, by_axis, against = (asked[k] for k in ("axes", "form", "by", "against"))
    if not plots.is_metric(what):
        if axes or by_axis or against:
            raise click.UsageError(
                f"--over, --by and --against draw a TABLE.COLUMN, such as links.utilisation, not {what}"
            )
        if form in ("curves", "map", "box"):
            raise click.UsageError(f"--as {form} draws a TABLE.COLUMN, such as links.utilisation, not {what}")
        return plots.plot(_with_scenario(results, folder_path), what, cdf=form == "cdf", **where), what, folder_path
    axis_count = {"curves": 1, "map": 2, "box": 0, "cdf": 0}.get(form or "", len(axes))
    if len(axes) != axis_count or len(axes) > 2:
        raise click.BadParameter(
            "one axis makes curves, two a map; boxes and distributions take no axis", param_hint="--over"
        )
    if (by_axis or against) and not axes:
        raise click.UsageError("--by and --against need --over AXIS")
    if by_axis and len(axes) > 1:
        raise click.UsageError("--by makes panels of curves; a map has a panel for each combination of the other axes")
    if axes:
        base = pair(against, "--against") if against else None
        return plots.over(results, what, *axes, by=by_axis, against=base, **where), what, folder_path
    draw = plots.boxes if form == "box" else plots.spread
    return draw(results, what, **where), what, folder_path


def _with_scenario(results: Any, place: Path) -> Any:
    """The results of one scenario, loaded with the queues and units of that scenario; other results are unchanged."""
    from tailback.core.results.means import labels_of
    from tailback.runs.result import load_result

    if (place / "scenario.toml").is_file() and not labels_of(results.runs):
        return load_result(place)
    return results


def pair(text: str, hint: str = "--where") -> tuple[str, str]:
    label, sep, value = text.partition("=")
    if not sep:
        raise click.BadParameter(f"{text}: write LABEL=VALUE, such as buffer=200", param_hint=hint)
    return label, value
