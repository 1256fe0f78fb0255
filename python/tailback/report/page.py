"""The frame of a report: one HTML file that needs nothing else, to be read on a screen, a phone or paper."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

STYLE = """
:root { --ink: #1d1d1f; --soft: #5c5f66; --line: #dcdcd6; --paper: #fffefb; --panel: #f6f5f0;
  --yes: #00704f; --no: #a63c00; --open: #5c5f66; --link: #00548c; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1.06rem/1.6 Charter, "Bitstream Charter", "Sitka Text", Cambria, Georgia, serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1, h2, h3, table, figcaption, .tag, nav, .meta, code, summary, dt { font-family: "Helvetica Neue", Arial,
  "Liberation Sans", sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.22; font-weight: 600; margin: 0 0 .8rem; max-width: 44rem; letter-spacing:
  -.01em; }
h2 { font-size: 1.3rem; font-weight: 600; margin: 3rem 0 .8rem; padding-top: .9rem; border-top: 1px solid
  var(--line); }
h3 { font-size: 1.05rem; font-weight: 600; margin: 2.2rem 0 .4rem; }
h3 .item { color: var(--soft); font-weight: 400; }
p, ul, ol { max-width: 42rem; margin: .5rem 0 .9rem; }
.meta { color: var(--soft); font-size: .88rem; max-width: 46rem; }
a { color: var(--link); text-underline-offset: .15em; }
figure { margin: 1.2rem 0 1.8rem; }
figure img { max-width: 100%; height: auto; display: block; background: #fff; }
figcaption { font-size: .88rem; line-height: 1.5; color: var(--soft); max-width: 46rem; margin-top: .5rem; }
.wide { overflow-x: auto; margin: .8rem 0 1.6rem; }
table { border-collapse: collapse; font-size: .86rem; line-height: 1.42; }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem; }
th, td { padding: .32rem .8rem .32rem 0; text-align: right; vertical-align: top; border-bottom: 1px solid var(--line);
  font-variant-numeric: tabular-nums; }
th { font-weight: 600; border-bottom: 1.5px solid var(--ink); vertical-align: bottom; }
th small { display: block; font-weight: 400; color: var(--soft); }
th.t, td.t { text-align: left; }
tr.next td { border-top: 1px solid var(--soft); }
table.verdicts { width: 100%; }
table.verdicts td, table.verdicts th { text-align: left; }
table.verdicts td:nth-child(2) { min-width: 17rem; }
table.verdicts tr.group td { border-bottom: 0; padding-top: 1.1rem; font-weight: 600; color: var(--soft); }
td.yes, td.no, td.open { white-space: nowrap; font-weight: 600; }
.yes { color: var(--yes); } .no { color: var(--no); } .open { color: var(--open); }
.why { display: block; color: var(--soft); margin-top: .25rem; }
.why b { color: var(--no); font-weight: 600; }
.source { color: var(--soft); white-space: nowrap; }
.counts { display: flex; flex-wrap: wrap; gap: .6rem 2.4rem; margin: 1.3rem 0; padding: 0; list-style: none;
  max-width: none; }
.counts li { font-family: "Helvetica Neue", Arial, "Liberation Sans", sans-serif; font-size: .9rem; color:
  var(--soft); }
.counts b { display: block; font-size: 2rem; line-height: 1.1; font-weight: 600; }
.warn { border-left: 3px solid var(--no); padding: .1rem 0 .1rem .9rem; max-width: 42rem; margin: 1rem 0; }
pre, code { font-family: "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .84em; }
pre { background: var(--panel); padding: .8rem 1rem; overflow-x: auto; line-height: 1.45; font-size: .8rem; }
p code, td code { background: var(--panel); padding: .05em .3em; overflow-wrap: anywhere; }
details { margin: .5rem 0; } summary { cursor: pointer; font-size: .88rem; color: var(--soft); }
td details { margin: .3rem 0 0; } td details ul { margin: .3rem 0; padding-left: 1.1rem; }
@media (max-width: 46rem) {
  body { font-size: 1rem; } main { padding-top: 1.5rem; } h1 { font-size: 1.5rem; }
  table.verdicts, table.verdicts tbody, table.verdicts tr, table.verdicts td { display: block; width: 100%;
  min-width: 0; }
  table.verdicts thead { display: none; }
  table.verdicts tr { border-bottom: 1px solid var(--line); padding: .6rem 0; }
  table.verdicts td { border: 0; padding: .1rem 0; }
  table.verdicts td[data-name]:not(:empty)::before { content: attr(data-name) ": "; color: var(--soft); }
}
@media print {
  body { font-size: 10pt; background: #fff; } main { max-width: none; padding: 0; }
  h2, h3 { break-after: avoid; } figure, tr { break-inside: avoid; } a { color: inherit; text-decoration: none; }
  .wide { overflow: visible; } pre { white-space: pre-wrap; }
}
"""


def page(title: str, body: str) -> str:
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body><main>\n{_units(body)}\n</main></body></html>\n"
    )


def _units(body: str) -> str:
    """Keep a number and its sign or unit on one line."""
    for unit in ("%", "±", "s", "ms", "packets", "Mbit/s"):
        body = re.sub(rf"(?<=\d) {re.escape(unit)}(?![\w/])", f"\u00a0{unit}", body)
    return body.replace("± ", "±\u00a0")


def paragraphs(text: str) -> str:
    """Text with a blank line between paragraphs."""
    return "".join(f"<p>{escape(p.strip())}</p>\n" for p in text.strip().split("\n\n") if p.strip())


def table(
    heads: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]], text_columns: int = 1, caption: str = ""
) -> str:
    """Heads are (name, unit); the first `text_columns` columns are names. A line parts rows of another first name."""

    def side(i: int) -> str:
        return ' class="t"' if i < text_columns else ""

    head = "".join(
        f"<th{side(i)}>{escape(n)}" + (f"<small>{escape(u)}</small>" if u else "") + "</th>"
        for i, (n, u) in enumerate(heads)
    )
    out, last = [], None
    for row in rows:
        first = row[0] if row else ""
        part = ' class="next"' if last is not None and first != last and text_columns > 1 else ""
        last = first
        out.append(f"<tr{part}>" + "".join(f"<td{side(i)}>{escape(str(c))}</td>" for i, c in enumerate(row)) + "</tr>")
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="wide"><table>{said}<thead><tr>{head}</tr></thead><tbody>\n'
        + "\n".join(out)
        + "\n</tbody></table></div>"
    )


def figure(folder: Path, files: Sequence[str], caption: str) -> str:
    """A figure inside the page (SVG, or PNG), with links to the files that stand beside it."""
    by_kind = {Path(f).suffix[1:]: f for f in files}
    shown = by_kind.get("svg") or by_kind.get("png")
    if shown is None or not (folder / shown).is_file():
        return ""
    mime = "image/svg+xml" if shown.endswith("svg") else "image/png"
    data = base64.b64encode((folder / shown).read_bytes()).decode()
    links = " · ".join(f'<a href="{escape(f, quote=True)}">{k.upper()}</a>' for k, f in by_kind.items() if k != "svg")
    links = f" {links}" if links else ""
    return (
        f'<figure><img alt="{escape(caption, quote=True)}" src="data:{mime};base64,{data}">'
        f"<figcaption>{escape(caption)}{links}</figcaption></figure>"
    )


def details(name: str, inside: str, opened: bool = False) -> str:
    return f"<details{' open' if opened else ''}><summary>{escape(name)}</summary>{inside}</details>"


def pre(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"
