"""Every command, Python block and scenario of README and docs is executed, and prints what the page shows."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pages
import pytest
from click.testing import CliRunner
from pages import PAGES, ROOT, Command

from tailback.cli import cli
from tailback.cli.commands import COMMANDS
from tailback.study.work.needed import Work


@dataclass(frozen=True)
class Row:
    """What a test does instead of a line as it stands."""

    #: A regular expression, from the beginning of the line.
    line: str
    why: str
    #: What takes the place of the text that matched. None: it is not run.
    instead: str | None = None


#: The options and values of these lines are checked as far as the first run. Then the shorter line is run, if there is
#: one.
SHORTER = [
    Row("tailback reproduce(?! --list)", "takes minutes; the tests of studies run their points"),
    Row(
        "tailback compare --rate 10Gbps",
        "takes seconds of CPU",
        "tailback compare --duration 20ms --replications 2 --queue droptail,step --rate 10Gbps",
    ),
    Row(
        "tailback compare --rate",
        "takes half a minute of CPU",
        "tailback compare --duration 2s --replications 2 --queue red,pie --rate",
    ),
    Row("tailback sweep plan.toml(?= .*--dask)", "needs a cluster; test_dask.py has one"),
    Row("(tailback .* --shard) 1/8$", "the other shards too", r"for i in 1 2 3 4 5 6 7 8; do \1 $i/8; done"),
    Row("tailback live", "needs privileges", "tailback run"),
    Row("tailback gateway", "needs privileges"),
    Row("tailback behind", "needs privileges, and programs of the reader"),
    Row("tailback lab(?!.*--export)", "serves until it is ended; test_lab_server.py starts it"),
]
#: These lines are run in another form, because they depend on the reader's machine or files.
ELSEWHERE = [
    Row(r"\.venv/bin/tailback", "the program of a checkout", "tailback"),
    Row(
        "tailback conform fast-retransmit.pkt",
        "the reader's script",
        f"tailback conform {ROOT}/tests/reference/packetdrill/fast-retransmit.pkt",
    ),
    Row("tailback conform --beside", "needs scripts from elsewhere and privileges", "true #"),
    Row("tailback read FILE", "the reader's file", f"tailback read {ROOT}/tests/reference/readers/nano.pcap"),
    Row("tailback doctor$", "its status depends on the machine", "tailback doctor || test $? = 1"),
    Row(
        "tailback predict allocation SCENARIO",
        "the reader's file",
        "tailback predict allocation studies/liu-2001/n1.toml",
    ),
]
#: Lines of other programs.
OTHERS = [
    Row(r"make ([\w-]+)", "needs a checkout and a compiler", rf"grep ^\1: {ROOT}/Makefile #"),
    Row("python -m tailback.examples.train_control", "takes minutes; test_gym.py runs it short"),
    Row("python benches/run.py", "takes minutes", f"test -f {ROOT}/benches/run.py #"),
    Row("python validation/measured_by_others.py --cells", "prints a thousand lines", f"test -d {ROOT}/validation #"),
    Row("python validation/measured_by_others.py", "takes minutes; its test runs five cells", "true #"),
    Row("cargo test", "takes minutes; test_new.py runs it"),
    Row(r"\.venv/bin/(maturin|python -m pip) ", "takes minutes; test_own_crate.py builds a wheel"),
    Row("TAILBACK_CORE=", "needs a wheel; test_own_crate.py runs these lines"),
    Row("pip install", "needs a network or a wheel; tests/wheel installs one"),
    Row("ip netns", "needs privileges"),
    Row(r"id=\$\(sbatch", "needs a cluster"),
]
#: What is changed in the Python and the files of the pages.
TEXTS = [
    Row('duration="20s"', "takes seconds", 'duration="6s"'),
    Row('bottleneck="500Mbps"', "takes seconds", 'bottleneck="50Mbps"'),
    Row('"duration=30s"', "takes seconds", '"duration=6s"'),
    Row('"60s"\nscenario.warmup = "10s"', "takes a minute", '"6s"\nscenario.warmup = "1s"'),
    Row("replications = 10", "takes seconds", "replications = 2"),
]


@dataclass(frozen=True)
class Before:
    """What a page takes for granted."""

    #: The page that shows the files.
    files: str
    commands: tuple[str, ...] = ()


BEFORE = {
    "docs/cluster.md": Before("docs/sweeps.md"),
    "docs/plotting.md": Before("docs/sweeps.md", ("tailback sweep plan.toml --out out/plan",)),
    "docs/read-results.md": Before("docs/sweeps.md", ("tailback sweep plan.toml --out DIR",)),
}
#: Pages whose commands or Python simulate for more than two seconds.
SLOW = {
    "docs/choosing.md",
    "docs/howto/what-you-have.md",
    "docs/home-line.md",
    "docs/cluster.md",
    "docs/plotting.md",
    "docs/sweeps.md",
}

#: Before click 8.2 a runner has to be told to keep the two outputs apart.
APART: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}


def by_page(of: dict[str, object]) -> list[object]:
    """A test for each page that has some."""
    return [pytest.param(page, id=page, marks=[pytest.mark.slow] if page in SLOW else []) for page in of if of[page]]


COMMANDS_OF = {page: pages.commands(page) for page in PAGES}
PYTHON_OF = {page: pages.of(page, "python") for page in PAGES}


def row(rows: list[Row], text: str) -> Row | None:
    return next((r for r in rows if re.match(r.line, text)), None)


def changed(text: str) -> str:
    for r in TEXTS:
        text = re.sub(r.line, r.instead or "", text)
    return text


class Reader:
    """Someone who follows a page in a folder of their own."""

    def __init__(self, folder: Path, page: str) -> None:
        self.folder = folder
        programs = folder / ".programs"
        programs.mkdir()
        self._program(programs / "tailback", f'exec {shlex.quote(sys.executable)} -m tailback "$@"')
        self._program(programs / "less", "exec cat")
        self.env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "80", "MPLBACKEND": "agg"}
        before = BEFORE.get(page, Before(page))
        for name, text in pages.named_files(before.files).items():
            (folder / name).write_text(changed(text))
        for text in before.commands:
            self.run(Command(page, text))

    @staticmethod
    def _program(path: Path, text: str) -> None:
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def run(self, command: Command) -> None:
        said = self.said(["bash", "-o", "pipefail", "-c", command.text], command.place)
        if command.output is not None:
            right = doctest.OutputChecker().check_output(command.output, said, doctest.ELLIPSIS)
            assert right, f"{command.place} shows other output than this:\n{said}"

    def said(self, argv: list[str], place: str) -> str:
        done = subprocess.run(
            argv, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=300, check=False
        )
        if (missing := re.search(r"No module named '(\w+)'$", done.stderr.strip())) and not importlib.util.find_spec(
            missing[1]
        ):
            pytest.skip(f"{missing[1]} is not installed: it is in requirements-dev.txt")
        assert done.returncode == 0, f"{place}: {argv[-1]}\n{done.stdout}{done.stderr}"
        return done.stdout


#: Where runs begin. A study may have experiments that are no plan, real packets among them.
COMPUTING = (
    "runs.campaign.errand.Errand.run",
    "study.work.course.run",
    "runs.campaign.dask.client_of",
    "runs.live.session.live",
    "runs.live.box.run",
    "runs.live.behind.course.run",
    "apps.lab.server.serve",
)


class WouldCompute(BaseException):
    """The command line was read to its end."""


@pytest.fixture
def nothing_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in this process end where their first run would begin."""

    def stop(what: object, *_: object, **__: object) -> None:
        raise WouldCompute(what)

    for place in COMPUTING:
        monkeypatch.setattr(f"tailback.{place}", stop)


