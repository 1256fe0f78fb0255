"""Writes the page of all studies, with the outcomes and the figures of each, and a short form of the page as
Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tailback.core.text.whole import write_text
from tailback.core.verdict import COUNT_HEADS, kinds_rows, told
from tailback.core.verdict.told import Told
from tailback.show.report.markdown import columns, counts, wrapped
from tailback.show.report.page import Picture, picture, render
from tailback.show.report.study_page import KIND_HEADS
from tailback.show.report.study_page import counts as by_outcome

#: The most figures of a study on the page. The study's own report has all of them.
MOST_FIGURES = 12


def write(out: Path, folders: Sequence[Path]) -> None:
    """Writes `report.html` and `summary.md` of all studies from the files in the folder of each study."""
    by_folder = [(folder, told.read(folder)) for folder in folders]
    studies = [t for _, t in by_folder]
    mode = studies[0].mode if studies else "quick"
    page = render(
        "all.html",
        title="All studies: report",
        mode=mode,
        version=studies[0].version if studies else "",
        build=studies[0].build if studies else "",
        heads=[(x, "") for x in ("Study", *COUNT_HEADS, "runs")],
        totals=_totals(studies),
        kind_heads=KIND_HEADS,
        studies=[_study(out, folder, t) for folder, t in by_folder],
    )
    write_text(out / "report.html", page)
    write_text(out / "summary.md", summary(studies))


def _totals(studies: Sequence[Told]) -> list[list[str]]:
    """One row for each study: its name, and a number for each outcome."""
    rows = [[t.study.id, *(str(t.count[n]) for n in COUNT_HEADS), str(t.runs)] for t in studies]
    sums = [sum(t.count[n] for t in studies) for n in COUNT_HEADS] + [sum(t.runs for t in studies)]
    return [*rows, ["all", *map(str, sums)]]


def _study(out: Path, folder: Path, t: Told) -> dict[str, Any]:
    pictures: list[Picture] = []
    left_out_count = 0
    folder_path = folder.relative_to(out).as_posix()
    for s in t.sections:
        for f in s["figures"]:
            if len(pictures) >= MOST_FIGURES:
                left_out_count += 1
                continue
            shown_picture = picture(folder, f["files"], f"{s['id']}: {f['caption'] or s['title']}")
            if shown_picture is not None:
                # Links from this page go through the study's folder.
                links = [(kind, f"{folder_path}/{file}") for kind, file in shown_picture.links]
                pictures.append(replace(shown_picture, links=links))
    return {
        "id": t.study.id,
        "title": t.study.title,
        "citation": t.study.citation,
        "names": t.study.names,
        "folder": folder_path,
        "counts": by_outcome(t.count),
        "kinds": kinds_rows(t.kinds),
        "opening": t.opening,
        "pictures": pictures,
        "left": left_out_count,
        "failed": t.failed,
        "facts": [
            ("Runs", str(t.runs)),
            ("Fewest seeds of a point that is repeated", str(t.seeds) if t.seeds else "nothing is drawn"),
            ("Again", t.command),
        ],
    }


def summary(studies: Sequence[Told]) -> str:
    """The outcomes of all studies, for a page of documentation."""
    lines = [
        "# What the studies came to",
        "",
        *wrapped(
            "Written by `tailback reproduce` as `summary.md`. Counts are of published values and sentences that are "
            "judged; those compared are not. Read anew: judged rows whose rule, or a reading that they rest on, was "
            "chosen after a look at results."
        ),
        "",
        f"| study | {' | '.join(COUNT_HEADS)} | runs |",
        columns(len(COUNT_HEADS) + 2),
        *(f"| {' | '.join(row)} |" for row in _totals(studies)),
    ]
    for t in studies:
        lines += ["", f"## {t.study.id}", "", *wrapped(t.study.citation), ""]
        lines += [*wrapped(f"Measured by `{t.command}` with version {t.version}."), ""]
        for s in t.opening:
            lines += wrapped(f"* {s}", "  ")
        lines += ["", *counts(t.kinds)]
    return "\n".join(lines) + "\n"
