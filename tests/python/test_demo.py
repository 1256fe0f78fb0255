"""`tailback demo`: its page says what its runs have measured, for any seed, and overwrites nothing of others."""

from __future__ import annotations

import html
import re
import shlex
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailback as tb
from tailback.apps.demo.pictures import PICTURES, TITLES

EXAMPLES = Path(tb.__file__).parent / "examples" / "demo"
SEEDS = (11, 12)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """The working folder of a demo of each seed."""
    from conftest import Cli

    found = {}
    for seed in SEEDS:
        found[seed] = tmp_path_factory.mktemp(str(seed))
        done = Cli(found[seed])("demo", "--seed", seed)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "the page is out/demo/demo.html"
        assert f"3 pictures from 8 runs with seed {seed}" in done.stderr
    return found


def page_of(where: Path) -> str:
    return (where / "out/demo/demo.html").read_text()


def told(where: Path, name: str) -> dict[str, list[float]]:
    """The numbers of a picture's table by discipline, and under "title" those of its heading."""
    page = page_of(where)
    part = re.findall(r"<h2>(.*?)(?=<h2>)", page, re.DOTALL)[[p.name for p in PICTURES].index(name)]
    rows = re.findall(r'<tr[^>]*><td class="t">(.*?)</td>(.*?)</tr>', part)
    found = {title: [float(x) for x in re.findall(r"<td>(.*?)</td>", cells)] for title, cells in rows}
    heading = part.partition("</h2>")[0].replace("\u00a0", " ")
    return found | {"title": [float(x) for x in re.findall(r"(?:^|: |, | gets )([\d.]+)(?= )", heading)]}


def measured(where: Path, name: str, queue: str) -> list[float]:
    """The same from the stored tables."""
    results = tb.read_results(where / "out/demo" / name)
    link = results.links.where(queue=queue, name="bottleneck")[0]
    if name == "queue":
        wait, busy = 1e3 * link["sojourn_p50_s"], 100 * link["utilisation"]
        return [link["mean_queue_packets"], wait, busy, 100 * link["loss_rate"]]
    if name == "goodput":
        flows = results.flows.where(queue=queue)
        groups = [np.mean(flows.where(group=g)["goodput_wire_bps"]) / 1e6 for g in ("near", "far", "constant")]
        return [*groups, tb.stats.jain(flows["goodput_wire_bps"])]
    call = results.datagrams.where(queue=queue, group="call")[0]
    return [1e3 * call["delay_p50_s"], 1e3 * call["delay_p99_s"], 100 * call["loss_rate"]]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("picture", PICTURES, ids=lambda p: p.name)
def test_numbers_on_the_page_are_those_of_the_run(made: dict[int, Path], picture: Any, seed: int) -> None:
    shown = told(made[seed], picture.name)
    titles = {q: TITLES[q] for q in picture.queues}
    assert set(shown) == {*titles.values(), "title"}
    for q, title in titles.items():
        # Three digits are shown.
        assert shown[title] == pytest.approx(measured(made[seed], picture.name, q), rel=6e-3), q
    heading = [shown[title][2 if picture.name == "goodput" else 0] for title in titles.values()]
    assert shown["title"] == heading


@pytest.mark.slow
def test_another_seed_gives_other_numbers(made: dict[int, Path]) -> None:
    for p in PICTURES:
        assert told(made[SEEDS[0]], p.name) != told(made[SEEDS[1]], p.name), p.name


@pytest.mark.slow
def test_the_page_is_one_file_with_three_pictures(made: dict[int, Path]) -> None:
    where = made[SEEDS[0]]
    page = page_of(where)
    # Each is there for small screens too.
    assert page.count("data:image/svg+xml;base64,") == 2 * len(PICTURES) == 6
    assert "<script" not in page and "http" not in page
    for link in re.findall(r'href="(.*?)"', page):
        assert (where / "out/demo" / link).is_file(), link
    assert sum(link.endswith(".png") for link in re.findall(r'href="(.*?)"', page)) == 3


