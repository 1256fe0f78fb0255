"""The report of a study: what was found, figures and tables, the counts, the verdicts folded, and how it was made."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from tailback.report import ReportError
from tailback.report.page import picture, render, write_page
from tailback.study.verdict import kinds_rows

_KIND = {"reproduced": "yes", "not reproduced": "no", "not testable": "open"}
_SIGN = {"yes": "✓", "no": "✗", "open": "–"}

#: The classes of cells of published tables, where they are counted.
CLASSES = [
    ("A", "deterministic: within 0.02 packets/s, and 0.03 s for delays"),
    ("B", "statistical: within three published standard deviations of the mean, or 10 % of it if that is more"),
    ("Q", "ruled by phase or by what the source leaves open: compared, not judged"),
]

#: What `study.json` holds, and parts of it.
Bundle = dict[str, Any]


def write(folder: Path) -> Path:
    """Write `report.html` into the folder of a study, from its `study.json`; gives back its path."""
    try:
        text = study_page(folder, json.loads((folder / "study.json").read_text(encoding="utf-8")))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as e:
        raise ReportError(f"{folder / 'study.json'} is damaged; `tailback reproduce` writes it anew") from e
    return write_page(folder, text)


def study_page(folder: Path, b: Bundle) -> str:
    """The page from what `study.json` holds; figures are read from `folder`."""
    c = b["count"]
    return render(
        "study.html",
        title=f"{b['study']['id']}: report",
        study=b["study"],
        replaced=b.get("replaced", {}),
        overrides=b.get("overrides", []),
        failed=b.get("failed", []),
        seeds=b.get("seeds", 0),
        counts=[
            ("yes", c["reproduced"], "reproduced"),
            ("no", c["not reproduced"], "not reproduced"),
            ("open", c["not testable"], "not testable"),
            ("open", c["compared"], "compared, not judged"),
        ],
        opening=b["opening"],
        kinds=kinds_rows(b["kinds"]),
        classes=CLASSES if any(v["grade"] for v in b["verdicts"]) else [],
        groups=_groups(b),
        setup=[(x["what"], x["value"]) for x in b["setup"]],
        sections=[_section(folder, x) for x in b["sections"]],
        mode=b["mode"],
        disciplines=[(d["title"], d["queue"]) for d in b["disciplines"].values()],
        parameters=b.get("parameters", []),
        scenarios=b["scenarios"],
        again=_again(b),
        manifest=[
            ("tailback", b["version"]),
            ("Build", b["build"]),
            ("Runs", str(b["runs"])),
            ("Mode", b["mode"]),
            ("Study", b["study"]["id"]),
        ],
    )


def _section(folder: Path, x: Bundle) -> Bundle:
    pictures = [picture(folder, f["files"], f["caption"]) for f in x["figures"]]
    return {"notes": [], **x, "pictures": pictures, "tables": [{"note": "", **t} for t in x["tables"]]}


def _again(b: Bundle) -> list[tuple[str, str]]:
    s = b["study"]["id"]
    return [
        (b["command"], "this report"),
        (f"tailback reproduce {s} --full", "every point and seed"),
        (f"tailback reproduce {s}/{b['sections'][0]['id']}", "one experiment"),
        *((x["command"], x["what"]) for x in b.get("again", [])),
    ]


def _groups(b: Bundle) -> list[Bundle]:
    """The verdicts by experiment, in their order."""
    titles = {
        x["id"]: f"{x['id']} ({x['item']})  {x['title']}" if x["item"] else f"{x['id']}  {x['title']}"
        for x in b["sections"]
    }
    found = []
    said: dict[str, str] = {}
    for experiment, part in itertools.groupby(b["verdicts"], key=lambda v: v["experiment"]):
        verdicts = list(part)
        # Cells stand in their tables; here only those that should be within what is allowed and are not.
        rows = [v for v in verdicts if not v["grade"] or (v["gate"] and v["outcome"] == "not reproduced")]
        found.append(
            {
                "title": titles.get(experiment, "Arithmetic: the models"),
                "cells": _cell_counts([v for v in verdicts if v["grade"]]),
                "rows": [_row(v, said) for v in rows],
                "unmet": sum(v["gate"] and v["outcome"] == "not reproduced" for v in verdicts),
                "all": len(verdicts),
            }
        )
    return found


def _cell_counts(verdicts: list[Bundle]) -> list[Bundle]:
    """One row for each class of cells: how many are within what it allows."""
    rows = []
    for grade in dict.fromkeys(v["grade"] for v in verdicts):
        made = [v for v in verdicts if v["grade"] == grade and v["outcome"] != "not testable"]
        if not made:
            continue
        within = sum(v["outcome"] == "reproduced" for v in made)
        every = within == len(made)
        rows.append(
            {
                "grade": grade,
                "kind": "open" if grade == "Q" else "yes" if every else "no",
                "word": "compared" if grade == "Q" else "✓ reproduced" if every else f"{within} of {len(made)}",
                "within": within,
                "made": len(made),
                "asked": "not judged" if grade == "Q" else f"what class {grade} allows",
            }
        )
    return rows


def _row(v: Bundle, said: dict[str, str]) -> Bundle:
    """A verdict with the words of its row. `said` has each reason with the row that gives it: a reason is said once."""
    outcome = v["outcome"]
    kind = _KIND[outcome]
    word = f"{_SIGN[kind]} {outcome}"
    if not v["gate"] and outcome != "not testable":
        word = "compared: " + ("agrees" if kind == "yes" else "differs")
        kind = "open"
    asked = v["tolerance"] if v["published"] == "as stated" else f"{v['published']}, within {v['tolerance']}"
    if v["reference"]:
        asked += f"; reference {v['reference']}"
    named = v["source"] and not v["id"].startswith(v["source"])
    explanation = v["explanation"]
    first = said.setdefault(explanation, v["id"]) if explanation else v["id"]
    return {
        **v,
        "explanation": explanation if first == v["id"] else "",
        "as_before": first if first != v["id"] else "",
        "kind": kind,
        "word": word,
        "asked": asked,
        "measured": v["measured"] if outcome != "not testable" or v["seeds"] else "not run",
        "origin": f"{v['id']}: {v['source']}" if named else v["id"],
    }
