"""Makes the report of a folder of `tailback run` or a sweep: the scenarios, the results, and figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tailback import _core
from tailback.core.figure_style import IN_PAGE
from tailback.core.results.difference import CompareError
from tailback.core.results.means import alike, averages, labels_of
from tailback.core.results.setting import of_folder
from tailback.core.scenario.read import stored
from tailback.core.store import manifest
from tailback.core.text.plain import file_bytes, plain
from tailback.show.report.page import picture, render
from tailback.show.report.run_figures import figures
from tailback.show.report.run_tables import differences, means


def run_page(folder: Path, kinds: Sequence[str] = (IN_PAGE,)) -> str:
    """The page. Figures are also written as these kinds of files."""
    results, stored_manifest = _core.read_results(folder), manifest.read(folder)
    # The scenario is read first, so that an unreadable one is refused before anything is drawn.
    marking, scenario, text = of_folder(folder), folder / "scenario.toml", ""
    if scenario.is_file():
        text = file_bytes(scenario).decode("utf-8", "replace")
        stored(scenario)
    name = plain(str(stored_manifest.get("scenario") or folder.resolve().name))
    labels = labels_of(results.runs)
    status = list(results.runs["status"]) if len(results.runs) else []
    failed_runs = [i for i, s in enumerate(status) if s != "done"]
    replications = len(set(np.asarray(results.runs["replication"]).tolist())) if status else 0
    facts = [f"{len(status)} runs", f"{replications} replication{'s' if replications != 1 else ''} a point"]
    if labels:
        facts.append("varied: " + ", ".join(labels))
    sweep = stored_manifest.get("sweep") or {}
    titles = {a["name"]: f"{a['title']} ({a['unit']})" if a["unit"] else a["title"] for a in sweep.get("axes", [])}
    comparison, difference_tables, why_not = sweep.get("compare"), [], ""
    if comparison:
        try:
            difference_tables = differences(results, comparison["axis"], comparison["against"])
        except CompareError as e:
            # An example is that every run of that label failed.
            why_not = f"Nothing can be compared: {e}."
    command = stored_manifest.get("command", "")
    facts_shown = ("tailback", "build", "python", "started", "elapsed_s", "scenario_digest")
    return render(
        "run.html",
        title=f"{name}: report",
        name=name,
        said=facts,
        failed=len(failed_runs),
        why=str(results.runs["message"][failed_runs[0]]) if failed_runs else "",
        figures=[picture(folder, *drawn) for drawn in figures(folder, results, labels, titles, kinds)],
        marking=marking,
        note=_note(results, labels, replications),
        tables=means(results, labels),
        compared=comparison,
        differences=difference_tables,
        why_not=why_not or ("" if difference_tables else "No number differs."),
        manifest=[(k, str(stored_manifest[k])) for k in facts_shown if k in stored_manifest],
        command=" ".join(command) if isinstance(command, list) else str(command),
        scenario=text,
    )


def _note(results: Any, labels: list[str], replications: int) -> str:
    """A sentence on the numbers of the tables."""
    if replications <= 1:
        return "One run a point: no intervals."
    tables = ((results.groups, "group"), (results.links, "name"))
    if alike(*(averages(t, (*labels, key), ci=True) for t, key in tables)):
        return "The replications are all alike: nothing here is drawn at random, so the intervals say nothing."
    return "Means over replications ± half the 95 % interval."
