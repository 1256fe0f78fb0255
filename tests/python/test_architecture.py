"""The map of `docs/architecture.md` leads somewhere: each file of its table exists and holds what it is named for.

The rooms of the Python package stand on the floors that the page gives them.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()


def rows() -> list[tuple[str, str, str]]:
    """The table "To change X, open Y": what, file, word."""
    section = PAGE.split("## To change X, open Y", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| (.+?) \| `([^`]+)` \| `(.+?)` \|$", section, re.MULTILINE)


def test_every_row_leads_to_its_word() -> None:
    assert len(rows()) >= 20
    lost = [(what, file, word) for what, file, word in rows() if word not in read(ROOT / file)]
    assert not lost, lost


def read(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def test_every_room_exists() -> None:
    named = set(re.findall(r"`((?:crates|python|docs|tests|benches)/[\w./<>-]+)`", PAGE))
    assert len(named) > 20
    lost = [n for n in sorted(named) if "<" not in n and not (ROOT / n).exists()]
    assert not lost, lost


PACKAGE = ROOT / "python/tailback"
#: Data, and programs to copy; `__init__.py` lists public names of any room.
NO_ROOM = {"studies", "examples", "__init__.py"}


def floors() -> dict[str, int]:
    """The floor of each room, by the table of the page."""
    section = PAGE.split("## The Python rooms", 1)[1].split("\n## ", 1)[0]
    found = re.findall(r"^\| (\d+) \| `([\w.]+)/?` \|", section, re.MULTILINE)
    assert [int(n) for n, _ in found] == sorted(int(n) for n, _ in found)
    return {room.removesuffix(".py"): int(n) for n, room in found}


def imports(file: Path) -> Iterator[str]:
    """Rooms of the package that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names = [f"{node.module}.{a.name}" for a in node.names]
        yield from (name.split(".")[1] for name in names if name.startswith("tailback."))


def test_every_room_of_the_package_has_a_floor() -> None:
    there = {p.name for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()} - NO_ROOM
    assert {name.removesuffix(".py") for name in there} == set(floors())


def test_a_room_imports_only_from_floors_below_its_own() -> None:
    floor = {"_core": 0, **floors()}
    seen, wrong = set(), []
    for file in sorted(PACKAGE.rglob("*.py")):
        name = file.relative_to(PACKAGE).parts[0]
        if name in NO_ROOM:
            continue
        room = name.removesuffix(".py")
        for other in imports(file):
            seen.add((room, other))
            if other != room and floor[other] >= floor[room]:
                wrong.append(f"{file.relative_to(ROOT)} imports {other}, on floor {floor[other]} of {floor[room]}")
    assert ("cli", "campaign") in seen and len(seen) > 40
    assert not wrong, wrong
