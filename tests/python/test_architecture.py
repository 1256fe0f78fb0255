"""The map of `docs/architecture.md` leads somewhere, and each file says what it is."""

import re
import subprocess
import sys
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


@pytest.mark.parametrize(
    ("section", "folder"),
    [
        ("The engine", "crates/tailback-engine/src"),
        ("The Python rooms", "python/tailback"),
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
