"""The pages say what the program says."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pages
import pytest

import tailback
from tailback import _core

ROOT = Path(__file__).parents[2]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_the_readme_s_scenario_runs() -> None:
    (text,) = blocks("toml")
    scenario = tailback.load_scenario(text, overrides=["duration=2s"])
    assert scenario.duration_s == 2.0
    assert len(text.strip().splitlines()) <= 11
    # The page speaks of intervals: its replications must differ.
    result = tailback.run(scenario, replications=2)
    assert len(set(result.groups["goodput_bps_sum"])) == 2


def test_links_between_pages_lead_somewhere() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


def test_the_scenarios_on_the_pages_of_disciplines_run() -> None:
    ran = 0
    for page in sorted((ROOT / "docs/disciplines").glob("*.md")):
        for text in re.findall(r"```toml\n(?:# .*\n)?(duration = .*?)```", page.read_text(), re.DOTALL):
            result = tailback.run(tailback.load_scenario(text, overrides=["duration=1s"]))
            assert result.flows["goodput_bps"].sum() > 0, page.name
            assert f'kind = "{page.stem}"' in text, f"{page.name} shows another discipline"
            ran += 1
    assert ran >= 4


def test_the_page_of_workloads_says_what_loads() -> None:
    line = (
        'duration = "1s"\n{top}\n[link.bottleneck]\nfrom = "a"\nto = "b"\nrate = "500Mbps"\ndelay = "50ms"\n'
        'queue = { kind = "drr", buffer = "unlimited" }\n{flows}'
    )
    page = (ROOT / "docs/workloads.md").read_text()
    found = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(found) == 5
    for text in found:
        top, table, rest = re.split(r"^(\[(?:flows|sessions)\.)", text, maxsplit=1, flags=re.MULTILINE)
        extra = 'transport = "udp"\ntraffic = { kind = "cbr", rate = "5Mbps" }\n' if "meter" in text else ""
        filled = line.replace("{top}", top).replace("{flows}", f"{table}{rest}{extra}")
        assert tailback.load_scenario(filled).duration_s == 1.0
    # And what the table says of one line each.
    rows = re.findall(r"^\| W-\w+ \| (.*?) \| ", page, re.MULTILINE)
    assert len(rows) == 8
    for row in rows:
        parts = [x for x in re.findall(r"`([^`]*)`", row) if " = " in x and "..." not in x]
        if parts:
            filled = line.replace("{top}", "").replace("{flows}", "[flows.x]\n" + "\n".join(parts) + "\n")
            assert tailback.load_scenario(filled).duration_s == 1.0


def test_headings_of_a_page_go_down_a_level_at_a_time() -> None:
    """The site is built with every warning an error, and not everywhere where the tests are run."""
    for page in (ROOT / "docs").rglob("*.md"):
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        levels = [len(x) for x in re.findall(r"^(#+) ", text, re.MULTILINE)]
        assert levels[0] == 1, page
        assert all(b <= a + 1 for a, b in itertools.pairwise(levels)), page


def test_the_page_of_disciplines_has_each_under_its_group() -> None:
    page = (ROOT / "docs/disciplines/README.md").read_text().partition("\n## By kind\n")[2].partition("\n## ")[0]
    shown: list[tuple[str, str]] = []
    for part in page.split("\n### ")[1:]:
        title = part.partition("\n")[0]
        shown += [(title, name) for name in re.findall(r"^\| \[`(.*?)`\]", part, re.MULTILINE)]
    (queues,) = (f for f in json.loads(_core.describe_json()) if f["family"] == "queue")
    assert shown == [(m["group"], m["name"]) for m in queues["models"]]


def test_the_readme_counts_the_disciplines() -> None:
    (queues,) = (family["models"] for family in json.loads(_core.describe_json()) if family["family"] == "queue")
    assert f"{len(queues)} queue disciplines" in (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_the_discipline_written_in_python_runs_and_repeats() -> None:
    (text,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/disciplines/README.md").read_text(), re.DOTALL)
    drops = []
    for _ in range(2):
        names: dict = {}
        exec(text.replace('"20s"', '"5s"'), names)
        losses = names["result"].losses
        assert {"early", "overflow"} == set(losses["reason"])
        drops.append(losses.to_list("packets"))
    assert drops[0] == drops[1]


def test_the_readme_s_links_are_those_of_the_checkout() -> None:
    """So that a clone and a fork show their own pages. `test_description.py` has those of a package index."""
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert len(links) > 20 and not [x for x in links if "://" in x]


def test_the_sample_of_types_uses_every_public_name() -> None:
    used = set(re.findall(r"\btb\.(\w+)", (ROOT / "tests/typing/sample.py").read_text()))
    assert set(tailback.__all__) - used == set()


def test_the_page_of_sweeps_says_what_loads(tmp_path: Path) -> None:
    files = pages.named_files("docs/sweeps.md")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert len(tailback.load_sweep(tmp_path / "plan.toml")) == 3 * 5 * 10
    assert len(tailback.load_sweep(tmp_path / "beside.toml")) == 5 * 5 * 10
    parts = [b.text for b in pages.of("docs/sweeps.md", "toml") if b.text not in files.values()]
    whole = 'scenario = "lab.toml"\n'
    points = {"[axis.access.set]": 2, "[axis.rate]": 3, "[design]": 64}
    for begin, n in points.items():
        (part,) = (x for x in parts if x.startswith(begin))
        if begin == "[design]":
            pytest.importorskip("scipy")
        (tmp_path / "part_of.toml").write_text(whole + part)
        assert len(tailback.load_sweep(tmp_path / "part_of.toml")) == n, part
    (stop,) = (x for x in parts if x.startswith("[stop]"))
    plan = files["plan.toml"].replace("replications = 10\n", "").replace("[compare]", f"{stop}[compare]")
    (tmp_path / "grow.toml").write_text(plan)
    assert tailback.load_sweep(tmp_path / "grow.toml").stop.at_most == 100
