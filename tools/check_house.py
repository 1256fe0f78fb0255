#!/usr/bin/env python3
"""What formatter and linters do not see: sizes of files and functions, and citations that a reader cannot follow.

    tools/check_house.py [PATH ...]       everything that git knows below these, all without them

Exit status 1 and a line for each finding. What is asked:

* no Rust or Python file above 25 kB, no function above 100 lines (tests and generated lists are free);
* comments and docstrings cite public documents: a paper with its section, an RFC with its section. Numbers of working
  papers that are not part of this repository (a spec file, a question number, a bare section number) mean nothing here.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

MOST_BYTES = 25_000
MOST_LINES = 100

# A file spec/NAME.md; a question number such as (A31); "spec 2.4"; a bare (2.4), which says no document and is no call.
PRIVATE = re.compile(
    r"\bspec/[a-z-]+\.md"
    r"|\((?:[^()]*[ ,;])?A\d{1,2}\)"
    r"|\bspec (?:section )?\d+\.\d+"
    r"|(?<!\d )(?<!\w)\(\d{1,2}\.\d{1,2}(?:, \d{1,2}\.\d{1,2})*\)"
)
# Words of working papers.
WORDS = re.compile(r"\bthe specification\b|\bfindings\.md\b|\bwalls\.md\b|\bshared/", re.IGNORECASE)
# A comment of Rust or of Python, and what follows; strings that hold such a mark are rare enough.
COMMENT = re.compile(r"//[/!]?|#")


def tracked(paths: list[str]) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "--", *paths], capture_output=True, text=True, check=True).stdout
    return [Path(f) for f in listed.splitlines() if Path(f).is_file() and not Path(f).is_symlink()]


def rust_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, first line and length of each function; rustfmt puts its end below its beginning."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        m = re.match(r"^(\s*)(?:pub(?:\([a-z]+\))? )?(?:const |unsafe |async )*fn (\w+)", line)
        if m is None:
            continue
        end = next((j for j in range(i, len(lines)) if lines[j].rstrip() in (m[1] + "}", m[1] + "};")), None)
        if end is not None:
            yield m[2], i + 1, end - i + 1


def python_functions(text: str) -> Iterator[tuple[str, int, int]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def comments(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Number and text of the lines a reader reads: comments, and the docstrings of Python."""
    for number, line in enumerate(text.split("\n"), 1):
        parts = COMMENT.split(line, maxsplit=1)
        if len(parts) > 1:
            yield number, parts[1]
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                doc = ast.get_docstring(node, clean=False)
                if doc is not None:
                    start = node.body[0].lineno
                    yield from enumerate(doc.split("\n"), start)


def findings(path: Path) -> Iterator[str]:
    if path.suffix not in (".rs", ".py") or path == Path("tools/check_house.py"):
        return
    text = path.read_text(encoding="utf-8")
    if path.stat().st_size > MOST_BYTES:
        yield f"{path}: {path.stat().st_size} bytes; split it, {MOST_BYTES} are the most"
    if "tests" not in path.parts:
        functions = rust_functions(text) if path.suffix == ".rs" else python_functions(text)
        for name, line, length in functions:
            if length > MOST_LINES:
                yield f"{path}:{line}: {name} has {length} lines; split it, {MOST_LINES} are the most"
    for line, comment in comments(path, text):
        if m := PRIVATE.search(comment) or WORDS.search(comment):
            yield f'{path}:{line}: "{m[0]}" is no public source; cite a paper or an RFC with its section'


def main() -> int:
    found = [x for path in tracked(sys.argv[1:]) for x in findings(path)]
    print("\n".join(found) if found else "the house holds")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
