"""The page `docs/measured-by-others.md`: counts by source and table, what is outside and why, what is not compared."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from .cells import WITHOUT_REPETITION, Source
from .compare import Count, Verdict, count, weighted
from .setups import ASSUMED

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/measured-by-others.md"
#: Why cells are outside, by source and table, and what the first run had.
OUTSIDE = ROOT / "validation/outside.toml"

UNKNOWN = "No mechanism is known."

HEAD = """# Measured by others

This page compares tables that others measured with simulations of the same scenarios. Every number of these sources
that names rate, round trip, queue and senders is a cell. The cells were committed before the first run, and no model
was changed for them. Two parameters of scenarios were chosen after a look at cells ([the first run](#the-first-run)).
A cell is inside if the mean over {seeds} seeds is within the source's own repetition, or within 15 % if the source
repeats nothing. A table of a fair queue counts as one cell. Data and rules are in `validation/measured`.

```text
python validation/measured_by_others.py            # runs all, and writes this page
python validation/measured_by_others.py --cells    # prints every cell of the last run, with its tolerance
```
"""


def write(sources: list[Source], verdicts: dict[str, list[Verdict]], seeds: int) -> None:
    """Writes the page."""
    PAGE.write_text(text(sources, verdicts, seeds), encoding="utf-8")


def text(sources: list[Source], verdicts: dict[str, list[Verdict]], seeds: int) -> str:
    outside = tomllib.loads(OUTSIDE.read_text(encoding="utf-8"))
    lines = [HEAD.format(seeds=seeds), *_summary(sources, verdicts), "", *_shown(verdicts, outside["reason"]), ""]
    lines += ["## What it says", "", outside["says"].strip(), "", "## The first run", "", outside["first"].strip(), ""]
    for source in sources:
        lines += _source(source, verdicts[source.key], outside["reason"])
    return "\n".join(lines).rstrip() + "\n"


def _summary(sources: list[Source], verdicts: dict[str, list[Verdict]]) -> Iterator[str]:
    counts = [count(verdicts[source.key]) for source in sources]
    yield "| source | cells | inside | |"
    yield "|---|---:|---:|---:|"
    for source, each in zip(sources, counts, strict=True):
        link = f"[{source.document['short']}](#{_anchor(source.document['title'])})"
        yield f"| {link} | {each.cells} | {each.inside} | {_percent(each)} |"
    total = Count(sum(each.cells for each in counts), sum(each.inside for each in counts))
    yield f"| all | {total.cells} | {total.inside} | {_percent(total)} |"
    yield f"| all, no source above a third | | | {100 * weighted(counts):.0f} % |"


def _source(source: Source, verdicts: list[Verdict], reasons: list[dict[str, Any]]) -> Iterator[str]:
    document = source.document
    yield f"## {document['title']}"
    yield ""
    yield f"<{document['url']}>, {_commit(document['commit'])}: {document['file']}."
    yield f"Measured on {document['on']}."
    yield ""
    yield "| table | cells | inside | within 15 % | ours to theirs, median |"
    yield "|---|---:|---:|---:|---:|"
    for table in document["table"]:
        mine = [each for each in verdicts if each.cell.table is table]
        if mine:
            yield _row(table, mine)
    yield ""
    for setup in dict.fromkeys(table["setup"] for table in document["table"]):
        yield f"* Here, `{setup}`: {ASSUMED[setup]}."
    yield ""
    yield from _outside(source.key, verdicts, reasons)
    for absent in source.absent:
        yield f"* Not compared: {absent['table']}: {absent['why']}."
    yield ""


def _row(table: dict[str, Any], verdicts: list[Verdict]) -> str:
    inside = sum(each.inside for each in verdicts)
    near = sum(abs(each.ratio - 1) <= WITHOUT_REPETITION for each in verdicts)
    ratios = [each.ratio for each in verdicts if math.isfinite(each.ratio)]
    one = " (one cell)" if table.get("one_figure") else ""
    return f"| {table['name']}{one} | {len(verdicts)} | {inside} | {near} | {median(ratios):.2f} |"


def reason_of(source: str, verdict: Verdict, reasons: list[dict[str, Any]]) -> str:
    """Why a cell is outside, as far as it is known."""
    for reason in reasons:
        where = reason.get("where", {})
        if (
            reason["source"] == source
            and verdict.cell.table["name"] in reason.get("tables", [verdict.cell.table["name"]])
            and all(verdict.cell.row.get(name) in values for name, values in where.items())
        ):
            return str(reason["why"])
    return UNKNOWN


def _shown(verdicts: dict[str, list[Verdict]], reasons: list[dict[str, Any]]) -> Iterator[str]:
    outside = sum(not each.inside for group in verdicts.values() for each in group)
    yield (
        f"For {sum(r['shown'] for r in reasons)} of {outside} numbers outside (each number of a fair queue counted), "
        "the given reason is shown: the number comes inside with one thing changed, or the source contradicts "
        "itself. For the others the page gives a guess, which it calls a guess, or no reason."
    )


def _outside(source: str, verdicts: Iterable[Verdict], reasons: list[dict[str, Any]]) -> Iterator[str]:
    why = Counter(reason_of(source, each, reasons) for each in verdicts if not each.inside)
    if why:
        yield "Outside:"
        yield ""
        for text, number in why.most_common():
            yield f"* {number} {'cell' if number == 1 else 'cells'}: {text}"
        yield ""


def _percent(each: Count) -> str:
    return f"{100 * each.inside / each.cells:.0f} %"


def _commit(text: str) -> str:
    return f"commit {text[:10]}" if len(text) == 40 else text


def _anchor(title: str) -> str:
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -")
    return kept.replace(" ", "-")
