#!/usr/bin/env python3
"""The pages of verdicts: what `docs/studies/measured` holds of the last run, with the study's own sentences.

    tools/study_pages.py take FOLDER ...     keep what `tailback reproduce` has written into these folders of studies
    tools/study_pages.py write DIR           write STUDY-verdicts.md of each study, and summary.md, to DIR
    tools/study_pages.py words docs/studies  write words.md: what the sources' words ask for

A run of all studies takes an hour, so its outcome is kept: for each published number and sentence what was measured and
what came of it, a line each. Sentences, explanations and limits that do not depend on a run are read from the study.
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

from tailback.core.verdict import LEANS, NO, ONE_SEED, Finding, Verdict, count, kinds
from tailback.core.verdict.told import Said, Told
from tailback.show.report import markdown
from tailback.show.report.all_page import summary
from tailback.study import load as studies
from tailback.study import words
from tailback.study.checks.base import Measured
from tailback.study.judge import Judge, tell_readings
from tailback.study.opening import sentences
from tailback.study.samples import Samples
from tailback.study.study import Study

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "docs/studies/measured"
#: What is kept of the study's run as a whole.
OF_ALL = ("command", "version", "runs")


def main() -> int:
    if len(sys.argv) < 3 or sys.argv[1] not in ("take", "write", "words"):
        print(__doc__, file=sys.stderr)
        return 2
    for place in map(Path, sys.argv[2:]):
        {"take": keep, "write": write, "words": write_words}[sys.argv[1]](place)
    return 0


def keep(folder: Path) -> None:
    """Keep what a run of a study has written into a folder."""
    take(json.loads((folder / "study.json").read_text(encoding="utf-8")))


def take(found: dict[str, Any]) -> None:
    """Keep what a run of all experiments of a study measured."""
    name = found["study"]["id"]
    missing = sorted(set(unmeasured(studies.load(name))) - {v["id"] for v in found["verdicts"]})
    if missing:
        sys.exit(f"{name}: no verdict on {', '.join(missing)}; run the whole study")
    lines = [json.dumps(_kept(v), ensure_ascii=False) for v in found["verdicts"]]
    head = json.dumps({k: found[k] for k in OF_ALL}, ensure_ascii=False)
    KEPT.mkdir(exist_ok=True)
    text = f'{head[:-1]}, "verdicts": [\n' + ",\n".join(lines) + "\n]}\n"
    (KEPT / f"{name}.json").write_text(text, encoding="utf-8")


def _kept(v: dict[str, Any]) -> dict[str, Any]:
    """What only a run can say about a statement; a cell of a published table has its limit in the study."""
    row = {"id": v["id"], "outcome": v["outcome"], "measured": v["measured"]}
    row["part"] = v["part"]
    if not v["grade"]:
        row |= {"required": v["tolerance"], "seeds": v["seeds"], "first": v["first"]}
        row["one_seed"] = any(c["remark"].startswith(ONE_SEED) for c in v["checks"])
    return {k: x for k, x in row.items() if x}


def unmeasured(study: Study) -> dict[str, Verdict]:
    """Every row of the study as it is before a run."""
    rows = Judge(study, Samples.empty()).all({e.id for e in study.experiments})
    return {v.id: v for v in rows}


def told_of(name: str) -> Told:
    """What a run of the study told, as far as pages in Markdown need it."""
    study = studies.load(name)
    kept = json.loads((KEPT / f"{name}.json").read_text(encoding="utf-8"))
    rows = unmeasured(study)
    explained = {x.id: x.explanation for x in (*study.published, *study.statements)}
    for k in kept["verdicts"]:
        if k["id"] not in rows:
            sys.exit(f"{KEPT / name}.json: the study has no statement {k['id']}")
        v = rows[k["id"]]
        v.outcome, v.measured, v.seeds = k["outcome"], k.get("measured", ""), k.get("seeds", 0)
        v.tolerance, v.first, v.part = k.get("required", v.tolerance), k.get("first", ""), k.get("part", "")
        v.explanation = explained[v.id] if v.outcome in (NO, LEANS) else ""
        v.checks = [Finding("", "", "", "", v.outcome, remark=ONE_SEED)] if k.get("one_seed") else []
    tell_readings(rows, study.statements)
    verdicts = list(rows.values())
    return Told(
        **{k: kept[k] for k in OF_ALL},
        study=Said(**{k: getattr(study.about, k) for k in Said.__struct_fields__}),
        setup=[],
        again=[],
        mode="",
        experiments=[],
        verdicts=verdicts,
        count=count(verdicts),
        kinds=kinds(verdicts),
        opening=sentences(verdicts, study.about.claims),
        sections=[{"id": e.id, "item": e.item, "title": e.title} for e in study.experiments],
        disciplines={},
        scenarios={},
        build="",
    )


def write(folder: Path) -> None:
    """A page for each study that has been measured, and one with all of them."""
    told = [told_of(file.stem) for file in sorted(KEPT.glob("*.json"))]
    for t in told:
        page = folder / f"{t.study.id}-verdicts.md"
        page.write_text(markdown.verdicts(t), encoding="utf-8")
    (folder / "summary.md").write_text(summary(told), encoding="utf-8")


def write_words(folder: Path) -> None:
    """What each word of the sources asks for, and the rows that name it."""
    (folder / "words.md").write_text(words_page(), encoding="utf-8")


def words_page() -> str:
    """The table of words."""
    rows: dict[str, dict[str, list[str]]] = {}
    own = []
    for name in sorted(file.stem for file in KEPT.glob("*.json")):
        for s in studies.load(name).statements:
            for word in dict.fromkeys(c.word for c in s.checks if isinstance(c, Measured) and c.word):
                rows.setdefault(word, {}).setdefault(name, []).append(s.id)
            own += [f"| {name} {s.id} | {s.own_limit} |"] * bool(s.own_limit)
    table = []
    for name, word in words.words().items():
        share, points = (_range(w, unit, word.side) for w, unit in ((word.share, "%"), (word.points, "points")))
        named = "; ".join(f"{study}: {', '.join(ids)}" for study, ids in rows.get(name, {}).items())
        table.append(f"| {', '.join(word.forms)} | {share} | {points} | {named or '-'} |")
    return "\n".join(
        [
            "# What the sources' words ask for",
            "",
            *textwrap.wrap(
                'The sources say "about 40 %" or "almost twice" and give no limits. Each word has one limit here, in '
                "all rows that name it. The limits were fixed before the rows were judged by them. "
                "`python/tailback/study/words.toml` has them, and `tools/study_pages.py words docs/studies` writes "
                "this page.",
                140,
            ),
            "",
            "| words | a level or a ratio may lie | a percentage may lie | rows that name it |",
            "|---|---|---|---|",
            *table,
            "",
            "Twice, half, a number: the number itself, without a margin. A gain (about 10 % above) is judged as a "
            "share of the gain.",
            "",
            "Rows whose sentence has one of these words and whose limit is another, with the reason:",
            "",
            "| row | reason |",
            "|---|---|",
            *own,
            "",
        ]
    )


def _range(of: tuple[float, float], unit: str, side: str) -> str:
    """From where to where, in words."""
    low, high = (x * 100 if unit == "%" else x for x in of)
    if side == "below":
        return f"at least {low:g} {unit} below"
    return f"{low:g} {unit} off" if low == high else f"from {low:g} {unit} below to {high:g} above"


if __name__ == "__main__":
    sys.exit(main())
