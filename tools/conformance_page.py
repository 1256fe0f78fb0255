"""Writes the tables of docs/conformance.md: every sentence with its line, from the files of dialogues.

python tools/conformance_page.py           write them
python tools/conformance_page.py --check   fail if the page is not what the files say
"""

from __future__ import annotations

import sys
from pathlib import Path

from tailback.apps.conformance.lines import Dialogue, LineFile, LineTable, SentenceTable, installed

PAGE = Path(__file__).resolve().parents[1] / "docs" / "conformance.md"
MARK = "<!-- made by tools/conformance_page.py -->"


def tables() -> str:
    """All tables, one for each file."""
    return "\n".join(_table(file) for file in installed())


def _table(file: LineFile) -> str:
    rows = [
        f"### {file.name}: {file.title}",
        "",
        "| section | sentence | line | for | Linux |",
        "|---|---|---|---|---|",
    ]
    rows += [_covered(line) for line in file.lines]
    for s in file.sentences:
        state = "not covered" if s.modelled else "not modelled"
        rows.append(f"| {s.section} | {_says(s)} | {state}: {_cell(s.why.removeprefix('not modelled: '))} | | |")
    return "\n".join(rows) + "\n"


def _covered(line: Dialogue) -> str:
    t = line.table
    linux = (
        f"differs: {t.kernel.differs}" if t.kernel.differs else f"not tried: {t.kernel.skip}" if t.kernel.skip else ""
    )
    return f"| {t.section} | {_says(t)} | `{line.name}` | {', '.join(t.to)} | {_cell(linux)} |"


def _says(sentence: LineTable | SentenceTable) -> str:
    return _cell(sentence.says) + (" (in our words)" if sentence.in_our_words else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def page(old: str) -> str:
    """The page with its tables anew."""
    head, _, _ = old.partition(MARK)
    return f"{head}{MARK}\n\n{tables()}"


def main() -> None:
    old = PAGE.read_text(encoding="utf-8")
    new = page(old)
    if "--check" in sys.argv[1:]:
        sys.exit(None if new == old else f"{PAGE.name} is not what the files of dialogues say; run {sys.argv[0]}")
    PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
