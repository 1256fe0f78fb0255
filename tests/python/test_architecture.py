"""The map of `docs/architecture.md` leads somewhere, and each file says what it is.

The rooms of the Python package stand on the floors that the page gives them.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
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


def test_every_invariant_has_a_test_that_is_there() -> None:
    listed = PAGE.split("\n## Invariants\n", 1)[1].split("\n## ", 1)[0].split("* **Invariant:** ")[1:]
    assert len(listed) > 10
    command = ["git", "grep", "-hoE", r"(fn|def) \w+", "--", "crates", "tests"]
    there = set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())
    for invariant in listed:
        tests = re.findall(r"`(\w{8,})`", invariant)
        assert tests, f"no test holds it: {invariant}"
        assert set(tests) <= there, f"{set(tests) - there} of: {invariant}"


def test_the_reading_path_is_short() -> None:
    section = PAGE.split("\n## A reading path\n", 1)[1].split("\n## ", 1)[0]
    path = re.findall(r"^\| `([^`]+)` \| .*\? \|$", section, re.MULTILINE)
    assert len(path) == 14
    # A reader who is new has an hour.
    assert sum(len((ROOT / file).read_text().splitlines()) for file in path) < 5000


PACKAGE = ROOT / "python/tailback"
#: Folders whose rooms have rows of their own in the table, and those that are one room.
WINGS = ("core", "linux", "readers", "show", "runs", "study", "apps", "cli")
#: Data, and programs to copy, which use public paths; `__init__.py` lists public names of any room.
NO_ROOM = {"studies", "examples", "__init__.py"}


def floors() -> dict[str, int]:
    """The floor of each room, by the table of the page."""
    section = PAGE.split("## The Python rooms", 1)[1].split("\n## ", 1)[0]
    found = re.findall(r"^\| (\d+) \| `([\w./]+?)/?` \|", section, re.MULTILINE)
    assert [int(n) for n, _ in found] == sorted(int(n) for n, _ in found)
    return {room.removesuffix(".py"): int(n) for n, room in found}


FLOOR = {"_core": 0, **floors()}


def room_of(path: str) -> str | None:
    """The room of a file or a module, by its path below the package: the longest row that it begins with."""
    parts = path.split("/")
    heads = ("/".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((head for head in heads if head in FLOOR), None)


def is_moved(file: Path) -> bool:
    """Whether a file is an old path: it names another place, and has nothing of its own."""
    return "The old import path of" in file.read_text().split("\n", 1)[0]


def files() -> dict[Path, str]:
    """The files of the rooms, each with its path below the package, as modules are called."""
    there = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        path = file.relative_to(PACKAGE)
        # The file of a wing as a whole is its sentence.
        sentence = len(path.parts) == 2 and path.name == "__init__.py" and path.parts[0] not in FLOOR
        if path.parts[0] not in NO_ROOM and not sentence and not is_moved(file):
            there[file] = path.as_posix().removesuffix(".py").removesuffix("/__init__")
    return there


FILES = files()


def imports(file: Path) -> Iterator[str]:
    """Modules of the package that a file imports, wherever in it, as paths below the package."""
    for node in ast.walk(ast.parse(file.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names = [f"{node.module}.{a.name}" for a in node.names]
        yield from (n.removeprefix("tailback.").replace(".", "/") for n in names if n.startswith("tailback."))


def offences(path: str, imported: Iterable[str]) -> Iterator[str]:
    """What a file at this path may not import, of these."""
    room = room_of(path)
    assert room is not None, path
    for name in imported:
        other = room_of(name)
        if other is None:
            yield f"{path} imports {name}, which is in no room: an old path, or a name of the whole package"
        elif other != room and FLOOR[other] >= FLOOR[room]:
            yield f"{path} imports {name} of {other}, on floor {FLOOR[other]}, and is on floor {FLOOR[room]} itself"


def test_every_room_of_the_package_has_a_floor() -> None:
    homeless = [path for path in FILES.values() if room_of(path) is None]
    assert not homeless, homeless
    empty = FLOOR.keys() - {"_core"} - {room_of(path) for path in FILES.values()}
    assert not empty, empty


def test_the_floors_of_a_wing_lie_together() -> None:
    of_rooms = [room.split("/")[0] for room in floors() if room != "__main__"]
    assert list(dict.fromkeys(of_rooms)) == list(WINGS)
    by_wing = {wing: {f for room, f in FLOOR.items() if room.split("/")[0] == wing} for wing in WINGS}
    for below, above in pairwise(WINGS):
        assert max(by_wing[below]) < min(by_wing[above]), f"{above} begins below the end of {below}"
    level = {p.stem for p in PACKAGE.iterdir() if p.is_dir() and (p / "__init__.py").is_file()}
    assert {name for name in level if not is_moved(PACKAGE / name / "__init__.py")} == set(WINGS)


def test_a_room_imports_only_from_floors_below_its_own() -> None:
    of_files = {path: set(imports(file)) for file, path in FILES.items()}
    seen = {(room_of(path), room_of(name)) for path, names in of_files.items() for name in names}
    assert ("cli/many_runs", "runs/campaign") in seen and len(seen) > 80
    wrong = [offence for path, names in of_files.items() for offence in offences(path, names)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("path", "imported"),
    [
        ("core/store/paths", "core/results/means"),
        ("core/results/means", "show/plots/style"),
        ("show/report/page", "runs/result/Result"),
        ("apps/lab/state", "apps/demo/page"),
        ("apps/ask/link/page", "apps/ask/home/page"),
        ("cli/packets/live", "cli/scenarios/run"),
        # An old path.
        ("runs/result", "plots/style"),
    ],
)
def test_an_import_from_above_or_beside_is_found(path: str, imported: str) -> None:
    assert len(list(offences(path, [imported]))) == 1


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
