"""`tailback reproduce`: run a study, hold it against what was published, and write a report.

What a study's folder of results holds:

    report.html        to read: verdicts first, then figures and tables
    verdicts.json/.csv every published number and statement, with both values
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
from tailback.measure import MEASURES, Samples
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


class Interrupted(Exception):
    """Stopped by the user; finished runs are kept."""


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
) -> Reproduction:
    """Run what is not stored yet, decide every verdict, and write the folder `out`."""
    started = time.monotonic()
    experiments = experiments or study.experiments
    out = Path(out) if out else Path("out") / study.id
    out.mkdir(parents=True, exist_ok=True)
    if overrides:
        study = studies.with_overrides(study, list(overrides))
    samples, runs, reused, cpu = _run_all(study, experiments, mode, out, jobs, seeds, progress)
    verdicts = Judge(study, samples).all({e.id for e in experiments})
    sections = [_section(study, e, mode, samples, out, figures) for e in experiments]
    counts = [len(v) for k, v in samples.data.items() if k[3] == "share" and k[0] in ("sb", "mr")]
    r = Reproduction(
        study=study,
        mode=mode,
        experiments=experiments,
        out=out,
        samples=samples,
        verdicts=verdicts,
        sections=sections,
        runs=runs,
        reused=reused,
        seeds=min(counts) if counts else 0,
        seconds=time.monotonic() - started,
        cpu_s=cpu,
        failed=samples.failed,
    )
    _write(r, list(overrides), command)
    return r


# ---------------------------------------------------------------------------------------------------------- running


def _run_all(
    study: Study, experiments: list[Experiment], mode: str, out: Path, jobs: int, seeds: int | None, progress
) -> tuple:
    from tailback.plan import Plan

    plans = []
    for name, chosen in study.needs(experiments).items():
        runs = study.runs[name]
        wanted = runs.points(mode, chosen)
        n = min(seeds, runs.seeds[mode]) if seeds and runs.seeds[mode] == 1 else seeds or runs.seeds[mode]
        folder = out / "runs" / name
        points, kept = _with_earlier(runs, wanted, n, folder)
        plan = Plan.explicit(runs.scenario, [(p.labels, p.overrides) for p in points], kept)
        plans.append((runs, plan, {p.key for p in wanted}, n, folder, points, kept))
    total = sum(len(p[1]) for p in plans)
    samples, before, reused, cpu, started = Samples.empty(), 0, 0, 0.0, time.monotonic()
    for runs, plan, wanted, n, folder, points, kept in plans:

        def tell(r: dict, name: str = runs.name, done_before: int = before, kept_before: int = reused) -> bool:
            if progress is None:
                return True
            done = done_before + r["share"] * r["total"]
            kept = kept_before + r["reused"]
            fresh = done - kept
            elapsed = time.monotonic() - started
            left = elapsed * (total - done) / fresh if fresh > 0.2 else math.nan
            state = {
                "set": name,
                "done": done,
                "total": total,
                "reused": kept,
                "elapsed_s": elapsed,
                "remaining_s": left,
            }
            return progress(state) is not False

        results = plan.execute(folder, jobs=jobs, progress=tell)
        if results.interrupted:
            raise Interrupted(
                f"stopped after {results.report['done'] + before} of {total} runs; run the same command to go on"
            )
        if results.store_error is not None:
            raise results.store_error
        _remember(folder, runs, points, kept)
        samples.add(runs, _Chosen(results, wanted, n, [a.name for a in runs.axes]))
        before += len(plan)
        reused += results.report["reused"]
        cpu += sum(r["cpu_s"] for r in results.reports)
    return samples, total, reused, cpu


class _Chosen:
    """Results with only the wanted points and seeds: a folder may hold more than one call asked for."""

    def __init__(self, results: Any, wanted: set[tuple[str, ...]], seeds: int, axes: list[str]):
        import numpy as np

        for name in ("runs", "flows", "links", "series"):
            table = getattr(results, name)
            columns = {c: np.asarray(table[c]) for c in table.columns}
            if len(table):
                keys = list(zip(*(columns[a] for a in axes), strict=True))
                keep = np.array([k in wanted for k in keys]) & (columns["replication"] < seeds)
                columns = {c: v[keep] for c, v in columns.items()}
            setattr(self, name, _Columns(columns))


class _Columns:
    def __init__(self, columns: dict):
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __getitem__(self, name: str):
        return self._columns[name]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))


def _with_earlier(runs: studies.Runs, wanted: list, seeds: int, folder: Path) -> tuple[list, int]:
    """The wanted points and those that an earlier call stored, so that storing these does not lose those."""
    try:
        known = json.loads((folder / "points.json").read_text())
    except (OSError, ValueError):
        return wanted, seeds
    if known.get("of") != _of(runs):
        return wanted, seeds
    earlier = {tuple(k) for k in known["points"]} - {p.key for p in wanted}
    more = {p.key: p for m in studies.MODES for p in runs.points(m) if p.key in earlier}
    return wanted + list(more.values()), max(seeds, known["seeds"])


def _remember(folder: Path, runs: studies.Runs, points: list, seeds: int) -> None:
    state = {"of": _of(runs), "seeds": seeds, "points": [list(p.key) for p in points]}
    (folder / "points.json").write_text(json.dumps(state, indent=1))


def _of(runs: studies.Runs) -> list:
    """What, beside its labels, decides a point's results: with any of it changed, stored points are of no use."""
    from tailback import fingerprint

    return [
        fingerprint.build(),
        runs.scenario.read_text(encoding="utf-8"),
        list(runs.set),
        [list(a.values.items()) for a in runs.axes if a.disciplines],
    ]


