"""`tailback report DIR`: a folder of results as one HTML file that needs no network.

Two sorts of folders: one written by `tailback reproduce` (it holds study.json), and one written by `tailback run` or a
sweep (it holds runs.parquet). The first becomes a report of a study, verdicts first; the second a report of what was
run: tables over replications, figures of what varies and of what was recorded (`report_run`).
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from tailback.report.page import details, figure, page, paragraphs, pre, table

NAME = "report.html"
_CLASS = {"reproduced": "yes", "not reproduced": "no", "not testable": "open"}


class ReportError(ValueError):
    """A folder that holds nothing to report."""


def write(folder: str | Path) -> Path:
    """Write `report.html` into a folder of results; gives back its path."""
    folder = Path(folder)
    if (folder / "study.json").is_file():
        text = study_page(folder, json.loads((folder / "study.json").read_text(encoding="utf-8")))
    elif (folder / "runs.parquet").is_file():
        from tailback.report import run_page as report_run

        text = report_run.run_page(folder)
    else:
        raise ReportError(
            f"{folder} holds no results: it has neither study.json (`tailback reproduce`) nor runs.parquet "
            "(`tailback run --out`)"
        )
    from tailback.store.manifest import write_text

    write_text(folder / NAME, text)
    return folder / NAME


# ------------------------------------------------------------------------------------------------- a study's report


def study_page(folder: Path, b: dict) -> str:
    s = b["study"]
    parts = [
        f"<h1>{escape(s['title'])}</h1>",
        f'<p class="meta">Reproduction of {escape(s["citation"])}</p>',
        _warnings(b),
        paragraphs(s["question"]),
        _counts(b),
        _contents(b),
        "<h2>Verdicts</h2>",
        paragraphs(
            "Each row is a number or a sentence of the report. Measured values are means over seeds with 95 % "
            "intervals; an order between disciplines counts only if the difference, taken seed by seed, is clear of "
            "zero. Rows marked “compared” are reported but not judged."
        ),
        _verdicts(b),
        "<h2>Set-up</h2>",
        paragraphs(s["method"]),
        table([("", ""), ("", "")], [(x["what"], x["value"]) for x in b["setup"]], 2).replace(
            '<thead><tr><th class="t"></th><th class="t"></th></tr></thead>', ""
        ),
        paragraphs(s["caution"]),
        "<h2>Figures and tables</h2>",
        *[_section(folder, x, b) for x in b["sections"]],
        "<h2>Parameters</h2>",
        table(
            [("Discipline", ""), ("queue = …", "")], [(d["title"], d["queue"]) for d in b["disciplines"].values()], 2
        ),
        _parameters(b.get("parameters", [])),
        *[details(name, pre(text)) for name, text in b["scenarios"].items()],
        "<h2>How to run it again</h2>",
        _again(b),
    ]
    return page(f"{s['id']}: report", "\n".join(p for p in parts if p))


def _warnings(b: dict) -> str:
    out = []
    for name, queue in b.get("replaced", {}).items():
        out.append(
            f"<b>Another queue ran under the name of {escape(name)}</b>: <code>{escape(queue)}</code>. "
            "These verdicts are not about the study."
        )
    if b.get("overrides"):
        out.append(f"<b>Changed scenarios</b>: <code>{escape(' '.join(b['overrides']))}</code>.")
    if b.get("failed"):
        out.append(f"<b>{len(b['failed'])} runs failed</b>, the first: {escape(b['failed'][0])}")
    if 0 < b.get("seeds", 0) < 5:
        out.append(
            f"Points were run with {b['seeds']} seeds or more, or with one; the rules of the study ask for 5. "
            f"<code>tailback reproduce {escape(b['study']['id'])} --full</code> runs them all."
        )
    return "".join(f'<div class="warn">{x}</div>' for x in out)


def _counts(b: dict) -> str:
    c = b["count"]
    items = [
        ("yes", c["reproduced"], "reproduced"),
        ("no", c["not reproduced"], "not reproduced"),
        ("open", c["not testable"], "not testable"),
        ("open", c["compared"], "compared, not judged"),
    ]
    return '<ul class="counts">' + "".join(f'<li><b class="{k}">{n}</b>{escape(t)}</li>' for k, n, t in items) + "</ul>"


def _contents(b: dict) -> str:
    """Links to the figures of each experiment, where there are several."""
    if len(b["sections"]) < 2:
        return ""
    links = [
        f'<a href="#{escape(x["id"], quote=True)}" title="{escape(x["title"], quote=True)}">{escape(x["id"])}</a>'
        for x in b["sections"]
    ]
    return f'<p class="meta">Figures and tables: {" · ".join(links)}</p>'


def _verdicts(b: dict) -> str:
    titles = {x["id"]: f"{x['id']} ({x['item']})  {x['title']}" for x in b["sections"]}
    rows, group = [], None
    for v in b["verdicts"]:
        if v["experiment"] != group:
            group = v["experiment"]
            rows.append(
                f'<tr class="group"><td colspan="5">{escape(titles.get(group, "Arithmetic: the models"))}</td></tr>'
            )
            rows += _cell_counts([c for c in b["verdicts"] if c["experiment"] == group and c["grade"]])
        # Cells stand in their tables; here only those that should be within what is allowed and are not.
        if not v["grade"] or (v["gate"] and v["outcome"] == "not reproduced"):
            rows.append(_row(v))
    head = "".join(
        f"<th>{h}</th>" for h in ("Outcome", "Statement", "Measured", "Published, or what the rule asks", "Seeds")
    )
    return (
        f'<div class="wide"><table class="verdicts"><thead><tr>{head}</tr></thead><tbody>\n'
        + "\n".join(rows)
        + "\n</tbody></table></div>"
    )


def _cell_counts(verdicts: list[dict]) -> list[str]:
    """One row for each class of cells: how many are within what it allows."""
    rows = []
    for grade in dict.fromkeys(v["grade"] for v in verdicts):
        made = [v for v in verdicts if v["grade"] == grade and v["outcome"] != "not testable"]
        if not made:
            continue
        within = sum(v["outcome"] == "reproduced" for v in made)
        kind = "open" if grade == "Q" else "yes" if within == len(made) else "no"
        word = "compared" if grade == "Q" else "✓ reproduced" if within == len(made) else f"{within} of {len(made)}"
        rows.append(
            f'<tr><td class="{kind}">{word}</td><td>Cells of the published tables, class {grade} '
            f'<span class="source">[in the tables below]</span></td>'
            f'<td data-name="Measured">{within} of {len(made)} within</td>'
            f'<td data-name="Asked">{"not judged" if grade == "Q" else f"what class {grade} allows"}</td><td></td></tr>'
        )
    return rows


def _row(v: dict) -> str:
    outcome = v["outcome"]
    kind = _CLASS[outcome]
    word = {"yes": "✓ ", "no": "✗ ", "open": "– "}[kind] + outcome
    if not v["gate"] and outcome != "not testable":
        word = "compared: " + ("agrees" if kind == "yes" else "differs")
        kind = "open"
    why = f'<span class="why"><b>Why:</b> {escape(v["explanation"])}</span>' if v["explanation"] else ""
    note = f'<span class="why">{escape(v["note"])}</span>' if v["note"] else ""
    checks = ""
    if len(v["checks"]) > 1:
        items = "".join(
            f"<li>{escape(c['what'])}: {escape(c['measured'])}; asked {escape(c['required'])}: {escape(c['outcome'])}"
            + (f" ({escape(c['remark'])})" if c["remark"] else "")
            + "</li>"
            for c in v["checks"]
        )
        checks = details(f"{len(v['checks'])} checks", f"<ul>{items}</ul>")
    elif v["checks"] and v["checks"][0]["remark"]:
        checks = f'<span class="why">{escape(v["checks"][0]["remark"])}</span>'
    asked = v["tolerance"] if v["published"] == "as stated" else f"{v['published']}, within {v['tolerance']}"
    if v["reference"]:
        asked += f"; reference {v['reference']}"
    measured = v["measured"] if outcome != "not testable" else "not run"
    measured, asked = (escape(x).replace("; ", "<br>") for x in (measured, asked))
    seeds = str(v["seeds"]) if v["seeds"] else ""
    return (
        f'<tr><td class="{kind}">{word}</td>'
        f'<td>{escape(v["sentence"])} <span class="source">[{escape(_origin(v))}]</span>{why}{note}{checks}</td>'
        f'<td data-name="Measured">{measured}</td><td data-name="Asked">{asked}</td>'
        f'<td data-name="Seeds">{seeds}</td></tr>'
    )


def _origin(v: dict) -> str:
    return f"{v['id']}: {v['source']}" if v["source"] and not v["id"].startswith(v["source"]) else v["id"]


def _section(folder: Path, x: dict, b: dict) -> str:
    item = f' <span class="item">({escape(x["item"])})</span>' if x["item"] else ""
    parts = [
        f'<h3 id="{escape(x["id"], quote=True)}">{escape(x["id"])}{item}  {escape(x["title"])}</h3>',
        paragraphs(x["text"]),
    ]
    parts += [figure(folder, f["files"], f["caption"]) for f in x["figures"]]
    for t in x["tables"]:
        if t["rows"]:
            parts.append(table([tuple(h) for h in t["heads"]], t["rows"], t["text_columns"], t["caption"]))
            note = t.get("note", "Means over seeds ± half the 95 % interval.")
            parts.append(f'<p class="meta">{escape(note)} <a href="{escape(t["file"], quote=True)}">CSV</a></p>')
        else:
            parts.append(f'<p class="meta">{escape(t["caption"])}</p>')
    command = f"tailback reproduce {b['study']['id']}/{x['id']} --{b['mode']}"
    parts.append(f'<p class="meta">Again: <code>{escape(command)}</code></p>')
    return "\n".join(p for p in parts if p)


def _parameters(rows: list[list[str]]) -> str:
    """Every parameter that was used, from the declarations."""
    if not rows:
        return ""
    heads = [("Model", ""), ("Parameter", ""), ("Used", ""), ("Default", ""), ("Source", ""), ("Meaning", "")]
    text = paragraphs(
        "Every parameter of every queue, transport and source that was run, from the program's own declarations; where "
        "scenarios differ, each value with its scenarios."
    )
    return text + details(f"{len(rows)} parameters", table(heads, rows, 6))


def _again(b: dict) -> str:
    s = b["study"]["id"]
    lines = [
        (b["command"], "this report"),
        (f"tailback reproduce {s} --full", "every point and seed"),
        (f"tailback reproduce {s}/{b['sections'][0]['id']}", "one experiment"),
        *((x["command"], x["what"]) for x in b.get("again", [])),
    ]
    rows = table([("Command", ""), ("", "")], lines, 2)
    made = [
        ("tailback", b["version"]),
        ("Build", b["build"]),
        ("Runs", str(b["runs"])),
        ("Mode", b["mode"]),
        ("Specification", "studies/" + s),
    ]
    return (
        rows
        + paragraphs(
            "The same version, build, scenario and seed give the same bytes. Runs already in runs/ are not run again."
        )
        + table([("Manifest", ""), ("", "")], made, 2)
    )
