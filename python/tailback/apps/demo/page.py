"""The page of the demo: pictures with measured values, their scenarios, commands to try next, and the places of the
results."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tailback import _core
from tailback.apps.demo.pictures import LINK, Picture, Seen
from tailback.core.text.plain import plain
from tailback.show.report.page import picture, render

NAME = "demo.html"


@dataclass(frozen=True)
class PagePart:
    """A picture with its scenario and its files."""

    picture: Picture
    seen: Seen
    scenario: str
    files: Sequence[Path]


def page(shown: Sequence[PagePart], out: Path, seed: int) -> str:
    return render(
        "demo.html",
        title="tailback: a queue in three pictures",
        pictures=[
            {
                "name": s.picture.name,
                "seen": s.seen,
                "setting": s.picture.setting,
                "rules": s.picture.rules,
                "figure": picture(out, [str(f.relative_to(out)) for f in s.files], s.seen.caption),
                "scenario": s.scenario,
                "others": [
                    _command("run", str(out / s.picture.name / "scenario.toml"), "--set", f"link.{LINK}.queue.kind={q}")
                    for q in s.picture.queues[1:]
                ],
            }
            for s in shown
        ],
        seed=seed,
        next=_next(out),
        places=[
            [_shown(out / s.picture.name), f"tables (Parquet), scenario.toml, figures of “{s.seen.title}”"]
            for s in shown
        ],
        report=_command("report", str(out / shown[0].picture.name)),
        again=_command("demo", "--seed", str(seed), "--out", str(out)),
        manifest=[["tailback", _core.__version__], ["seed", str(seed)]],
    )


def _next(out: Path) -> list[tuple[str, str]]:
    """A command, and its effect in words."""
    delay = str(out / "delay" / "scenario.toml")
    return [
        (_command("run", delay, "--set", f"link.{LINK}.queue.kind=pie"), "sends the call through another discipline"),
        (
            _command("run", delay, "--set", "flows.upload.count=1", "--replications", "5"),
            "has one upload instead of four, with five seeds and 95 % intervals",
        ),
        (
            _command("describe", "codel"),
            "explains a discipline with its parameters; without a name it lists all models",
        ),
        (
            _command("compare", "--rate", "20Mbps", "--rtt", "40ms", "--flows", "8", "--out", "out/compare"),
            "compares disciplines on a link of yours, with the lines for Linux",
        ),
        (_command("reproduce", "--list"), "lists the published studies that one command repeats"),
        (_command("demo"), "draws another seed; what differs from this page is chance"),
    ]


def _command(*words: str) -> str:
    return plain(shlex.join(["tailback", *words]))


def _shown(path: Path) -> str:
    return plain(str(path))