# --------------------------------------------------------------------------------------------------- what comes out


def _selected(study: Study, e: Experiment, mode: str) -> list[tuple[Any, Any]]:
    """(set of runs, point) of an experiment, in order."""
    return [(study.runs[n], p) for n in e.runs for p in study.runs[n].points(mode, [e.where])]


def _section(study: Study, e: Experiment, mode: str, samples: Samples, out: Path, figures: bool) -> dict:
    """Draw and tabulate one experiment; what the report needs of it."""
    made: dict[str, Any] = {"id": e.id, "item": e.item, "title": e.title, "text": e.text, "figures": [], "tables": []}
    number = 0
    for o in e.output:
        if o["kind"] == "table":
            made["tables"].append(_table(study, e, o, mode, samples, out, len(made["tables"])))
            continue
        if not figures:
            continue
        fig = _DRAW[o["kind"]](study, e, o, mode, samples)
        if fig is None:
            continue
        from tailback import plots

        number += 1
        stem = out / "figures" / (e.id if number == 1 else f"{e.id}-{number}")
        files = plots.save(fig, stem)
        made["figures"].append({"caption": o.get("caption", ""), "files": [str(f.relative_to(out)) for f in files]})
    return made


def _draw_curves(study: Study, e: Experiment, o: dict, mode: str, samples: Samples):
    from tailback import plots

    m = MEASURES[o["measure"]]
    panels = []
    for klass, title in zip(o.get("classes", ["all"]), o.get("class_titles", [""]), strict=True):
        lines: dict[str, list] = {}
        for runs, p in _selected(study, e, mode):
            x = samples.get(runs.name, p.key, klass, m.name)
            if x is not None:
                est = Estimate.of(x)
                lines.setdefault(p.labels["queue"], []).append((float(p.labels["buffer"]), est.mean, est.half))
        panels.append((title, [plots.as_curve(q, study.discipline_title(q), v) for q, v in lines.items()]))
    if not any(lines for _, lines in panels):
        return None
    reference = (100.0, "fair share") if m.name == "share" else None
    limits = tuple(o["limits"]) if "limits" in o else None
    ylabel = f"{m.title} ({m.unit})" if m.unit not in ("1", "%") else m.title
    return plots.curves(panels, "buffer (packets)", ylabel, reference=reference, limits=limits)


def _draw_bars(study: Study, e: Experiment, o: dict, mode: str, samples: Samples):
    from tailback import plots

    groups, fair = [], 1.0
    for runs, p in _selected(study, e, mode):
        x = samples.goodputs.get((runs.name, p.key, "all"))
        if x is not None:
            groups.append((p.labels["queue"], study.discipline_title(p.labels["queue"]), x[0] / 1e6))
            fair = runs.fair_share_bps / 1e6
    return plots.goodput_bars(groups, fair) if groups else None


def _draw_queue(study: Study, e: Experiment, o: dict, mode: str, samples: Samples):
    from tailback import _core, plots, predict
    from tailback.measure import overflows

    for runs, p in _selected(study, e, mode):
        if (runs.name, p.key) not in samples.queues:
            continue
        t, q = samples.queues[runs.name, p.key]
        full = runs.buffer_of(p.key)
        w = o["model"]
        c = _core.parse_rate(w["rate"]) / 8 / _core.parse_bytes(w["packet"])
        model = predict.tail_drop(w["flows"], c, _core.parse_time(w["rtt"]), full, w["hit_share"])
        at = overflows(q, full)
        if len(at) == 0:
            return plots.queue_against_time(t, q, full)
        # The third overflow: the first two belong to the start.
        origin = float(t[at[min(2, len(at) - 1)]])
        end = min(float(t[-1]), origin + max(4 * model.cycle_s, 5.0))
        cycles = math.ceil((end - origin) / max(model.level()[0][-1], 1e-9))
        times, levels = model.level(cycles)
        start = max(0.0, origin - 0.15 * (end - origin))
        label = f"model, {100 * w['hit_share']:g} % of flows hit"
        return plots.queue_against_time(t, q, full, ([origin + x for x in times], levels), (start, end), label)
    return None


