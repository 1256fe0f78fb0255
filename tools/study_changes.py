#!/usr/bin/env python3
"""The tables of docs/studies/changes.md: what a second reading of the sources changed, row by row and in counts.

    tools/study_changes.py write       put them into the page, between its two marks
    tools/study_changes.py check       exit 1 if the page has others

Outcomes before, classes and reasons are in docs/studies/second-reading.toml; outcomes after are those of the last run
that docs/studies/measured keeps (`tools/study_pages.py take`).
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

from tailback.core.verdict import ANEW, COMPARED, COUNT_HEADS, NO, OPEN, YES, Verdict
from tailback.core.verdict.told import Told
from tailback.study import load as studies

sys.path.insert(0, str(Path(__file__).resolve().parent))
import study_pages

ROOT = study_pages.ROOT
PAGE = ROOT / "docs/studies/changes.md"
ROWS = ROOT / "docs/studies/second-reading.toml"
BEGIN, END = "<!-- tools/study_changes.py writes from here -->", "<!-- to here -->"


def main() -> int:
    if sys.argv[1:] not in (["write"], ["check"]):
        print(__doc__, file=sys.stderr)
        return 2
    page = PAGE.read_text(encoding="utf-8")
    made = with_tables(page)
    if sys.argv[1] == "write":
        PAGE.write_text(made, encoding="utf-8")
    elif made != page:
        what = f"{PAGE.relative_to(ROOT)} is not what the last runs say"
        print(f"{what}; run tools/study_changes.py write", file=sys.stderr)
        return 1
    return 0


def with_tables(page: str) -> str:
    """The page with the tables of the last runs between its marks."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    found = tomllib.loads(ROWS.read_text(encoding="utf-8"))
    counted = found.pop("before")
    lines: list[str] = []
    for name, rows in found.items():
        lines += _study(study_pages.told_of(name), counted[name], rows, measured_anew(name))
    return f"{before}{BEGIN}\n\n" + "\n".join(lines).rstrip("\n") + f"\n\n{END}{after}"


def measured_anew(name: str) -> bool:
    """Whether what is kept of the last run is of the rows that the study has now."""
    kept = json.loads((study_pages.KEPT / f"{name}.json").read_text(encoding="utf-8"))
    return {v["id"] for v in kept["verdicts"]} == set(study_pages.unmeasured(studies.load(name)))


def _study(told: Told, counted: list[int], rows: dict[str, list[str]], anew: bool) -> list[str]:
    """Counts of one study before and after, and a line for each of its rows."""
    measured = {v.id: v for v in told.verdicts}
    earlier = dict(zip((YES, NO, OPEN, COMPARED), counted, strict=True))
    after = f"`{told.command}`" if anew else "the study was not run with these rows yet"
    lines = [f"### {told.study.id}", "", f"After: {after}.", ""]
    lines += [f"| | {' | '.join(COUNT_HEADS)} |", f"|---|{'---|' * len(COUNT_HEADS)}"]
    lines += [f"| before | {' | '.join(str(earlier.get(x, '')) for x in COUNT_HEADS)} |"]
    if anew:
        lines += [f"| after | {' | '.join(str(told.count[x]) for x in COUNT_HEADS)} |"]
    lines += [""]
    lines += ["| row | before | after | class | reason |", "|---|---|---|---|---|"]
    for row, (before, kind, reason) in rows.items():
        now = after_of(measured[row]) if anew else "not run yet"
        lines.append(f"| {row} | {before} | {now} | {kind} | {reason} |")
    return [*lines, ""]


def after_of(v: Verdict) -> str:
    """What a row came to, with its mark."""
    word = f"compared: {v.compared}" if v.compared else v.outcome
    return f"{word}; {ANEW}" if v.anew and v.gate else word


if __name__ == "__main__":
    sys.exit(main())