def accepted(text: str, place: str) -> object:
    """Reads a line to its end; what would compute."""
    try:
        cli.main(shlex.split(text)[1:], prog_name="tailback", standalone_mode=False)
    except WouldCompute as e:
        return e.args[0]
    except Exception as e:
        pytest.fail(f"{place}: {e}")
    pytest.fail(f"{place} computes nothing, so it can be run as it stands")


@pytest.mark.parametrize("page", by_page(COMMANDS_OF))
@pytest.mark.usefixtures("nothing_computed")
def test_the_commands_of_a_page_do_what_it_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(tmp_path, page)
    monkeypatch.chdir(tmp_path)
    for c in COMMANDS_OF[page]:
        text, _, comment = (part.strip() for part in c.text.partition(" #"))
        shorter = row(SHORTER, text)
        if shorter is not None:
            computing = accepted(text, c.place)
            if said := re.search(r"([\d,]+) runs\b", comment):
                assert isinstance(computing, Work), c.place
                assert len(computing.jobs) == int(said[1].replace(",", "")), f"{c.place} says {said[0]}"
        other = shorter or row(ELSEWHERE + OTHERS, text)
        if other is None:
            assert text.startswith("tailback "), f"{c.place}: say in OTHERS what a test does with {text}"
            reader.run(Command(c.place, text, c.output))
        elif other.instead is not None:
            reader.run(Command(c.place, re.sub(other.line, other.instead, text, count=1), c.output))


