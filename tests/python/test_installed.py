"""The installed examples: each says what it is, is found by its name, is listed, printed and copied."""

from __future__ import annotations

import ast
import json
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import tailback as tb
from tailback.core.scenario import installed

NAMES = [e.name for e in installed.examples()]


def test_every_scenario_and_program_is_an_example() -> None:
    """Crates are not: no wheel has them."""
    files = {p for kind in ("*.toml", "*.py") for p in installed.EXAMPLES.rglob(kind)}
    assert {e.path for e in installed.examples()} == {
        p for p in files if "your-" not in str(p.relative_to(p.parents[2]))
    }
    assert len(set(NAMES)) == len(NAMES) > 20


@pytest.mark.parametrize("example", installed.examples(), ids=lambda e: e.name)
def test_an_example_says_in_a_sentence_what_it_is(example: installed.Example) -> None:
    assert example.about.endswith(".") and 30 < len(example.about) < 200
    # Not the next line of the file.
    assert " = " not in example.about and "#" not in example.about and '"' not in example.about
    if example.path.suffix == ".toml":
        assert tb.load_scenario(example.path).name == example.path.stem


def test_a_name_stands_for_an_example_wherever_a_scenario_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = tb.load_scenario(installed.EXAMPLES / "ecn.toml").toml
    assert capsys.readouterr().err == ""
    for name in ("ecn", "examples/ecn.toml"):
        assert tb.load_scenario(name).toml == wanted
        told = f"{name} is not in this folder; this is the installed {installed.EXAMPLES / 'ecn.toml'}\n"
        assert capsys.readouterr().err == told
    assert tb.load_scenario("demo/queue").name == "queue"
    # A file of that name comes first, and a name with an ending is a file.
    (tmp_path / "ecn").write_text(wanted.replace("30s", "7s"))
    assert tb.load_scenario("ecn").duration_s == 7
    with pytest.raises(tb.ScenarioError, match=r"there is no file .*ping\.toml"):
        tb.load_scenario("ping.toml")


@pytest.mark.parametrize("name", ["first-run", "examples/first-run.toml", "studies/liu-2001/n1.toml"])
def test_a_plan_finds_it_too(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(f'scenario = "{name}"\n')
    wanted = tb.load_scenario(
        next(p for p in (installed.PACKAGE / name, installed.EXAMPLES / f"{name}.toml") if p.is_file())
    )
    assert tb.load_sweep(plan).points[0][1].digest == wanted.digest
    assert f"{name} is not in {tmp_path}; this is the installed {installed.PACKAGE}" in capsys.readouterr().err
    # A file beside the plan comes first.
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(tb.load_scenario(wanted, ["duration=77s"]).toml)
    assert tb.load_sweep(plan).points[0][1].duration_s == 77
    assert capsys.readouterr().err == ""


def test_commands_find_it_and_say_what_a_name_is_near_to(cli) -> None:
    done = cli("check", "first-run")
    assert (done.returncode, done.stdout) == (0, "ok\n") and "is the installed " in done.stderr
    done = cli("check", "first-rum")
    assert done.returncode == 2 and "there is no file first-rum in this folder" in done.stderr
    assert "did you mean first-run? `tailback examples` lists them" in done.stderr
    done = cli("check", "first-run.toml")
    assert done.returncode == 2 and "the installed example is called first-run\n" in done.stderr
    # What is no name of an example is a file that is missing, and nothing else.
    for name in ("my.toml", "other/none", "studies/none.toml", "a" * 300):
        done = cli("check", name)
        assert done.returncode in (1, 2) and "example" not in done.stderr


def test_the_examples_are_listed_with_a_sentence_each(cli) -> None:
    done = cli("examples", env={**os.environ, "COLUMNS": "80"})
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "] == NAMES
    assert (
        " ".join(done.stdout.split()).count("Ten TCP transfers without end share 20 Mb/s behind a drop-tail buffer.")
        == 1
    )
    found = json.loads(cli("examples", "--json").stdout)["examples"]
    assert [e["name"] for e in found] == NAMES
    assert all(Path(e["file"]).is_file() and e["about"] for e in found)


def test_an_example_is_printed_and_copied_once(cli, tmp_path: Path) -> None:
    text = (installed.EXAMPLES / "first-run.toml").read_text()
    for name in ("first-run", "first-run.toml", "examples/first-run.toml"):
        assert cli("examples", name).stdout == text
    assert json.loads(cli("examples", "first-run", "--json").stdout)["text"] == text
    assert list(tmp_path.iterdir()) == []
    done = cli("examples", "first-run", "--copy")
    assert (done.returncode, done.stdout) == (0, "") and "`tailback run first-run.toml` runs it" in done.stderr
    assert (tmp_path / "first-run.toml").read_text() == text
    (tmp_path / "first-run.toml").write_text("mine")
    done = cli("examples", "first-run", "--copy")
    assert done.returncode == 2 and "first-run.toml is in this folder already" in done.stderr
    assert (tmp_path / "first-run.toml").read_text() == "mine"
    assert cli("examples", "my_reno.py", "--copy").returncode == 0 and (tmp_path / "my_reno.py").is_file()


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--copy"], "give its NAME"), (["first-rum"], "did you mean first-run?"), (["x\x1b"], "no example x\\x1b")],
)
def test_a_wrong_call_is_told_what_to_give(cli, words: list[str], said: str) -> None:
    done = cli("examples", *words)
    assert done.returncode == 2 and done.stdout == "" and said in done.stderr


def texts(file: Path) -> Iterator[str]:
    """What a file of the program may show: its strings, without comments and docstrings."""
    text = file.read_text()
    if file.suffix == ".toml":
        yield str(tomllib.loads(text))
    elif file.suffix == ".rs":
        code = re.sub(r"^\s*//.*$", "", text.split("#[cfg(test)]\nmod ", 1)[0], flags=re.MULTILINE)
        yield from re.findall(r'"(?:[^"\\]|\\.)*"', code)
    else:
        tree = ast.parse(text)
        aside = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
        strings = (n for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in aside)
        yield from (n.value for n in strings if isinstance(n.value, str))


def sent(file: Path) -> list[str]:
    return [f"{file}: {text[:200]}" for text in texts(file) if re.search(r"\bdocs/[\w/-]+\.md\b", text)]


def test_no_message_sends_to_a_page_that_no_wheel_has() -> None:
    """A message says in itself what is needed, or names a command."""
    crates = Path(__file__).parents[2] / "crates"
    files = [p for kind in ("*.py", "*.toml") for p in installed.PACKAGE.rglob(kind) if "your-" not in str(p)]
    files += [p for p in crates.glob("*/src/**/*.rs") if not p.stem.endswith("tests")]
    assert len(files) > 1000
    lost = [line for file in files for line in sent(file)]
    assert not lost, "\n".join(lost)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", '"""See docs/a.md."""\nprint("read docs/b.md")  # docs/c.md\n'),
        ("a.rs", '//! See docs/a.md.\nconst HELP: &str = "read \\"docs/b.md\\"";\n    // docs/c.md\n'),
        ("a.toml", '# docs/a.md\n[[x]]\nhelp = ["read docs/b.md"]\n'),
    ],
)
def test_a_message_is_told_from_a_comment(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    (line,) = sent(tmp_path / name)
    assert "docs/b.md" in line and "docs/a.md" not in line and "docs/c.md" not in line
