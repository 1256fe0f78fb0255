#!/usr/bin/env python3
"""Which file has what: each source file with the first sentence of its head, by room.

    tools/code_index.py [WORD ...]      only files whose path or sentence has all of these words

The heads are the index, so that nothing has to be kept beside them. The site has it as a page (`make docs`).
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("crates/*/src/**/*.rs", "python/tailback/**/*.py", "tools/*.py", "benches/*.py", "validation/*.py")


def main() -> int:
    words = [w.lower() for w in sys.argv[1:]]
    for path, sentence in sentences():
        line = f"{path}: {sentence}"
        if all(w in line.lower() for w in words):
            print(line)
    return 0


def sentences() -> list[tuple[Path, str]]:
    """The files that git knows, without tests, in the order of their rooms."""
    asked = [f":(glob){pattern}" for pattern in SOURCES]
    listed = subprocess.run(["git", "ls-files", "--", *asked], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [Path(line) for line in listed.stdout.splitlines()]
    mine = [p for p in paths if not is_test(p) and (ROOT / p).is_file() and (ROOT / p).stat().st_size]
    return [(p, sentence(ROOT / p)) for p in sorted(mine, key=lambda p: (p.parent, p.name))]


def is_test(path: Path) -> bool:
    return path.stem.startswith("tests") or path.stem.endswith("_tests") or "tests" in path.parts


def sentence(file: Path) -> str:
    """The first sentence of the head; empty without one."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        head = ast.get_docstring(ast.parse(text)) or ""
    else:
        head = "\n".join(re.findall(r"\A((?://!.*\n)*)", text)[0].replace("//!", "").splitlines())
    first = " ".join(head.strip().split("\n\n")[0].split())
    # An abbreviation does not end a sentence, a colon or semicolon neither.
    return re.split(r"(?<=[^.][a-z0-9)`\"\]*]\.)\s+(?=[A-Z`\[])", first, maxsplit=1)[0]


def page(repository: str) -> str:
    """The index in Markdown, with links to the files."""
    lines = ["# The code, file by file", ""]
    lines += ["What the head of each file says first. `tools/code_index.py WORD` prints the same.", ""]
    for room, files in groupby(sentences(), key=lambda x: x[0].parent):
        lines += [f"## `{room}`", "", "| file | what it is |", "|---|---|"]
        for path, said in files:
            # Rust's links to other items mean nothing here.
            plain = re.sub(r"\[(`[^`]+`)\](?:\([^)]*\))?", r"\1", said).replace("|", "/")
            lines.append(f"| [{path.name}]({repository}/{path}) | {plain} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
