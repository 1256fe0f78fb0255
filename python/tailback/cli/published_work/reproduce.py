"""`tailback reproduce`: runs a study or some of its experiments, and reports the results point by point."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from tailback.cli import options
from tailback.cli.errors import Failure, all_there, running
from tailback.core.scenario.read import as_toml
from tailback.core.text.json_text import json_text
from tailback.core.text.terminal import columns
from tailback.core.text.width import terminal_width
from tailback.core.verdict import (
    ANEW,
    AS_STATED,
    COMPARED,
    COUNT_HEADS,
    LEANS,
    NO,
    OPEN,
    YES,
    Verdict,
    count,
    kinds,
    kinds_rows,
)
from tailback.runs.campaign.progress import ProgressLine
from tailback.show.report import ReportError
from tailback.study import load as studies
from tailback.study.errors import StudyError
from tailback.study.model import Experiment
from tailback.study.opening import sentences
from tailback.study.repeat import Repeat
from tailback.study.reproduce import listing, run_shard
from tailback.study.reproduce import reproduce as repeat
from tailback.study.study import Study
from tailback.study.write import Reproduction

_SIGN = {YES: YES, LEANS: LEANS, NO: NO.upper(), OPEN: OPEN}


def verdict_text(verdicts: list[Verdict], width: int = 80) -> str:
    """The verdict table for a terminal: at most `width` columns."""
    width = max(60, min(width, 100))
    id_width = max((len(verdict.id) for verdict in verdicts if not verdict.grade), default=4) + 2
    indent = " " * (id_width + 16)
    lines = []
    experiment = None
    # The tables show the cells. Here the cells are counted, and only the cells outside their tolerance are listed.
    told_cells = {
        verdict.experiment: [c for c in verdicts if c.grade and c.experiment == verdict.experiment]
        for verdict in verdicts
    }
    for verdict in verdicts:
        if verdict.experiment != experiment:
            experiment = verdict.experiment
            title = "Arithmetic" if experiment == "predict" else experiment
            lines += ["", title, "-" * width, *_cells_text(told_cells[experiment], width)]
        if verdict.grade:
            if verdict.outcome == NO and verdict.gate:
                result_text = (
                    f"! {verdict.sentence}: {verdict.measured}, published {verdict.published} within "
                    f"{verdict.tolerance}"
                )
                lines += textwrap.wrap(result_text, width, subsequent_indent="    ")
            continue
        sign = verdict.compared or _SIGN[verdict.outcome]
        body = textwrap.wrap(verdict.sentence, width - len(indent))
        result_text = (
            f"measured {verdict.measured}" if verdict.outcome != OPEN or verdict.seeds else verdict.note or "not run"
        )
        if verdict.outcome != OPEN and verdict.published != AS_STATED:
            result_text += f"; published {verdict.published} (within {verdict.tolerance})"
        if verdict.reference:
            result_text += f"; reference {verdict.reference}"
        body += textwrap.wrap(result_text, width - len(indent))
        if verdict.words:
            anew_text = f"{ANEW}, the source: {verdict.words}; by the first rule {verdict.first}"
            body += textwrap.wrap(anew_text, width - len(indent))
        if verdict.chosen:
            body += textwrap.wrap(f"rests on a reading chosen after a look: {verdict.chosen}", width - len(indent))
        if verdict.part:
            body += textwrap.wrap(verdict.part, width - len(indent))
        if verdict.readings and verdict.outcome in (NO, LEANS):
            body += textwrap.wrap(f"read otherwise: {'; '.join(verdict.readings)}", width - len(indent))
        lines.append(f"{verdict.id:<{id_width}}{sign:<16}{body[0]}")
        lines += [indent + b for b in body[1:]]
    return "\n".join(lines[1:])


def _cells_text(verdicts: list[Verdict], width: int) -> list[str]:
    from tailback.study.tables.cells import counts

    count_texts = [
        f"{within + lean} of {n} cells of class {grade} within its tolerance{_off(lean)}"
        if grade != "Q"
        else f"{n} of class Q only compared ({within + lean} agree{_off(lean)})"
        for grade, within, lean, n in counts(verdicts)
    ]
    return textwrap.wrap("; ".join(count_texts), width) if count_texts else []


def _off(lean: int) -> str:
    return f", {lean} of them more than 25 % off" if lean else ""


def summary_text(verdicts: list[Verdict]) -> str:
    n = count(verdicts)
    anew = f" ({n[ANEW]} of all these {ANEW})" if n[ANEW] else ""
    return (
        f"{n[YES]} reproduced, {n[LEANS]} lean, {n[NO]} not reproduced, {n[OPEN]} not testable{anew}; "
        f"{n[COMPARED]} more compared, not judged"
    )


def _duration(s: float) -> str:
    return f"{s:.0f} s" if s < 90 else f"{s / 60:.0f} min" if s < 5400 else f"{s / 3600:.1f} h"


def _spent(r: Reproduction, kept: str) -> str:
    """CPU time, and separately the time of live runs, which is the same on any processor."""
    live = f", {_duration(r.spent.live_s)} of live runs" if r.spent.live_s else ""
    return f"{r.runs} runs ({r.reused} {kept}), {_duration(r.seconds)}, {r.spent.cpu_s:.0f} CPU s{live}"


@click.command()
@click.argument("what", metavar="[STUDY[/EXPERIMENT[,...]]]", required=False)
@click.option("--quick", "quick", is_flag=True, help="Few points and seeds. The default.")
@click.option("--full", "full", is_flag=True, help="Every point and seed of the study.")
@options.out("Folder for the results. Runs stored there are reused.  [default: out/STUDY, or out/all]")
@click.option("--seeds", type=click.IntRange(1, 1000), help="Seeds for each point.  [default: set by the mode]")
@options.jobs
@options.shard("the same command without --shard")
@options.overrides("in every scenario of the study")
@click.option(
    "--discipline",
    "replaced",
    multiple=True,
    metavar="NAME=TABLE",
    help="Run another queue under a discipline's name, such as qsdrr='{ kind = \"droptail\" }'.",
)
@options.figures()
@click.option("--list", "list_", is_flag=True, help="List studies and their experiments.")
@options.as_json()
@options.memory
def reproduce(
    what: str | None,
    out: str | None,
    shard: tuple[int, int] | None,
    replaced: tuple[str, ...],
    list_: bool,
    as_json: bool,
    quick: bool,
    full: bool,
    **repeating: Any,
) -> None:
    """Repeat a published study, or some of its experiments, and compare the results with it point by point.

    Without STUDY, repeat all studies and write one page. `tailback verify` checks the folder that this writes.
    """
    if quick and full:
        raise click.UsageError("--quick and --full exclude one another; give one of them")
    repeat = Repeat(mode="full" if full else "quick", **repeating)
    try:
        if list_:
            if what is not None or out or shard or repeat.overrides or replaced or repeat.seeds or repeat.figures:
                raise click.UsageError("--list runs nothing and takes no other option except --json")
            _list(as_json)
        elif what is None and (repeat.overrides or replaced):
            raise click.UsageError("--set and --discipline need the name of one study; give STUDY")
        elif shard is not None:
            if repeat.figures:
                raise click.UsageError("--shard draws nothing; give --figures to the command without --shard")
            reports = []
            for name in [what] if what is not None else studies.known():
                study, chosen = choose(name, _replacements(replaced))
                out_folder = Path(out or f"out/{study.id}") if what is not None else Path(out or "out/all") / study.id
                reports.append(_shard(study, chosen, repeat, out_folder, shard, as_json))
            if as_json:
                click.echo(json_text({"shard": shard, "studies": reports}))
            else:
                click.echo(f"when all {shard[1]} parts are done, run the same command without --shard")
        elif what is None:
            _all(repeat, Path(out or "out/all"), as_json)
        else:
            _one(what, _replacements(replaced), repeat, out, as_json)
    except StudyError as e:
        raise click.UsageError(str(e)) from e
    except ReportError as e:
        # A written file cannot be read back, for example because there is a device in its place.
        raise Failure(str(e)) from e


def _one(what: str, replaced: dict[str, dict[str, Any]], how: Repeat, out: str | None, as_json: bool) -> None:
    from tailback.study import bundle

    study, experiments = choose(what, replaced)
    out_folder = Path(out) if out else Path("out") / study.id
    line = ["tailback", "reproduce", what, f"--{how.mode}", *(["--seeds", str(how.seeds)] if how.seeds else [])]
    with running(out_folder / "runs") as progress:
        r = repeat(study, experiments, _telling(how, progress), out_folder, command=" ".join(line))
        bundle.write(out_folder, [bundle.part(r, out_folder, how)])
        all_there(_written(r))
    if as_json:
        click.echo(json_text(_as_json(r), indent=1, ascii=False))
    else:
        _print(r)
    _fail_of([r])


def _telling(how: Repeat, told: ProgressLine) -> Repeat:
    return replace(how, progress=told, announce=told.announce)


def _shard(
    study: Study, chosen: list[Experiment], how: Repeat, where: Path, part: tuple[int, int], quiet: bool
) -> dict[str, Any]:
    with running(where / "runs") as progress:
        n, failed_runs = run_shard(study, chosen, _telling(how, progress), where, part)
    if not quiet:
        click.echo(f"{study.id}: part {part[0]} of {part[1]}, {n} runs; stored in {where}")
    if failed_runs:
        raise Failure(f"{study.id}: {len(failed_runs)} runs failed: {failed_runs[0]}")
    return {"study": study.id, "runs": n, "out": str(where)}


def _all(how: Repeat, out: Path, as_json: bool) -> None:
    from tailback.study.everything import everything

    def ended(r: Reproduction) -> None:
        progress.close()
        if not as_json:
            click.echo(f"{r.study.id}: {summary_text(r.verdicts)}; {_spent(r, 'kept')}")

    with running(out) as progress:
        reproductions = everything(_telling(how, progress), out, ended)
        all_there([*(f for r in reproductions for f in _written(r)), out / "report.html"])
    if as_json:
        document = {
            "mode": how.mode,
            "report": str(out / "report.html"),
            "studies": [_as_json(r) for r in reproductions],
        }
        click.echo(json_text(document, indent=1, ascii=False))
    else:
        click.echo(f"report: {out / 'report.html'}")
        spent = f"{sum(r.runs for r in reproductions)} runs, {_duration(sum(r.seconds for r in reproductions))}"
        click.echo(
            f"all {len(reproductions)} studies: {summary_text([v for r in reproductions for v in r.verdicts])}; {spent}"
        )
    _fail_of(reproductions)


def _written(r: Reproduction) -> list[Path]:
    """The files of a reproduction: its runs, figures and tables, and its page."""
    figure_files = [*(f for s in r.sections for x in s["figures"] for f in x["files"])]
    figure_files += [x["file"] for s in r.sections for x in s["tables"]]
    return [*r.stored_in, *(r.out / p for p in figure_files), r.out / "study.json", r.report]


def _fail_of(found: list[Reproduction]) -> None:
    for r in found:
        if r.failed:
            raise Failure(f"{r.study.id}: {len(r.failed)} of {r.runs} runs failed: {r.failed[0]}")


def choose(what: str, replaced: dict[str, dict[str, Any]]) -> tuple[Study, list[Experiment]]:
    """`STUDY`, `STUDY/EXPERIMENT[,EXPERIMENT]`, or the path of a study's folder instead of its id."""
    what = what.rstrip("/")
    if _is_study(what):
        study = studies.load(what, replaced)
        return study, study.experiments
    name, sep, experiment = what.rpartition("/")
    if not sep:
        study = studies.load(what, replaced)
        return study, study.experiments
    study = studies.load(name, replaced)
    chosen = {e.id for e in map(study.experiment, (x.strip() for x in experiment.split(",")))}
    return study, [e for e in study.experiments if e.id in chosen]


