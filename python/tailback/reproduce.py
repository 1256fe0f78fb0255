"""`tailback reproduce`: run a study, hold it against what was published, and write a report.

What a study's folder of results holds:

    report.html        to read: verdicts first, then figures and tables
    verdicts.json/.csv every published number and statement, with both values; verdicts.md to paste into a page
    figures/           PNG, PDF and SVG of each figure
    tables/            CSV of each table, means with 95 % intervals
    runs/<set>/        Parquet files of every run; running again goes on from here
    study.json         what the report was made from
"""

from __future__ import annotations

import csv
import json
import math
import shutil
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from tailback import study as studies
from tailback.cli import Failure, os_message
from tailback.measures import MEASURES
from tailback.running import Interrupted, estimate, jobs_of, run_all, threads_of
from tailback.samples import Samples
from tailback.study import Experiment, Study, StudyError, matches
from tailback.verdict import NO, OPEN, YES, Estimate, Judge, Verdict, count


@dataclass
class Reproduction:
    study: Study
    mode: str
    experiments: list[Experiment]
    out: Path
    samples: Samples
    verdicts: list[Verdict]
    sections: list[dict]
    runs: int
    reused: int
    seeds: int
    seconds: float
    cpu_s: float
    failed: list[str] = field(default_factory=list)

    @property
    def report(self) -> Path:
        return self.out / "report.html"


def reproduce(
    study: Study,
    experiments: list[Experiment] | None = None,
    mode: str = "quick",
    out: str | Path | None = None,
    jobs: int = 0,
    seeds: int | None = None,
    progress: Callable[[dict], Any] | None = None,
    overrides: list[str] | tuple[str, ...] = (),
    figures: bool = True,
    command: str = "",
    announce: Callable[[str], Any] | None = None,
) -> Reproduction:
    """Run what is not stored yet, decide every verdict, and write the folder `out`.

    `announce` is told what there is to do, before it starts.
    """
    started = time.monotonic()
    experiments = experiments or study.experiments
    out = Path(out) if out else Path("out") / study.id
    out.mkdir(parents=True, exist_ok=True)
    if overrides:
        study = studies.with_overrides(study, list(overrides))
    todo, threads = jobs_of(study, experiments, mode, out, seeds), threads_of(jobs)
    ahead = estimate(todo, threads)
    if announce is not None:
        announce(ahead.text())
    samples, cpu = run_all(todo, _wanted(study, experiments), threads, progress)
    verdicts = Judge(study, samples).all({e.id for e in experiments})
    sections = [_section(study, e, mode, samples, out, figures) for e in experiments]
    # Sets that repeat a point: one seed is all of a set in which nothing is random, or that only draws a picture.
    repeated = {n for n, x in study.runs.items() if x.seeds[mode] > 1}
    counts = [len(folders) for (name, _), (_, _, folders) in samples.stored.items() if name in repeated]
    r = Reproduction(
        study=study,
        mode=mode,
        experiments=experiments,
        out=out,
        samples=samples,
        verdicts=verdicts,
        sections=sections,
        runs=ahead.runs,
        reused=ahead.kept,
        seeds=min(counts) if counts else 0,
        seconds=time.monotonic() - started,
        cpu_s=cpu,
        failed=samples.failed,
    )
    _write(r, list(overrides), command)
    return r


def _wanted(study: Study, experiments: list[Experiment]) -> dict[str, list[tuple[str, str]]]:
    """(class, measure) pairs of each set of runs that outputs, numbers and statements ask for."""
    found: dict[str, dict[tuple[str, str], None]] = {}

    def ask(runs: str | None, klass: Any, measure: Any) -> None:
        if runs is not None and measure in MEASURES:
            found.setdefault(runs, {})[(klass, measure)] = None

    for e in experiments:
        for o in e.output:
            names = o.get("runs", e.runs)
            for runs in [names] if isinstance(names, str) else names:
                for m in [o.get("measure"), *o.get("measures", [])]:
                    for klass in o.get("classes", ["all"]):
                        ask(runs, klass, m)
    ids = {e.id for e in experiments}
    for s in [*study.published, *study.statements]:
        if s.get("experiment") not in ids:
            continue
        for c in [s, *s.get("check", [])]:
            x = {**s, **c}
            for key in ("class", "class_over"):
                if key == "class" or key in x:
                    ask(x.get("runs"), x.get(key, "all"), x.get("measure"))
    return {k: list(v) for k, v in found.items()}


# --------------------------------------------------------------------------------------------------- what comes out


