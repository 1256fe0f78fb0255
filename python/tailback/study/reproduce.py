"""`tailback reproduce`: runs a study, compares it with the published results, and writes a report.

A study's folder of results has these files:

    report.html        the report: the findings, figures and tables, then the verdicts
    scenarios/         the scenario files, for `tailback run`
    verdicts.json/.csv every published number and statement, with both values; verdicts.md for a page
    figures/           each figure as SVG, and as PNG and PDF if requested
    tables/            CSV of each table, means with 95 % intervals
    runs/              the store: Parquet files of every run, by set; a repeated command continues from here
    study.json         the data of the report, and keys of the figures (`drawn.py`)
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from tailback.core.text.plain import plain
from tailback.study import drawn
from tailback.study import load as studies
from tailback.study.checks.base import Published, Statement
from tailback.study.drawn import Drawn
from tailback.study.figures import Drawing
from tailback.study.judge import Judge, unsettled
from tailback.study.measures import MEASURES
from tailback.study.model import MODES, Experiment
from tailback.study.repeat import QUICK, Repeat, with_asked
from tailback.study.samples import Samples
from tailback.study.study import Study
from tailback.study.tables import TABLES
from tailback.study.work import course
from tailback.study.work.needed import Work
from tailback.study.write import Reproduction, write


def reproduce(
    study: Study,
    experiments: list[Experiment] | None = None,
    how: Repeat = QUICK,
    out: str | Path | None = None,
    *,
    command: str = "",
) -> Reproduction:
    """Runs the points that are not stored yet, decides every verdict, and writes the folder `out`."""
    begin_s = time.monotonic()
    mode = how.mode
    experiments = experiments or study.experiments
    out = Path(out) if out else Path("out") / study.id
    study, notes, work = _work(study, experiments, how, out)
    for text in [*(f"note: {n}" for n in notes), *(f"warning: {w}" for w in work.warnings)]:
        print(plain(text), file=sys.stderr)
    ahead = work.estimate()
    if how.announce is not None:
        how.announce("; ".join(ahead.lines(how.jobs)))
    samples, cost = course.run(work, wanted(study, experiments), how.progress, partial(unsettled, study))
    # Some rows may have needed more seeds than were announced.
    runs, reused_count = work.counted()
    verdicts = Judge(study, samples).all({e.id for e in experiments})
    drawn_before = Drawn(out, how.figures) if how.figures is not None else None
    sections = [_section(study, e, mode, samples, out, drawn_before) for e in experiments]
    # The sets that repeat a point. Other sets have one seed, because nothing in them is random or they only give a
    # picture.
    repeated_sets = {n for n, x in study.runs.items() if x.seeds[mode] > 1}
    counts = [len(folders) for (name, _), (_, _, folders) in samples.stored.items() if name in repeated_sets]
    r = Reproduction(
        study=study,
        mode=mode,
        experiments=experiments,
        out=out,
        samples=samples,
        verdicts=verdicts,
        sections=sections,
        runs=runs,
        reused=reused_count,
        seeds=min(counts) if counts else 0,
        seconds=time.monotonic() - begin_s,
        spent=cost,
        stored_in=work.files(),
        failed=samples.failed,
    )
    write(r, list(how.overrides), command)
    return r


def run_shard(
    study: Study, experiments: list[Experiment], how: Repeat, out: Path, shard: tuple[int, int]
) -> tuple[int, list[str]]:
    """Run one part of a study, and write only its runs. Returns the number of runs, and the errors of failed ones.
    `reproduce` of the same folder uses these runs."""
    _, _, work = _work(study, experiments, how, out)
    tell = how.progress
    return work.in_shard(shard, tell and (lambda s: tell({**s, "set": study.id}))), work.samples.failed


def _work(study: Study, experiments: list[Experiment], how: Repeat, out: Path) -> tuple[Study, list[str], Work]:
    """The study with the requested changes, notes on them, and the work to do."""
    notes: list[str] = []
    if how.overrides:
        study, notes = with_asked(study, how.overrides, experiments, how.mode)
    # The scenarios are read first, so that a refused scenario leaves no folder.
    work = Work(study, experiments, how, out)
    out.mkdir(parents=True, exist_ok=True)
    return study, notes, work


def wanted(study: Study, experiments: list[Experiment]) -> dict[str, list[tuple[str, str]]]:
    """The (class, measure) pairs of each set of runs that outputs, numbers and statements need."""
    pairs_of: dict[str, dict[tuple[str, str], None]] = {}

    def ask(runs: str | None, klass: Any, measure: Any) -> None:
        if runs is not None and measure in MEASURES:
            pairs_of.setdefault(runs, {})[(klass, measure)] = None

    for e in experiments:
        for o in e.output:
            for runs, klass, measure in drawn.asked(e, o):
                ask(runs, klass, measure)
    ids = {e.id for e in experiments}
    askers: list[Published | Statement] = [*study.published, *study.statements]
    for s in askers:
        if s.experiment in ids:
            for x in s.asks():
                ask(x.runs, x.class_, x.measure)
    return {k: list(v) for k, v in pairs_of.items()}


# --------------------------------------------------------------------------------------------------- what comes out


def _section(
    study: Study, e: Experiment, mode: str, samples: Samples, out: Path, before: Drawn | None
) -> dict[str, Any]:
    """Make the tables of one experiment, and draw its figures unless `before` is None. Returns the data for the
    report."""
    section: dict[str, Any] = {
        "id": e.id,
        "item": e.item,
        "title": e.title,
        "text": e.text,
        "figures": [],
        "tables": [],
    }
    section["notes"], section["drawn"] = [], []
    section["scenarios"] = list(dict.fromkeys(s.name for r in e.runs if (s := study.runs[r].scenario) is not None))
    if e.why_not:
        section["text"] = f"{e.text} Not yet possible: {e.why_not}".strip()
    for output in e.output:
        drawing = Drawing(study, e, output, mode, samples)
        table_count = len({t["file"] for t in section["tables"]})
        if output["kind"] in TABLES:
            section["tables"] += TABLES[output["kind"]](drawing, out, table_count)
            continue
        if before is None:
            continue
        figures = before.figures(drawing, len(section["figures"]))
        section["drawn"].append(figures)
        for x in figures["figures"]:
            if x["files"]:
                section["figures"].append({"caption": x["caption"], "files": list(x["files"])})
            else:
                figure_name = x["caption"] or output["kind"]
                section["notes"].append(f"Not drawn ({figure_name}): no point of it has a value in {mode}.")
    return section


def listing() -> list[dict[str, Any]]:
    """Every study with its experiments."""
    study_entries = []
    for name in studies.known():
        s = studies.load(name)
        experiments = []
        for e in s.experiments:
            n = {m: sum(len(s.runs[r].points(m, [e.where])) * s.runs[r].seeds[m] for r in e.runs) for m in MODES}
            experiments.append({"id": f"{s.id}/{e.id}", "item": e.item, "title": e.title, "runs": n})
        study_entries.append({"id": s.id, "title": s.title, "citation": s.about.citation, "experiments": experiments})
    return study_entries
