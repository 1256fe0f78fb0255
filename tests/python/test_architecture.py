"""The map of `docs/architecture.md` leads somewhere, and each file says what it is.

The rooms of the Python package stand on the floors that the page gives them.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()


def test_every_file_begins_with_a_sentence() -> None:
    sys.path.append(str(ROOT / "tools"))
    import code_index

    found = code_index.sentences()
    assert len(found) > 500
    without = [str(path) for path, sentence in found if len(sentence.split()) < 2]
    assert not without, f"say in the head what it is: {without}"


def test_a_word_finds_its_file() -> None:
    command = [sys.executable, str(ROOT / "tools/code_index.py"), "deficit round robin", "pieces"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "pieces/schedule/drr.rs: " in found and len(found.splitlines()) < 10


def test_every_room_exists() -> None:
    named = set(re.findall(r"`((?:crates|python|docs|tests|benches)/[\w./<>-]+)`", PAGE))
    assert len(named) > 10
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


@pytest.mark.parametrize(
    ("section", "folder"),
    [
        ("The simulator", "crates/tailback-sim/src"),
        ("Scenarios", "crates/tailback-scenario/src"),
        ("Plans", "crates/tailback-plan/src"),
        ("Studies", "python/tailback/study"),
    ],
)
def test_the_rooms_of_a_table_exist(section: str, folder: str) -> None:
    table = PAGE.split(f"\n## {section}\n", 1)[1].split("\n#", 1)[0]
    firsts = re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE)
    rooms = [name for first in firsts for name in re.findall(r"`([\w./]+)`", first)]
    assert len(rooms) > 10
    lost = [name for name in rooms if not (ROOT / folder / name).exists()]
    assert not lost, lost
