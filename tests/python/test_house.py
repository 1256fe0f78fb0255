"""The check of sizes and sources finds what it is there for, and leaves the rest in peace."""

import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("check_house", HERE / "tools/check_house.py")
house = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(house)


def found(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return list(house.findings(path))


@pytest.mark.parametrize(
    "comment",
    ["see spec/queues.md", "as decided (A31)", "the rule (spec 2.4)", "the rule (2.14)", "as The Specification has it"],
)
def test_sources_that_nobody_has_are_found(tmp_path, comment):
    assert len(found(tmp_path, "a.rs", f"// {comment}\n")) == 1
    assert len(found(tmp_path, "a.py", f'"""Head.\n\n{comment}\n"""\n')) == 1


@pytest.mark.parametrize(
    "comment",
    [
        "RFC 6675 section 5",
        "a mean of 1.46 (0.18)",
        "WUCSE-2005-11, chapter 5 (2005)",
        "let share = Level::OfBuffer(0.2);",
    ],
)
def test_public_sources_and_numbers_are_left_in_peace(tmp_path, comment):
    assert found(tmp_path, "a.rs", f"/// {comment}\n") == []


def test_long_functions_and_big_files_are_found(tmp_path):
    body = "    x = 1\n" * 100
    assert "f has 101 lines" in found(tmp_path, "a.py", f"def f():\n{body}")[0]
    assert found(tmp_path, "b.py", f"def f():\n{body[10:]}") == []
    rust = "    let x = 1;\n" * 100
    assert "f has 102 lines" in found(tmp_path, "a.rs", f"fn f() {{\n{rust}}}\n")[0]
    assert "bytes" in found(tmp_path, "c.py", "x = 1\n" * 5000)[0]
