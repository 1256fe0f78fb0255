"""All studies, one after the other, and what they came to on one page.

report.html     a single file: each study's counts, its five sentences, its figures
summary.md      the same in short, for a page of documentation
bundle.json     what `tailback verify` checks
STUDY/          the folder of each study
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tailback.study import bundle
from tailback.study import load as studies
from tailback.study.reproduce import reproduce
from tailback.study.write import Reproduction


def everything(
    mode: str,
    out: Path,
    *,
    jobs: int = 0,
    seeds: int | None = None,
    progress: Callable[[dict[str, Any]], Any] | None = None,
    announce: Callable[[str], Any] | None = None,
    ended: Callable[[Reproduction], Any] | None = None,
    names: list[str] | None = None,
) -> list[Reproduction]:
    """Reproduce every study that is known into its folder in `out`; `ended` hears of each. What is stored is taken."""
    out.mkdir(parents=True, exist_ok=True)
    # What was said of an earlier run is no longer so.
    (out / bundle.NAME).unlink(missing_ok=True)
    found = []
    for name in names or studies.known():
        study = studies.load(name)
        tell = (lambda text, name=name: announce(f"{name}: {text}")) if announce is not None else None
        again = " ".join(["tailback reproduce", name, f"--{mode}", *([f"--seeds {seeds}"] if seeds else [])])
        r = reproduce(
            study, None, mode, out / study.id, jobs=jobs, seeds=seeds, progress=progress, announce=tell, command=again
        )
        found.append(r)
        if ended is not None:
            ended(r)
    from tailback.report.all_page import write

    write(out, [r.out for r in found])
    bundle.write(out, [bundle.part(r, out, bundle.Asked(seeds)) for r in found])
    return found
