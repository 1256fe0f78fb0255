"""The page of all studies: what each came to, and its figures; and the same in short as Markdown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tailback.report.markdown import wrapped
from tailback.report.page import Picture, picture, render
from tailback.store.manifest import write_text
from tailback.study.verdict import NO, OPEN, YES, kinds_rows
from tailback.study.write import Reproduction

#: As many figures of a study are on the page; all of them are in its own report.
MOST_FIGURES = 12


def write(out: Path, found: Sequence[Reproduction]) -> None:
    """`report.html` and `summary.md` of all studies, from what each has written into its folder."""
    told = [(r, json.loads((r.out / "study.json").read_text(encoding="utf-8"))) for r in found]
    mode = found[0].mode if found else "quick"
    page = render(
        "all.html",
        title="All studies: report",
        mode=mode,
        version=told[0][1]["version"] if told else "",
        build=told[0][1]["build"] if told else "",
        totals=_totals([b for _, b in told]),
        studies=[_study(out, r, b) for r, b in told],
    )
    write_text(out / "report.html", page)
    write_text(out / "summary.md", summary([b for _, b in told]))


def _totals(bundles: Sequence[dict[str, Any]]) -> list[list[str]]:
    """A row a study: its name, and a number for each outcome."""
    names = (YES, NO, OPEN, "compared")
    rows = [[b["study"]["id"], *(str(b["count"][n]) for n in names), str(b["runs"])] for b in bundles]
    sums = [sum(b["count"][n] for b in bundles) for n in names] + [sum(b["runs"] for b in bundles)]
    return [*rows, ["all", *map(str, sums)]]


def _study(out: Path, r: Reproduction, b: dict[str, Any]) -> dict[str, Any]:
    pictures: list[Picture] = []
    left = 0
    for s in b["sections"]:
        for f in s["figures"]:
            if len(pictures) >= MOST_FIGURES:
                left += 1
                continue
            found = picture(r.out, f["files"], f"{s['id']}: {f['caption'] or s['title']}")
            if found is not None:
                # Links from this page go through the study's folder.
                links = [(kind, f"{r.out.relative_to(out).as_posix()}/{file}") for kind, file in found.links]
                pictures.append(Picture(found.caption, found.mime, found.data, links))
    c = b["count"]
    return {
        **b["study"],
        "folder": r.out.relative_to(out).as_posix(),
        "counts": [
            ("yes", c[YES], YES),
            ("no", c[NO], NO),
            ("open", c[OPEN], OPEN),
            ("open", c["compared"], "compared, not judged"),
        ],
        "kinds": kinds_rows(b["kinds"]),
        "opening": b["opening"],
        "pictures": pictures,
        "left": left,
        "failed": b["failed"],
        "facts": [
            ("Runs", str(b["runs"])),
            ("Fewest seeds of a point that is repeated", str(b["seeds"]) if b["seeds"] else "nothing is drawn"),
            ("Again", b["command"]),
        ],
    }


def summary(bundles: Sequence[dict[str, Any]]) -> str:
    """What all studies came to, for a page of documentation."""
    lines = [
        "# What the studies came to",
        "",
        *wrapped(
            "Written by `tailback reproduce` as `summary.md`. Counts are of published values and sentences that are "
            "judged; those compared are not."
        ),
        "",
        "| study | reproduced | not reproduced | not testable | compared | runs |",
        "|---|---|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in _totals(bundles)),
    ]
    for b in bundles:
        lines += ["", f"## {b['study']['id']}", "", *wrapped(b["study"]["citation"]), ""]
        lines += [*wrapped(f"Measured by `{b['command']}` with version {b['version']}."), ""]
        for s in b["opening"]:
            lines += wrapped(f"* {s}", "  ")
        lines += ["", "| kind | reproduced | not reproduced | not testable | compared |", "|---|---|---|---|---|"]
        lines += [f"| {' | '.join(row)} |" for row in kinds_rows(b["kinds"])]
    return "\n".join(lines) + "\n"
