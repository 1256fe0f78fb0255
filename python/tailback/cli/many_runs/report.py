"""`tailback report`: the report of a folder of results, or the differences between two."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tailback.cli import options
from tailback.core.text.width import terminal_width

#: Seeds of a measured line.
MEASURED_SEEDS = 5


def _results_or_file(ctx: click.Context, param: click.Parameter, value: str) -> str | None:
    """A folder of results, or a file with a measurement."""
    return value if Path(value).is_file() else options.existing(ctx, param, value)


@click.command()
@click.argument("folder", metavar="DIR|MEASURED", callback=_results_or_file)
@click.argument("other", metavar="[OTHER]", required=False, callback=options.existing)
@click.option(
    "--across",
    is_flag=False,
    flag_value="",
    metavar="[AXIS=LABEL]",
    help="Compare the points of an axis with those of this label.  [without a value: [compare] of the sweep's file]",
)
@click.option(
    "--column", "columns", multiple=True, metavar="NAME", help="Show differences of this column only. Repeatable."
)
@options.out("With a measurement: run the line that it describes, five seeds, and keep the results here.")
@options.figures()
@options.as_json("the differences as one JSON document")
def report(
    folder: str,
    other: str | None,
    across: str | None,
    columns: tuple[str, ...],
    out: str | None,
    figures: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write the report of a folder of results: one HTML file that needs no network.

    With OTHER, print the differences between the two folders instead: OTHER minus DIR, column by column, over
    the seeds that both have, with the 95 % interval of the difference. If the first argument is a file with a
    measurement (Flent, iperf3, ping), print the measurement beside the runs of OTHER, and write the page into
    OTHER. With --out instead of OTHER, simulate the measured line, and print the measurement beside these
    runs. With --across, print the differences between the points of DIR. If the sweep's file has [compare],
    the page shows those differences too.
    """
    if Path(folder).is_file():
        if across is not None or columns or figures or (other is None) is (out is None):
            remedy = (
                f"write `tailback report {folder} DIR` to set it beside the runs of DIR, or --out DIR to run its line"
            )
            raise click.UsageError(f"{folder} is a file; {remedy}")
        click.echo(_beside(folder, other or _line_of(folder, str(out)), as_json))
        return
    if out is not None:
        raise click.UsageError("--out is for the runs of a measured line; name a file with a measurement first")
    if figures and (across is not None or other is not None):
        raise click.UsageError("--figures are written beside a page, and differences have no page; leave it out")
    if across is not None:
        if other is not None:
            raise click.UsageError("--across compares points of one folder; leave the other out")
        click.echo(_across(folder, across, columns, as_json))
        return
    if other is not None:
        click.echo(_differences(folder, other, columns, as_json))
        return
    if columns or as_json:
        raise click.UsageError("--column and --json apply to differences; name another folder, or give --across")
    from tailback.core.text.os_errors import os_message
    from tailback.show.report import ReportError, write

    try:
        click.echo(str(write(folder, figures)))
    except ReportError as e:
        raise click.UsageError(str(e)) from e
    except FileNotFoundError as e:
        raise click.UsageError(os_message(e)) from e


def _line_of(file: str, out: str) -> str:
    """Runs the line that a measurement describes; returns the folder of the runs."""
    from tailback import _core
    from tailback.cli.errors import Failure, running
    from tailback.cli.source import reading
    from tailback.readers.reading import ReadError
    from tailback.runs.result import execute, failure_text

    try:
        line_reading = reading(file)
        if line_reading.written is None:
            raise ReadError(f"{line_reading.title} describes no line", "name a folder of runs instead of --out")
        scenario = _core.load(line_reading.written.text(), "toml", "the measured line", [])
    except ReadError as e:
        raise click.UsageError(str(e)) from e
    with running(out) as progress:
        result = execute(scenario, MEASURED_SEEDS, 0, out, progress, command=["tailback", *sys.argv[1:]])
    if result.failure is not None:
        raise Failure(failure_text(result))
    if result.store_error is not None:
        raise Failure(f"results cannot be stored in {out}: {result.store_error}")
    return out


def _beside(file: str, folder: str, as_json: bool) -> str:
    """Compares a measurement with runs."""
    from tailback.cli.source import reading, results_folder
    from tailback.core.text.json_text import json_text
    from tailback.readers.reading import ReadError
    from tailback.show.report.beside import BesideError, beside, write

    folder_path = results_folder(folder)
    try:
        comparison = beside(reading(file), folder_path)
    except (ReadError, BesideError) as e:
        raise click.UsageError(str(e)) from e
    page = write(comparison, folder_path)
    return json_text(comparison.as_dict(), indent=2) if as_json else f"{comparison.text()}\n\n{page}"


def _differences(folder: str, other: str, columns: tuple[str, ...], as_json: bool) -> str:
    from tailback import _core
    from tailback.cli.source import results_folder
    from tailback.core.results.difference import CompareError, compare, shared_runs, text
    from tailback.core.results.setting import between
    from tailback.core.text.json_text import json_text

    a, b = _core.read_results(results_folder(folder)), _core.read_results(results_folder(other))
    try:
        row_differences, runs = compare(a, b, columns), shared_runs(a, b)
    except CompareError as e:
        raise click.UsageError(str(e)) from e
    setting = between(Path(folder), Path(other))
    if as_json:
        run_counts = dict(zip(("both", "a", "b"), runs, strict=True))
        differences = [d.as_dict() for d in row_differences]
        document = {
            "a": folder,
            "b": other,
            "setting": setting.as_dict(),
            "runs": run_counts,
            "differences": differences,
        }
        return json_text(document)
    settings = setting.lines(terminal_width())
    return "\n".join([*settings, *([""] if settings else []), text(row_differences, folder, other, runs=runs)])


def _across(folder: str, across: str, columns: tuple[str, ...], as_json: bool) -> str:
    from tailback import _core
    from tailback.cli.source import results_folder
    from tailback.core.results.difference import CompareError, compare_points, text
    from tailback.core.results.setting import of_folder
    from tailback.core.text.json_text import json_text

    folder_path = Path(folder)
    axis, sep, label = (across or _as_planned(folder)).partition("=")
    if not sep:
        raise click.BadParameter(f"{across}: write AXIS=LABEL, such as queue=droptail", param_hint="--across")
    try:
        row_differences = compare_points(_core.read_results(results_folder(folder)), axis, label, columns)
    except CompareError as e:
        raise click.UsageError(str(e)) from e
    marking = of_folder(folder_path)
    if as_json:
        differences = [d.as_dict() for d in row_differences]
        document = {
            "dir": folder,
            "axis": axis,
            "against": label,
            "marking": marking,
            "differences": differences,
        }
        return json_text(document)
    return "\n".join(
        [
            *marking,
            *([""] if marking else []),
            text(row_differences, f"{axis}={label}", f"the other points of {folder}"),
        ]
    )


def _as_planned(folder: str) -> str:
    """The comparison that the plan declares."""
    from tailback.core.store import manifest

    comparison = (manifest.read(Path(folder)).get("sweep") or {}).get("compare")
    if not comparison:
        raise click.BadParameter(
            f"the plan of {folder} has no [compare]; write --across AXIS=LABEL, such as queue=droptail",
            param_hint="--across",
        )
    return f"{comparison['axis']}={comparison['against']}"