def _section(study: Study, e: Experiment, mode: str, samples: Samples, out: Path, figures: bool) -> dict:
    """Draw and tabulate one experiment; what the report needs of it."""
    made: dict[str, Any] = {"id": e.id, "item": e.item, "title": e.title, "text": e.text, "figures": [], "tables": []}
    if e.why_not:
        made["text"] = f"{e.text} Not yet possible: {e.why_not}".strip()
    number = 0
    for o in e.output:
        if o["kind"] == "table":
            made["tables"].append(_table(study, e, o, mode, samples, out, len(made["tables"])))
            continue
        if o["kind"] == "cells":
            from tailback import cell_tables

            made["tables"] += cell_tables.build(study, e, o, samples, out, len({t["file"] for t in made["tables"]}))
            continue
        if o["kind"] == "range":
            from tailback import range_table

            files = len({t["file"] for t in made["tables"]})
            made["tables"].append(range_table.build(study, e, o, mode, samples, out, files))
            continue
        if not figures:
            continue
        from tailback import figures as kinds
        from tailback import plots

        known = kinds.load()
        if o["kind"] not in known:
            raise StudyError(
                f'experiment {e.id}: there is no figure "{o["kind"]}"; there are {", ".join(known)}, table'
            )
        drawn = known[o["kind"]](kinds.Drawing(study, e, o, mode, samples))
        several = drawn if isinstance(drawn, list) else [(o.get("caption", ""), drawn)]
        for caption, fig in several:
            if fig is None:
                continue
            number += 1
            stem = out / "figures" / (e.id if number == 1 else f"{e.id}-{number}")
            files = plots.save(fig, stem)
            made["figures"].append({"caption": caption, "files": [str(f.relative_to(out)) for f in files]})
    return made


def _table(study: Study, e: Experiment, o: dict, mode: str, samples: Samples, out: Path, number: int) -> dict:
    """Means with 95 % intervals, one row a point and class; written as CSV and kept for the report."""
    classes, measures = o.get("classes", ["all"]), [MEASURES[m] for m in o["measures"]]
    rows, plain = [], []
    from tailback.figures import selected

    chosen = selected(study, e, mode, o)
    axes = list({a.name: a for r, _ in chosen for a in r.axes}.values())
    varied = [a for a in axes if len({p.labels.get(a.name) for _, p in chosen}) > 1 or a.disciplines]
    several = len({r.name for r, _ in chosen}) > 1
    for runs, p in chosen:
        for klass in classes:
            values = []
            for m in measures:
                x = samples.get(runs.name, p.key, klass, m.name)
                values.append(Estimate.of(x) if x is not None else None)
            if all(v is None for v in values):
                continue
            at = [p.labels.get(a.name, "-") for a in varied]
            head = [study.discipline_title(x) if a.disciplines else x for a, x in zip(varied, at, strict=True)]
            head += [runs.name] if several else []
            head += [klass] if len(classes) > 1 else []
            cells = [("-" if v is None else _with_interval(v, m)) for v, m in zip(values, measures, strict=True)]
            n = max((v.n for v in values if v), default=0)
            rows.append([*head, *cells, str(n)])
            plain.append([*head, *(x for v in values for x in ((v.mean, v.half) if v else (None, None))), n])
    heads = [[a.title if not a.disciplines else "Discipline", a.unit] for a in varied]
    heads += [["Runs", ""]] if several else []
    heads += [["Class", ""]] if len(classes) > 1 else []
    path = out / "tables" / f"{e.id}{'' if number == 0 else f'-{number + 1}'}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as f:
        w = csv.writer(f)
        names = [n if not u else f"{n} ({u})" for n, u in heads]
        for m in measures:
            unit = "" if m.unit == "1" else f" ({m.unit})"
            names += [f"{m.name}{unit}", f"{m.name} ci95{unit}"]
        w.writerow([*names, "seeds"])
        w.writerows(plain)
    heads += [[m.title, "" if m.unit == "1" or m.unit in m.title else m.unit] for m in measures] + [["Seeds", ""]]
    text = len(heads) - len(measures) - 1
    return {
        "caption": o.get("caption", ""),
        "heads": heads,
        "rows": rows,
        "text_columns": text,
        "file": str(path.relative_to(out)),
    }


def _with_interval(e: Estimate, m) -> str:
    if math.isnan(e.half):
        return m.show(e.mean)
    return f"{m.show(e.mean)} ± {m.show(e.half)}"