@pytest.mark.slow
def test_the_scenarios_on_the_page_are_what_was_run(made: dict[int, Path]) -> None:
    where = made[SEEDS[0]]
    scenarios = [html.unescape(text) for text in re.findall(r"<pre>(.*?)</pre>", page_of(where), re.DOTALL)]
    assert len(scenarios) == 3
    for p, text in zip(PICTURES, scenarios, strict=True):
        assert text == (where / "out/demo" / p.name / "scenario.toml").read_text()
        for q in p.queues:
            again = tb.run(text, overrides=[f"link.bottleneck.queue.kind={q}"])
            stored = tb.read_results(where / "out/demo" / p.name).flows.where(queue=q)
            assert again.runs["seed"].tolist() == [SEEDS[0]]
            assert again.flows["goodput_bps"].tolist() == stored["goodput_bps"].tolist()


@pytest.mark.slow
def test_commands_on_the_page_run(made: dict[int, Path], cli: Any) -> None:
    cli.cwd = made[SEEDS[0]]
    found = [shlex.split(html.unescape(x)) for x in re.findall(r"<code>tailback (.*?)</code>", page_of(cli.cwd))]
    slow = {"compare", "demo"}
    assert {words[0] for words in found} == {"run", "report", "describe", "reproduce"} | slow
    for words in found:
        if words[0] not in slow and "FILE" not in words:
            done = cli(*words)
            assert done.returncode == 0, (words, done.stderr)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(made: dict[int, Path], cli: Any) -> None:
    assert cli("demo", "--seed", SEEDS[0]).returncode == 0
    first = made[SEEDS[0]]
    files = ["demo.html", *(f"{p.name}/figures/demo-{p.name}.png" for p in PICTURES)]
    for file in files:
        assert (cli.cwd / "out/demo" / file).read_bytes() == (first / "out/demo" / file).read_bytes(), file


@pytest.mark.slow
def test_runs_of_an_earlier_seed_are_kept(made: dict[int, Path], cli: Any) -> None:
    cli.cwd = made[SEEDS[1]]
    before = page_of(cli.cwd)
    assert cli("demo").returncode == 0
    assert page_of(cli.cwd) != before
    assert "2 runs of other plans beside them" in cli("status", "out/demo/queue").stdout
    assert cli("demo", "--seed", SEEDS[1]).returncode == 0
    assert page_of(cli.cwd) == before


@pytest.mark.parametrize("taken", ["queue/links.parquet", "delay/notes.txt", "goodput", "demo.html"])
def test_a_folder_with_something_else_in_its_place_is_refused(cli: Any, tmp_path: Path, taken: str) -> None:
    file = tmp_path / "mine" / taken
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    # An empty folder does not make the rest a demo's.
    (tmp_path / "mine" / "queue").mkdir(exist_ok=True)
    done = cli("demo", "--out", "mine")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert f"mine/{taken.partition('/')[0]} is not as a demo writes it" in done.stderr
    assert [p for p in (tmp_path / "mine").rglob("*") if p.is_file()] == [file] and file.read_text() == "mine"


@pytest.mark.slow
def test_a_scenario_that_was_edited_is_kept(cli: Any, tmp_path: Path) -> None:
    assert cli("demo", "--seed", 3).returncode == 0
    edited = tmp_path / "out/demo/queue/scenario.toml"
    text = edited.read_text().replace("20Mbps", "50Mbps")
    edited.write_text(text)
    done = cli("demo")
    assert done.returncode == 2 and "out/demo/queue is not as a demo writes it" in done.stderr
    assert edited.read_text() == text


def test_a_file_is_no_folder(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    done = cli("demo", "--out", "mine")
    assert done.returncode == 2 and "mine is a file" in done.stderr


@pytest.mark.slow
def test_an_interruption_says_how_to_begin_again(cli: Any, tmp_path: Path) -> None:
    process = cli.start("demo", "--seed", 5)
    assert "seed 5" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "--seed 5" in said and "Traceback" not in said
    assert cli("demo", "--seed", 5).returncode == 0


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.toml")), ids=lambda f: f.stem)
def test_a_scenario_opens_with_what_to_look_for(file: Path) -> None:
    assert file.stem in {p.name for p in PICTURES}
    assert tb.load_scenario(file).warnings == []
    assert file.read_text().startswith("# ") and "# What to look for: " in file.read_text()
