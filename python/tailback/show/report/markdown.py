"""Writes the verdicts of a study as Markdown, for a page of documentation: `verdicts.md` in a folder of results."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.core.verdict import (
    ANEW,
    AS_STATED,
    COMPARED,
    COUNT_HEADS,
    LEANS,
    NO,
    OPEN,
    YES,
    Counts,
    Verdict,
    kinds_rows,
)
from tailback.core.verdict.told import Told

_WORD = {YES: YES, LEANS: f"*{LEANS}*", NO: f"**{NO}**", OPEN: OPEN}


#: The heads of the table of a source's parts.
SOURCE_HEADS = ("Part of the source", "Where it is here", "What came of it")


def verdicts(told: Told) -> str:
    """A table for each experiment, and below it the reasons for rows that do not agree."""
    c = told.count
    titles = {
        x["id"]: f"{x['id']} ({x['item']}): {x['title']}" if x["item"] else f"{x['id']}: {x['title']}"
        for x in told.sections
    }
    lines = [
        f"# {told.study.id}: verdicts",
        "",
        f"As measured by `{told.command}` with version {told.version}: {c[YES]} {YES}, {c[LEANS]} lean, {c[NO]} "
        f"{NO}, {c[OPEN]} {OPEN}, {c[ANEW]} of all these {ANEW}; {c[COMPARED]} more are compared but not judged "
        "(agrees, leans, differs). "
        "Means over seeds, ± half the 95 % interval where there is more than one seed. Written by "
        "`tailback reproduce` as `verdicts.md`.",
        "",
    ]
    lines[2] = "\n".join(wrapped(lines[2]))
    lines += counts(told.kinds)
    group = None
    # Cells of published tables are shown in their own tables.
    rows = [verdict for verdict in told.verdicts if not verdict.grade]
    for verdict in rows:
        if verdict.experiment != group:
            group = verdict.experiment
            lines += ["", f"## {titles.get(group, 'Arithmetic: the models')}", ""]
            lines += ["| id | statement | outcome | measured | published, or what the rule asks | seeds |"]
            lines += ["|---|---|---|---|---|---|"]
        lines.append(_row(verdict))
    lines += _cells([verdict for verdict in told.verdicts if verdict.grade])
    lines += _anew(told.verdicts)
    part_verdicts = [verdict for verdict in rows if verdict.part]
    if part_verdicts:
        lines += ["", "## In part", ""]
        for verdict in part_verdicts:
            lines += wrapped(f"* **{verdict.id}** {verdict.part}", "  ")
    lines += ["", "## What of the source is here", ""]
    lines += [f"| {' | '.join(SOURCE_HEADS)} |", columns(len(SOURCE_HEADS))]
    lines += [f"| {' | '.join(x.replace('|', '/') for x in row)} |" for row in completeness(told)]
    explained_rows = [verdict for verdict in rows if _why(verdict)]
    if explained_rows:
        lines += ["", "## Why the others differ", ""]
        for verdict in explained_rows:
            lines += wrapped(f"* **{verdict.id}** {_why(verdict)}", "  ")
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def completeness(told: Told, page: str = "[{0}](../{0})") -> list[list[str]]:
    """The items of the source. Each has its place here and its outcomes, the reductions, or the reason why it is
    missing.

    `page` is the form in which a page of docs/ is named; the default is a relative link. For a study without a list of
    its source's items, these are the items that its experiments name.
    """
    verdicts_of = {
        section["id"]: [v for v in told.verdicts if v.experiment == section["id"]] for section in told.sections
    }
    if not told.study.source:
        named_sections = [
            section for section in told.sections if section["item"] and not section["item"].startswith("asked here")
        ]
        return [
            [section["item"], section["id"], _came_to(verdicts_of[section["id"]]) or "figures and tables alone"]
            for section in named_sections
        ]
    rows = []
    for covered in told.study.source:
        models = [f"`tailback describe {name}`" for name in covered.models]
        pages = [page.format(covered.docs)] if covered.docs else []
        places = [*covered.experiments, *models, *covered.files, *pages, *([covered.here] if covered.here else [])]
        came = _came_to([v for name in covered.experiments for v in verdicts_of.get(name, [])])
        less_text = f"less: {covered.reduced}" if covered.reduced else ""
        told_of = (
            f"missing: {covered.missing}"
            if covered.missing
            else "; ".join(t for t in (came, less_text) if t) or "there"
        )
        rows.append([covered.part, ", ".join(places) or "-", told_of])
    return rows


def _came_to(verdicts: Sequence[Verdict]) -> str:
    """The number of rows for each outcome; empty without rows."""
    gate_verdicts = [v for v in verdicts if v.gate]
    counts = [f"{n} {x}" for x in (YES, LEANS, NO, OPEN) if (n := sum(v.outcome == x for v in gate_verdicts))]
    compared_count = len(verdicts) - len(gate_verdicts)
    return ", ".join([*counts, *([f"{compared_count} {COMPARED}"] if compared_count else [])])


def _anew(verdicts: Sequence[Verdict]) -> list[str]:
    """The rows whose rule, or a reading on which they depend, was chosen after a look at results."""
    lines: list[str] = []
    rejudged_rows = [v for v in verdicts if v.words]
    if rejudged_rows:
        lines += ["", "## Read anew", ""]
        explanation = "Sentences whose rule was read anew after a look at results: the words, and the first rule."
        lines += [*wrapped(explanation), ""]
        for v in rejudged_rows:
            lines += wrapped(f"* **{v.id}** In the source: {v.words}. By the first rule: {v.first}.", "  ")
    by_reading: dict[str, list[str]] = {}
    for v in verdicts:
        if v.chosen:
            by_reading.setdefault(v.chosen, []).append(v.id)
    if by_reading:
        lines += ["", "## Readings chosen after a look", ""]
        lines += [*wrapped("Readings of what the source leaves open, and the judged rows that rest on them."), ""]
        for reading, ids in by_reading.items():
            rows = f"{', '.join(ids)}" if len(ids) <= 12 else f"{', '.join(ids[:12])} and {len(ids) - 12} more"
            lines += wrapped(f"* {reading}: {rows}.", "  ")
    return lines


def counts(kinds: dict[str, Counts]) -> list[str]:
    """The table of counts by kind."""
    rows = [["kind", *COUNT_HEADS], *kinds_rows(kinds)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [lines[0], columns(len(rows[0])), *lines[1:]]


def columns(n: int) -> str:
    """The line below the heads of a table."""
    return f"|{'---|' * n}"


def _cells(cells: list[Verdict]) -> list[str]:
    """The number of cells of the published tables within their tolerance, and the cells of class A and B outside of
    it."""
    if not cells:
        return []
    grades = sorted({v.grade for v in cells})
    lines = ["", "## Cells of the published tables", ""]
    lines += [
        *wrapped(
            "How many are within what they allow: class A is deterministic, B statistical, Q ruled by phase or by an "
            "open choice and only compared."
        ),
        "",
    ]
    lines += [f"| table | {' | '.join(grades)} |", f"|---|{'---|' * len(grades)}"]
    tables = list(dict.fromkeys(v.table for v in cells))
    for name in [*tables, "all"]:
        counts = []
        for g in grades:
            outcomes_of_metric = [v.outcome for v in cells if v.grade == g and name in (v.table, "all")]
            lean = f" and {outcomes_of_metric.count(LEANS)} more than 25 % off" if LEANS in outcomes_of_metric else ""
            counts.append(
                f"{outcomes_of_metric.count(YES)}{lean} of {len(outcomes_of_metric)}" if outcomes_of_metric else ""
            )
        lines.append(f"| {name} | " + " | ".join(counts) + " |")
    missed_cells = [v for v in cells if v.unmet]
    if missed_cells:
        lines += ["", "Outside, measured for published:", ""]
    for explanation in dict.fromkeys(v.explanation for v in missed_cells):
        rows: dict[str, dict[str, list[str]]] = {}
        for v in missed_cells:
            if v.explanation == explanation and (c := v.cell) is not None:
                rows.setdefault(c.row, {}).setdefault(c.metric, []).append(f"{c.source} {v.measured} for {c.published}")
        by_row = [
            f"**{row}** " + "; ".join(f"{metric}: {', '.join(values)}" for metric, values in by.items())
            for row, by in rows.items()
        ]
        lines += wrapped(f"* {'. '.join(by_row)}. {explanation}".rstrip(), "  ")
    return lines


def _why(v: Verdict) -> str:
    """The reason why a row does not agree, and its outcomes under other readings of the source."""
    readings = v.readings if v.outcome in (NO, LEANS) else []
    otherwise = f"Read otherwise: {'; '.join(readings)}." if readings else ""
    return " ".join(x for x in (v.explanation, otherwise) if x)


def _row(v: Verdict) -> str:
    word = v.compared or _WORD[v.outcome]
    measured_text = "-" if v.outcome == OPEN and not v.seeds else v.measured
    wanted_text = v.tolerance if v.published == AS_STATED else f"{v.published}, {v.tolerance}"
    if v.reference:
        wanted_text += f"; reference {v.reference}"
    if v.anew:
        word += f"; {ANEW}"
    cells = [v.id, v.sentence, word, measured_text, wanted_text, str(v.seeds or "")]
    return "| " + " | ".join(x.replace("|", "/").replace("\n", " ") for x in cells) + " |"


def wrapped(text: str, indent: str = "") -> list[str]:
    import textwrap

    return textwrap.wrap(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