def _write(r: Reproduction, overrides: list[str], command: str) -> None:
    from tailback import _core, fingerprint, markdown, parameters, report

    s = r.study
    bundle = {
        "kind": "study",
        "study": {k: s.about.get(k, "") for k in ("id", "title", "citation", "question", "method", "caution")},
        "setup": s.about.get("setup", []),
        "again": s.about.get("again", []),
        "mode": r.mode,
        "command": command or f"tailback reproduce {s.id} --{r.mode}",
        "experiments": [e.id for e in r.experiments],
        "verdicts": [v.as_dict() for v in r.verdicts],
        "count": count(r.verdicts),
        "sections": r.sections,
        "disciplines": {
            k: {"title": s.discipline_title(k), "queue": studies.inline(v["queue"])} for k, v in s.disciplines.items()
        },
        "scenarios": {
            p.name: p.read_text(encoding="utf-8")
            for p in dict.fromkeys(x.scenario for x in s.runs.values() if x.scenario)
        },
        "parameters": parameters.rows(s) if s.pairs else [],
        "replaced": {k: studies.inline(v) for k, v in s.replaced.items()},
        "overrides": overrides,
        "failed": r.failed,
        "runs": r.runs,
        "seeds": r.seeds,
        "version": _core.__version__,
        "build": fingerprint.build(),
    }
    (r.out / "study.json").write_text(json.dumps(bundle, indent=1, ensure_ascii=False), encoding="utf-8")
    verdicts = {"study": s.id, "mode": r.mode, "count": bundle["count"], "verdicts": bundle["verdicts"]}
    (r.out / "verdicts.json").write_text(json.dumps(verdicts, indent=1, ensure_ascii=False), encoding="utf-8")
    with (r.out / "verdicts.csv").open("w", newline="", encoding="utf-8") as f:
        w = csv.writer(f)
        w.writerow(
            [
                "id",
                "source",
                "experiment",
                "outcome",
                "gate",
                "statement",
                "published",
                "measured",
                "required",
                "seeds",
                "explanation",
            ]
        )
        for v in r.verdicts:
            w.writerow(
                [
                    v.id,
                    v.source,
                    v.experiment,
                    v.outcome,
                    v.gate,
                    v.sentence,
                    v.published,
                    v.measured,
                    v.tolerance,
                    v.seeds,
                    v.explanation,
                ]
            )
    (r.out / "verdicts.md").write_text(markdown.verdicts(bundle), encoding="utf-8")
    report.write(r.out)


# ------------------------------------------------------------------------------------------------------ the terminal

_SIGN = {YES: "reproduced", NO: "NOT REPRODUCED", OPEN: "not testable"}


def verdict_text(verdicts: list[Verdict], width: int = 80) -> str:
    """The verdict table for a terminal: at most `width` columns."""
    width = max(60, min(width, 100))
    left = max((len(v.id) for v in verdicts if not v.grade), default=4) + 2
    indent = " " * (left + 16)
    lines = []
    experiment = None
    # Cells stand in their tables: here they are counted, and only those outside what is allowed are told one by one.
    told_cells = {v.experiment: [c for c in verdicts if c.grade and c.experiment == v.experiment] for v in verdicts}
    for v in verdicts:
        if v.experiment != experiment:
            experiment = v.experiment
            title = "Arithmetic" if experiment == "predict" else experiment
            lines += ["", title, "-" * width, *_cells_text(told_cells[experiment], width)]
        if v.grade:
            if v.outcome == NO and v.gate:
                told = f"! {v.sentence}: {v.measured}, published {v.published} within {v.tolerance}"
                lines += textwrap.wrap(told, width, subsequent_indent="    ")
            continue
        sign = _SIGN[v.outcome]
        if not v.gate and v.outcome == NO:
            sign = "differs"
        elif not v.gate and v.outcome == YES:
            sign = "agrees"
        body = textwrap.wrap(v.sentence, width - len(indent))
        told = f"measured {v.measured}" if v.outcome != OPEN else v.note or "not run"
        if v.outcome != OPEN and v.published != "as stated":
            told += f"; published {v.published} (within {v.tolerance})"
        if v.reference:
            told += f"; reference {v.reference}"
        body += textwrap.wrap(told, width - len(indent))
        lines.append(f"{v.id:<{left}}{sign:<16}{body[0]}")
        lines += [indent + b for b in body[1:]]
    return "\n".join(lines[1:])


def _cells_text(verdicts: list[Verdict], width: int) -> list[str]:
    from tailback.cell_tables import counts

    said = [
        f"{within} of {n} cells of class {grade} within what it allows"
        if grade != "Q"
        else f"{n} of class Q only compared ({within} agree)"
        for grade, within, n in counts(verdicts)
    ]
    return textwrap.wrap("; ".join(said), width) if said else []