@pytest.mark.parametrize("page", by_page(PYTHON_OF))
def test_the_python_of_a_page_runs(page: str, tmp_path: Path) -> None:
    """Blocks share their names, as in a notebook. The numbers of lines are those of the page."""
    script = ""
    for block in PYTHON_OF[page]:
        script += "\n" * (block.line - 1 - script.count("\n")) + block.text
    Reader(tmp_path, page).said([sys.executable, "-c", changed(script)], page)


#: What scenarios name that no file here can hold, and what is said of it.
OF_OTHERS = {'transport = "stack"': "which a scenario file cannot hold", "aioquic_stack.py": "aioquic_stack.py"}


def test_the_whole_scenarios_of_the_pages_are_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scenario is whole if it has a duration; other blocks are parts of one, or other files."""
    monkeypatch.chdir(tmp_path)
    checked = set()
    for page in PAGES:
        for block in pages.of(page, "python"):
            if named := re.match(r"# (\w+\.py)\n", block.text):
                (tmp_path / named[1]).write_text(block.text)
        for block in pages.of(page, "toml"):
            if re.search("^duration = ", block.text, re.MULTILINE):
                (tmp_path / "scenario.toml").write_text(block.text)
                said = CliRunner(**APART).invoke(cli, ["check", "scenario.toml"])
                if missing := [m for named, m in OF_OTHERS.items() if named in block.text]:
                    assert missing[0] in f"{said.output}{said.exception}", f"{block.place}: {said.exception}"
                    continue
                assert said.stdout == "ok\n" and "warning" not in said.stderr, f"{block.place}: {said.output}"
                checked.add(page)
    assert len(checked) > 20


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_computed")
def test_the_commands_with_a_time_are_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Reader(tmp_path, "docs/times.md")
    (tmp_path / "benches").symlink_to(ROOT / "benches")
    monkeypatch.chdir(tmp_path)
    for c in pages.mentioned("docs/times.md"):
        accepted(c.text, c.place)


def mentions() -> Iterator[Command]:
    return (c for page in PAGES for c in pages.mentioned(page))


def test_the_commands_in_sentences_exist_with_their_options() -> None:
    for c in mentions():
        words = shlex.split(c.text)[1:]
        command: click.Command = cli
        while isinstance(command, click.Group) and words:
            name = words.pop(0)
            found = command.get_command(click.Context(command), name)
            assert found is not None, f"{c.place}: there is no command {name}"
            command = found
        try:
            command.make_parser(click.Context(command)).parse_args(words)
        except click.UsageError as e:
            # A sentence may leave out what a command asks for.
            assert isinstance(e, click.MissingParameter), f"{c.place}: {e.format_message()}"


def test_the_models_in_sentences_are_described() -> None:
    named = {c.text: c.place for c in mentions() if " describe " in c.text and "my-aqm" not in c.text}
    assert len(named) > 40
    for text, place in named.items():
        said = CliRunner().invoke(cli, shlex.split(text)[1:])
        assert said.exit_code == 0 and said.output, f"{place}: {text}: {said.output}"


def test_the_targets_and_scripts_in_sentences_are_there() -> None:
    rules = re.findall(r"^([\w-]+(?: [\w-]+)*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    targets = {name for rule in rules for name in rule.split()}
    found = [c for page in PAGES for program in ("make", "python") for c in pages.mentioned(page, program)]
    assert len(found) > 40
    for c in found:
        program, name = shlex.split(c.text)[:2]
        there = name in targets if program == "make" else name == "-m" or (ROOT / name).is_file()
        assert there, f"{c.place}: {c.text}"


def test_every_row_is_of_use() -> None:
    lines = [c.text.partition(" #")[0].rstrip() for of_page in COMMANDS_OF.values() for c in of_page]
    for r in SHORTER + ELSEWHERE + OTHERS:
        assert any(re.match(r.line, x) for x in lines), f"no page has a line that begins with {r.line}"
    blocks = [b.text for page in PAGES for b in pages.blocks(page)]
    for r in TEXTS:
        assert any(re.search(r.line, x) for x in blocks), f"no page has {r.line}"
    assert set(PAGES) > set(BEFORE) | SLOW


def test_no_command_is_overlooked() -> None:
    """A simpler search finds the same lines."""
    for page in PAGES:
        shown = "\n".join(b.text for b in pages.blocks(page))
        simple = re.findall(rf"^(?:\S*/)?tailback (?:{'|'.join(COMMANDS)})\b.*", shown, re.MULTILINE)
        found = [c for c in pages.commands(page) if re.match(r"(?:\S*/)?tailback ", c.text)]
        assert len(found) == len(simple), page
