#!/usr/bin/env python3
"""The changelog from its fragments: each change adds a file changes/AREA/slug.md, one entry without the bullet.

    tools/changelog.py            write the fragments into the newest part of CHANGELOG.md, and remove them
    tools/changelog.py --check    the areas, and what is wrong with a fragment or the newest part; writes nothing

The last fragment comes first. Exit status 1 if something is wrong; then nothing is written.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The folder of an area, and its heading, in the order of the headings.
AREAS = {
    "command-line": "Command line",
    "scenarios": "Scenarios and traffic",
    "queues": "Queues and conditioners",
    "transports": "Transports",
    "choosing": "Choosing a queue",
    "results": "Sweeps, results and figures",
    "studies": "Studies and validation",
    "lab": "Lab and pages",
    "live": "Live runs",
    "python": "Python",
    "rust": "Rust",
    "installation": "Installation, speed and memory",
}
UNRELEASED = "## Not yet released\n"
MOST_LINES = 3
MOST_COLUMNS = 150
#: Entries by area, each a list of lines without bullet and indentation.
Entries = dict[str, list[list[str]]]


def wrong_entry(lines: list[str]) -> list[str]:
    """What is wrong with the lines of an entry."""
    found = []
    if len(lines) > MOST_LINES:
        found.append(f"{len(lines)} lines; write at most {MOST_LINES}, and link to a page")
    if any(len(x) + 2 > MOST_COLUMNS for x in lines):
        found.append(f"a line has more than {MOST_COLUMNS - 2} columns, {MOST_COLUMNS} with the bullet")
    if not all(lines):
        found.append("it is empty or has an empty line")
    if any(re.match(r"[*#-] |#", x) for x in lines):
        found.append("a line begins with a bullet or a heading; write one entry without its bullet")
    return found


def fragments(root: Path) -> list[Path]:
    """The files in changes/, the last first: those that are not committed, then by commit."""

    def when(path: Path) -> float:
        command = ["git", "log", "-1", "--format=%ct", "--", str(path)]
        said = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout
        return float(said or "inf")

    found = (p for p in sorted((root / "changes").rglob("*")) if p.is_file())
    return sorted((p for p in found if p != root / "changes/README.md"), key=when, reverse=True)


def entry(path: Path) -> list[str]:
    """The lines of a fragment."""
    return [x.strip() for x in path.read_text(encoding="utf-8").strip().split("\n")]


def parts(text: str) -> tuple[str, str, str]:
    """The text before the newest entries, these, and the text below. After a release the newest part is empty."""
    if UNRELEASED not in text:
        text = re.sub(r"(?m)^(?=## )|\Z", f"{UNRELEASED}\n", text, count=1)
    head, below = text.split(UNRELEASED, 1)
    newest, mark, older = below.partition("\n## ")
    return head + UNRELEASED, newest, mark + older


def read(newest: str) -> tuple[Entries, list[str]]:
    """The entries of the newest part by area, and the lines that stand outside of all entries."""
    found: Entries = {}
    lost: list[str] = []
    entries: list[list[str]] | None = None
    for line in filter(None, newest.split("\n")):
        if line.startswith("### "):
            entries = found.setdefault(line[4:], [])
        elif entries is not None and line.startswith("* "):
            entries.append([line[2:]])
        elif entries and line.startswith("  "):
            entries[-1].append(line[2:])
        else:
            lost.append(line)
    return found, lost


def wrong(root: Path) -> list[str]:
    """What is wrong with the newest part of the changelog and with the fragments."""
    found, lost = read(parts((root / "CHANGELOG.md").read_text(encoding="utf-8"))[1])
    here = "CHANGELOG.md"
    said = [f"{here}: {x[:60]!r} stands in no entry below an area" for x in lost]
    said += [f"{here}: there is no area {a!r}; {', '.join(AREAS.values())}" for a in found if a not in AREAS.values()]
    said += [f"{here}: {e[0][:60]!r}: {w}" for entries in found.values() for e in entries for w in wrong_entry(e)]
    for path in fragments(root):
        name = path.relative_to(root)
        if len(name.parts) != 3 or name.parts[1] not in AREAS or path.suffix != ".md":
            said.append(f"{name}: write changes/AREA/slug.md with AREA one of {', '.join(AREAS)}")
        else:
            said += [f"{name}: {w}" for w in wrong_entry(entry(path))]
    return said


def write(root: Path) -> int:
    """Write the fragments into the changelog and remove them. How many there were."""
    page = root / "CHANGELOG.md"
    head, newest, older = parts(page.read_text(encoding="utf-8"))
    entries, _ = read(newest)
    paths = fragments(root)
    for path in reversed(paths):
        entries.setdefault(AREAS[path.parent.name], []).insert(0, entry(path))
    blocks = [
        f"\n### {area}\n\n" + "".join("* " + "\n  ".join(e) + "\n" for e in entries[area])
        for area in AREAS.values()
        if area in entries
    ]
    page.write_text(head + "".join(blocks) + older, encoding="utf-8")
    for path in paths:
        path.unlink()
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
    return len(paths)


def main() -> None:
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    found = wrong(ROOT)
    if found:
        sys.exit("\n".join(found))
    if sys.argv[1:]:
        print(f"{len(fragments(ROOT))} fragments hold; areas are {', '.join(AREAS)}")
    else:
        print(f"{write(ROOT)} fragments are in CHANGELOG.md")


if __name__ == "__main__":
    main()