def summary_text(verdicts: list[Verdict]) -> str:
    n = count(verdicts)
    return (
        f"{n[YES]} reproduced, {n[NO]} not reproduced, {n[OPEN]} not testable; "
        f"{n['compared']} more compared but not gated (ruled by phase)"
    )


class _Progress:
    """One line on standard error: rewritten on a terminal, a line now and then in a log."""

    def __init__(self, stream=None):
        self.stream = stream or sys.stderr
        self.tty = self.stream.isatty()
        self.told = 0.0
        self.last = -1

    def __call__(self, s: dict) -> None:
        percent = int(100 * s["done"] / s["total"]) if s["total"] else 100
        left = "" if math.isnan(s["remaining_s"]) else f", about {_duration(s['remaining_s'])} left"
        kept = f" ({s['reused']} kept)" if s["reused"] else ""
        text = f"{s['set']}: {s['done']:.0f} of {s['total']} runs{kept}, {percent} %{left}"
        if self.tty:
            self.stream.write("\r\033[K" + text)
            self.stream.flush()
        elif time.monotonic() - self.told > 15 or percent == 100 != self.last:
            self.told = time.monotonic()
            self.stream.write(text + "\n")
            self.stream.flush()
        self.last = percent

    def announce(self, text: str) -> None:
        self.stream.write(f"to do: {text}\n")
        self.stream.flush()

    def end(self) -> None:
        if self.tty:
            self.stream.write("\r\033[K")
            self.stream.flush()


def _duration(s: float) -> str:
    return f"{s:.0f} s" if s < 90 else f"{s / 60:.0f} min" if s < 5400 else f"{s / 3600:.1f} h"


def listing() -> list[dict]:
    """Every study with its experiments."""
    found = []
    for name in studies.known():
        s = studies.load(name)
        experiments = []
        for e in s.experiments:
            n = {
                m: sum(len(s.runs[r].points(m, [e.where])) * s.runs[r].seeds[m] for r in e.runs) for m in studies.MODES
            }
            experiments.append({"id": f"{s.id}/{e.id}", "item": e.item, "title": e.title, "runs": n})
        found.append({"id": s.id, "title": s.title, "citation": s.about["citation"], "experiments": experiments})
    return found


def register(group: click.Group) -> None:
    @group.command("reproduce")
    @click.argument("what", metavar="[STUDY[/EXPERIMENT[,...]]]", required=False)
    @click.option(
        "--quick", "mode", flag_value="quick", default=True, help="Few points and seeds: minutes. The default."
    )
    @click.option("--full", "mode", flag_value="full", help="Every point and seed of the study.")
    @click.option(
        "--out",
        type=click.Path(file_okay=False),
        help="Where results go; default out/STUDY. Runs kept there are reused.",
    )
    @click.option(
        "--seeds", type=click.IntRange(1, 1000), help="Repeat each point so often, instead of what the mode says."
    )
    @click.option("--jobs", type=click.IntRange(0), default=0, help="Threads; 0 is all cores.")
    @click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Change every scenario of the study.")
    @click.option(
        "--discipline",
        "replaced",
        multiple=True,
        metavar="NAME=TABLE",
        help="Run another queue under a discipline's name, such as qsdrr='{ kind = \"droptail\" }'.",
    )
    @click.option("--list", "list_", is_flag=True, help="List studies and their experiments.")
    @click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
    def command(what, mode, out, seeds, jobs, overrides, replaced, list_, as_json):
        """Reproduce a published study, or one of its experiments, and report point by point what came out."""
        try:
            if list_ or not what:
                _list(as_json)
                return
            study, chosen = _choose(what, _replacements(replaced))
        except StudyError as e:
            raise click.UsageError(str(e)) from e
        line = ["tailback", "reproduce", what, f"--{mode}", *(["--seeds", str(seeds)] if seeds else [])]
        told = _Progress()
        try:
            r = reproduce(
                study, chosen, mode, out, jobs, seeds, told, overrides, command=" ".join(line), announce=told.announce
            )
        except Interrupted as e:
            raise Failure(str(e)) from e
        except KeyboardInterrupt:
            raise Failure("interrupted; finished runs are kept, run the same command to go on") from None
        except OSError as e:
            raise Failure(f"results cannot be stored: {os_message(e)}") from e
        finally:
            told.end()
        if as_json:
            click.echo(json.dumps(_as_json(r), indent=1, ensure_ascii=False, allow_nan=False))
        else:
            _print(r)
        if r.failed:
            raise Failure(f"{len(r.failed)} of {r.runs} runs failed: {r.failed[0]}")


