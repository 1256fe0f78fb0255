"""Runs all studies in turn, and writes their outcomes onto one page.

report.html     a single file: each study's counts, its five sentences, its figures
summary.md      the same in short, for a page of documentation
bundle.json     what `tailback verify` checks
STUDY/          the folder of each study
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tailback.study import bundle
from tailback.study import load as studies
from tailback.study.repeat import Repeat
from tailback.study.reproduce import reproduce
from tailback.study.write import Reproduction


def everything(
    how: Repeat,
    out: Path,
    ended: Callable[[Reproduction], Any] | None = None,
    names: list[str] | None = None,
) -> list[Reproduction]:
    """Reproduce every known study into its folder in `out`. `ended` is called for each study. Stored runs are used."""
    out.mkdir(parents=True, exist_ok=True)
    # The list of an earlier run does not describe this one.
    (out / bundle.NAME).unlink(missing_ok=True)
    reproductions = []
    for name in names or studies.known():
        study = studies.load(name)
        seeds = f" --seeds {how.seeds}" if how.seeds else ""
        command = f"tailback reproduce {name} --{how.mode}{seeds}"
        r = reproduce(study, None, _under(name, how), out / study.id, command=command)
        reproductions.append(r)
        if ended is not None:
            ended(r)
    from tailback.show.report.all_page import write

    write(out, [r.out for r in reproductions])
    bundle.write(out, [bundle.part(r, out, how) for r in reproductions])
    return reproductions


def _under(name: str, how: Repeat) -> Repeat:
    """The same settings, with the name of the study before the announced work."""
    tell = how.announce
    return how if tell is None else replace(how, announce=lambda text: tell(f"{name}: {text}"))