_DRAW = {"curves": _draw_curves, "goodput-bars": _draw_bars, "queue-against-time": _draw_queue}


def _table(study: Study, e: Experiment, o: dict, mode: str, samples: Samples, out: Path, number: int) -> dict:
    """Means with 95 % intervals, one row a point and class; written as CSV and kept for the report."""
    classes, measures = o.get("classes", ["all"]), [MEASURES[m] for m in o["measures"]]
    rows, plain = [], []
    chosen = _selected(study, e, mode)
    axes = list(chosen[0][0].axes) if chosen else []
    varied = [a for a in axes if len({p.labels.get(a.name) for _, p in chosen}) > 1 or a.disciplines]
    several = len(e.runs) > 1
    for runs, p in chosen:
        for klass in classes:
            values = []
            for m in measures:
                x = samples.get(runs.name, p.key, klass, m.name)
                values.append(Estimate.of(x) if x is not None else None)
            if all(v is None for v in values):
                continue
            head = [study.discipline_title(p.labels[a.name]) if a.disciplines else p.labels[a.name] for a in varied]
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
    from tailback import _core, fingerprint, report

    s = r.study
    bundle = {
        "kind": "study",
        "study": {k: s.about.get(k, "") for k in ("id", "title", "citation", "question", "method", "caution")},
        "setup": s.about.get("setup", []),
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
            p.name: p.read_text(encoding="utf-8") for p in dict.fromkeys(x.scenario for x in s.runs.values())
        },
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
    report.write(r.out)


# ------------------------------------------------------------------------------------------------------ the terminal

_SIGN = {YES: "reproduced", NO: "NOT REPRODUCED", OPEN: "not testable"}


def verdict_text(verdicts: list[Verdict], width: int = 80) -> str:
    """The verdict table for a terminal: at most `width` columns."""
    width = max(60, min(width, 100))
    left = max((len(v.id) for v in verdicts), default=4) + 2
    indent = " " * (left + 16)
    lines = []
    experiment = None
    for v in verdicts:
        if v.experiment != experiment:
            experiment = v.experiment
            title = "Arithmetic" if experiment == "predict" else experiment
            lines += ["", title, "-" * width]
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


def summary_text(verdicts: list[Verdict]) -> str:
    n = count(verdicts)
    return (
        f"{n[YES]} reproduced, {n[NO]} not reproduced, {n[OPEN]} not testable; "
        f"{n['compared']} more compared but not gated (Tail Drop is ruled by phase)"
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
    @click.argument("what", metavar="[STUDY[/EXPERIMENT]]", required=False)
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
            r = reproduce(study, chosen, mode, out, jobs, seeds, told, overrides, command=" ".join(line))
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
    """`STUDY`, `STUDY/EXPERIMENT` or the path of a study's folder, with or without an experiment behind it."""
    what = what.rstrip("/")
    if _is_study(what):
        study = studies.load(what, replaced)
        return study, study.experiments
    name, sep, experiment = what.rpartition("/")
    if not sep:
        study = studies.load(what, replaced)
        return study, study.experiments
    study = studies.load(name, replaced)
    return study, [study.experiment(experiment)]


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


def _print(r: Reproduction) -> None:
    width = min(100, shutil.get_terminal_size((80, 24)).columns)
    for name in r.study.replaced:
        click.echo(f"Note: another queue runs under the name of {name}; these verdicts are not about the study.")
    click.echo(verdict_text(r.verdicts, width))
    click.echo("")
    for line in textwrap.wrap(summary_text(r.verdicts), width):
        click.echo(line)
    if 0 < r.seeds < 5:
        times = f"{r.seeds} seed{'s' if r.seeds > 1 else ''}"
        text = f"Each point was run with {times}; the study's rules ask for 5: use --seeds 5 or --full."
        for line in textwrap.wrap(text, width):
            click.echo(line)
    click.echo(f"{r.runs} runs ({r.reused} kept from before), {_duration(r.seconds)}, {r.cpu_s:.0f} CPU s")
    click.echo(f"report: {r.report}")


__all__ = ["Interrupted", "Reproduction", "listing", "matches", "register", "reproduce", "summary_text", "verdict_text"]
