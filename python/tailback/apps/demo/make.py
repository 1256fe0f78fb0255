"""Runs the scenarios of the pictures, and writes the folder.

A folder of the demo has these files:

    demo.html              the page
    queue/, goodput/, ...  results of each picture, with scenario.toml and figures/
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from tailback.apps.demo.page import NAME, PagePart, page
from tailback.apps.demo.pictures import LINK, PICTURES, Picture
from tailback.core.scenario.read import load_scenario
from tailback.core.store import manifest
from tailback.core.text.whole import write_text
from tailback.runs.campaign.errand import whole
from tailback.runs.campaign.plan import Plan
from tailback.runs.campaign.progress import HowFar, ProgressLine
from tailback.runs.result import RunError

#: CPU seconds for loading the libraries that draw, and for the page.
BESIDE_S = 0.6


class Occupied(ValueError):
    """A folder with other files in the place of the demo's."""


@dataclass(frozen=True)
class DemoOrder:
    """The options: folder, seed, and output."""

    out: Path
    seed: int
    jobs: int = 0
    #: The words of the command, for the manifests.
    command: list[str] = field(default_factory=list)


def demonstrate(asked: DemoOrder, told: ProgressLine) -> Path:
    """Runs all scenarios, writes the page and its figures, and returns the path of the page. Raises `Occupied` before
    anything is run or written."""
    out_folder, seed = asked.out, asked.seed
    _check(out_folder)
    runs = sum(len(p.queues) for p in PICTURES)
    cost = BESIDE_S + sum(p.cost_s for p in PICTURES)
    told.announce(f"{len(PICTURES)} pictures from {runs} runs with seed {seed}, about {cost:.0f} s of CPU time")
    state = HowFar(told, runs, 0, cost)
    page_parts = []
    for p in PICTURES:
        state.set = p.name
        page_parts.append(_show(p, asked, state))
        state.ended(p.cost_s, len(p.queues))
    write_text(out_folder / NAME, page(page_parts, out_folder, seed))
    return out_folder / NAME


def _show(p: Picture, asked: DemoOrder, state: HowFar) -> PagePart:
    """Runs a picture's scenario under its disciplines, and draws it."""
    from tailback.show import plots

    text = p.text.replace("\nduration", f"\nseed = {asked.seed}\nduration", 1)
    points = []
    for q in p.queues:
        points.append(({"queue": q}, load_scenario(text, [f"link.{LINK}.queue.kind={q}"], name=f"demo, {p.name}, {q}")))
    folder = asked.out / p.name
    about = {**manifest.program(asked.command), "demo": {"picture": p.name, "scenario": p.text}}
    results = Plan(points).execute(folder, asked.jobs, state.under_way, about=about)
    if results.failure is not None:
        raise RunError(f"the run with seed {asked.seed} failed: {results.failure['message']}")
    picture = p.see(p, whole(results))
    write_text(folder / "scenario.toml", text)
    plots.titled(picture.figure, picture.title)
    files = plots.save(picture.figure, folder / "figures" / f"demo-{p.name}", small=True)
    return PagePart(p, picture, text, files)


def _check(out: Path) -> None:
    """Checks that each file to be written is new or was written by a demo."""
    folders = [out / p.name for p in PICTURES]
    as_written = [f for f in folders if _as_written(f)]
    foreign_paths = [f for f in folders if f.exists() and f not in as_written and not _is_empty(f) and not _is_begun(f)]
    if (out / NAME).exists() and not as_written:
        foreign_paths.append(out / NAME)
    if foreign_paths:
        raise Occupied(f"{foreign_paths[0]} is not as a demo writes it; give the name of a new folder")


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def _is_begun(folder: Path) -> bool:
    """Whether runs were stored here by a demo that was killed before it wrote its manifest."""
    return (folder / "lock").is_file() and not (folder / "manifest.json").exists()


def _as_written(folder: Path) -> bool:
    """Whether this is the folder of a picture, and its scenario has not been edited."""
    try:
        facts = manifest.read(folder).get("demo")
        if not isinstance(facts, dict) or facts.get("picture") != folder.name:
            return False
        text = (folder / "scenario.toml").read_text(encoding="utf-8")
    except FileNotFoundError:
        # A demo that was stopped before it wrote this.
        return True
    except (OSError, UnicodeDecodeError):
        return False
    return re.sub(r"^seed = \d+\n", "", text, flags=re.MULTILINE) == facts.get("scenario")