def _choose(what: str, replaced: dict[str, dict]) -> tuple[Study, list[Experiment]]:
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


def _replacements(texts) -> dict[str, dict]:
    import tomllib

    found = {}
    for t in texts:
        name, sep, table = t.partition("=")
        try:
            queue = tomllib.loads(f"q = {table}")["q"]
        except tomllib.TOMLDecodeError:
            queue = {"kind": table.strip()}
        if not sep or not isinstance(queue, dict):
            raise StudyError(f"--discipline {t}: write NAME=TABLE, such as qsdrr='{{ kind = \"droptail\" }}'")
        found[name.strip()] = queue
    return found


def _list(as_json: bool) -> None:
    found = listing()
    if as_json:
        click.echo(json.dumps({"studies": found}, indent=1, ensure_ascii=False))
        return
    width = min(100, shutil.get_terminal_size((80, 24)).columns)
    for s in found:
        click.echo(s["id"])
        for line in textwrap.wrap(s["title"], width - 2):
            click.echo(f"  {line}")
        click.echo("")
        click.echo(f"  {'experiment':<26}{'shows':<7}{'quick':>6}{'full':>6}  runs; title")
        for e in s["experiments"]:
            n = e["runs"]
            title = textwrap.wrap(e["title"], max(30, width - 49))
            click.echo(f"  {e['id']:<26}{e['item']:<7}{n['quick']:>6}{n['full']:>6}  {title[0]}")
            for line in title[1:]:
                click.echo(" " * 47 + line)
        click.echo("")


def _as_json(r: Reproduction) -> dict:
    return {
        "study": r.study.id,
        "mode": r.mode,
        "experiments": [e.id for e in r.experiments],
        "runs": r.runs,
        "reused": r.reused,
        "failed": r.failed,
        "seeds": r.seeds,
        "seconds": round(r.seconds, 2),
        "cpu_s": round(r.cpu_s, 2),
        "replaced": {k: studies.inline(v) for k, v in r.study.replaced.items()},
        "count": count(r.verdicts),
        "verdicts": [v.as_dict() for v in r.verdicts],
        "figures": [f for s in r.sections for x in s["figures"] for f in x["files"]],
        "tables": [x["file"] for s in r.sections for x in s["tables"]],
        "out": str(r.out),
        "report": str(r.report),
    }


def _print_cells(r: Reproduction, width: int) -> None:
    """Published tables beside ours."""
    from tailback import cell_tables, cells

    for s in r.sections:
        for t in s["tables"]:
            if t.get("plain"):
                click.echo("\n".join(textwrap.wrap(f"{s['id']}: {t['caption']}", width)))
                for line in _aligned([[x for x, _ in t["heads"]], *t["rows"]]):
                    click.echo(line)
                click.echo("")
        tables = [t for t in s["tables"] if "cells" in t]
        if not tables:
            continue
        click.echo(f"{s['id']}: {s['title']}\n{'=' * width}")
        for t in tables:
            click.echo(cell_tables.text(t, width) + "\n")
        click.echo("\n".join(textwrap.wrap(cells.LEGEND, width)) + "\n")


def _aligned(rows: list[list[str]]) -> list[str]:
    wide = [max(len(r[i]) for r in rows) + 2 for i in range(len(rows[0]))]
    return ["".join(x.ljust(w) for x, w in zip(r, wide, strict=True)).rstrip() for r in rows]


def _print(r: Reproduction) -> None:
    width = min(100, shutil.get_terminal_size((80, 24)).columns)
    for name in r.study.replaced:
        click.echo(f"Note: another queue runs under the name of {name}; these verdicts are not about the study.")
    _print_cells(r, width)
    click.echo(verdict_text(r.verdicts, width))
    click.echo("")
    for line in textwrap.wrap(summary_text(r.verdicts), width):
        click.echo(line)
    if 0 < r.seeds < 5:
        times = f"{r.seeds} seed{'s' if r.seeds > 1 else ''}"
        text = f"Some points were run with {times} or fewer; the study's rules ask for 5: use --seeds 5 or --full."
        for line in textwrap.wrap(text, width):
            click.echo(line)
    click.echo(f"{r.runs} runs ({r.reused} kept from before), {_duration(r.seconds)}, {r.cpu_s:.0f} CPU s")
    click.echo(f"report: {r.report}")


__all__ = ["Interrupted", "Reproduction", "listing", "matches", "register", "reproduce", "summary_text", "verdict_text"]