def _is_study(what: str) -> bool:
    return (Path(what) / "study.toml").is_file() or what in studies.known()


def _replacements(texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    import tomllib

    from tailback.core.text import toml

    queues = {}
    for t in texts:
        name, sep, table = t.partition("=")
        try:
            queue = toml.loads(f"q = {table}")["q"]
        except (tomllib.TOMLDecodeError, RecursionError):
            queue = {"kind": table.strip()}
        if not sep or not isinstance(queue, dict):
            raise StudyError(f"--discipline {t}: write NAME=TABLE, such as qsdrr='{{ kind = \"droptail\" }}'")
        queues[name.strip()] = queue
    return queues


def _list(as_json: bool) -> None:
    studies_of = listing()
    if as_json:
        click.echo(json_text({"studies": studies_of}, indent=1, ascii=False))
        return
    width = min(100, terminal_width())
    for s in studies_of:
        click.echo(s["id"])
        for line in textwrap.wrap(s["title"], width - 2):
            click.echo(f"  {line}")
        click.echo("")
        rows = [["experiment", "quick", "full", "runs; title"]]
        for e in s["experiments"]:
            rows.append([e["id"], str(e["runs"]["quick"]), str(e["runs"]["full"]), e["title"]])
        for line in columns(rows, right=(1, 2), wrap=3, width=width - 2):
            click.echo(f"  {line}")
        click.echo("")


def _as_json(r: Reproduction) -> dict[str, Any]:
    return {
        "study": r.study.id,
        "mode": r.mode,
        "experiments": [e.id for e in r.experiments],
        "runs": r.runs,
        "reused": r.reused,
        "failed": r.failed,
        "seeds": r.seeds,
        "seconds": round(r.seconds, 2),
        "cpu_s": round(r.spent.cpu_s, 2),
        "live_s": round(r.spent.live_s, 2),
        "replaced": {k: as_toml(v) for k, v in r.study.replaced.items()},
        "count": count(r.verdicts),
        "kinds": kinds(r.verdicts),
        "opening": sentences(r.verdicts, r.study.about.claims),
        "verdicts": [v.as_dict() for v in r.verdicts],
        "figures": [f for s in r.sections for x in s["figures"] for f in x["files"]],
        "tables": [x["file"] for s in r.sections for x in s["tables"]],
        "out": str(r.out),
        "report": str(r.report),
    }


def _print_cells(r: Reproduction, width: int) -> None:
    """Published tables beside ours."""
    from tailback.study import cells
    from tailback.study.tables import cells as cell_tables

    for s in r.sections:
        for t in s["tables"]:
            if t.get("plain"):
                click.echo("\n".join(textwrap.wrap(f"{s['id']}: {t['caption']}", width)))
                for line in columns([[x for x, _ in t["heads"]], *t["rows"]]):
                    click.echo(line)
                click.echo("")
        tables = [t for t in s["tables"] if "cells" in t]
        if not tables:
            continue
        click.echo(f"{s['id']}: {s['title']}\n{'=' * width}")
        for t in tables:
            click.echo(cell_tables.text(t, width) + "\n")
        click.echo("\n".join(textwrap.wrap(cells.LEGEND, width)) + "\n")


def _print(r: Reproduction) -> None:
    width = min(100, terminal_width())
    for name in r.study.replaced:
        click.echo(f"Note: another queue runs under the name of {name}; these verdicts are not about the study.")
    _print_cells(r, width)
    click.echo(verdict_text(r.verdicts, width))
    click.echo("")
    for line in textwrap.wrap(summary_text(r.verdicts), width):
        click.echo(line)
    for line in columns([["", *COUNT_HEADS], *kinds_rows(kinds(r.verdicts))]):
        click.echo(line)
    if 0 < r.seeds < 5:
        times = f"{r.seeds} seeds or fewer" if r.seeds > 1 else "one seed"
        remedy = "--seeds 5" if r.mode == "full" else "--seeds 5 or --full"
        text = f"Some points were run with {times}; the study's rules ask for 5: use {remedy}."
        for line in textwrap.wrap(text, width):
            click.echo(line)
    click.echo(_spent(r, "kept from before"))
    click.echo(f"report: {r.report}")
