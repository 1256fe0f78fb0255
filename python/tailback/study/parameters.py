"""Lists every parameter that a study's runs use: its declared default, its value, and the scenarios that differ.

Values come from the scenarios as they are run (file, set and point). Defaults, meanings and sources come from the
declarations of the engine. The list is therefore always right.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tailback.study.study import Study

#: The keys of models in a scenario, with the family of each.
_PLACES = {
    "transport": "transport",
    "queue": "queue",
    "reverse_queue": "queue",
    # Keys inside a queue; an AQM there is also a queue discipline.
    "aqm": "queue",
    "before": "queue",
    "scheduler": "scheduler",
    "policy": "policy",
    "traffic": "traffic",
}


def used(study: Study) -> dict[tuple[str, str], list[tuple[str, dict[str, Any]]]]:
    """(family, kind) -> [(scenario, the given parameters)], over all points except those of variants."""
    from tailback import _core
    from tailback.core.scenario.read import as_text

    places_of: dict[tuple[str, str], list[tuple[str, dict[str, Any]]]] = {}
    for name in study.needs([e for e in study.experiments if not e.variants]):
        runs = study.runs[name]
        if runs.scenario is None:
            continue
        text = as_text(runs.scenario)
        for point in runs.points("quick"):
            try:
                scenario = json.loads(_core.load(*text, point.overrides).json)
            except _core.ScenarioError:
                # The scenarios of the runs were read before. Another point of the study may not fit a queue that
                # replaces a discipline.
                continue
            for family, table in _models(scenario):
                parameters = {k: v for k, v in table.items() if k != "kind"}
                use = (runs.scenario.stem, parameters)
                places = places_of.setdefault((family, table["kind"]), [])
                if use not in places:
                    places.append(use)
    return places_of


def _models(x: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Tables of models in a scenario, each with its family."""
    if not isinstance(x, dict):
        return
    for k, v in x.items():
        for model in v if isinstance(v, list) else [v]:
            if k in _PLACES and isinstance(model, str | dict):
                table = {"kind": model} if isinstance(model, str) else model
                if "kind" in table:
                    yield _PLACES[k], table
            yield from _models(model)


def rows(study: Study) -> list[list[str]]:
    """The rows of the table: kind, parameter, value with the scenarios if it differs, default, source and meaning."""
    from tailback import _core

    table_rows = []
    order = list(dict.fromkeys(_PLACES.values()))
    for (family, kind), places in sorted(used(study).items(), key=lambda x: (order.index(x[0][0]), x[0][1])):
        model = next(m for m in json.loads(_core.describe_json(kind)) if m["family"] == family)
        for p in model["parameters"]:
            scenarios_of_value: dict[str, dict[str, None]] = {}
            for scenario, parameters in places:
                scenarios_of_value.setdefault(_plain(parameters.get(p["name"], p["default"])), {})[scenario] = None
            if len(scenarios_of_value) == 1:
                text = next(iter(scenarios_of_value))
            else:
                text = "; ".join(f"{v} ({_short(list(s))})" for v, s in scenarios_of_value.items())
            table_rows.append([kind, p["name"], text, _plain(p["default"]), p.get("source", ""), p["doc"]])
    return table_rows


def _plain(x: Any) -> str:
    if isinstance(x, list):
        return ", ".join(map(_plain, x))
    if isinstance(x, dict) and "kind" in x:
        # The parameters of this model have their own rows.
        return str(x["kind"])
    return str(x).lower() if isinstance(x, bool) else f"{x:g}" if isinstance(x, float) else str(x)


def _short(names: list[str]) -> str:
    """Names of scenarios without their common prefix: `scenario-1, 3`."""
    names = sorted(names)
    lead = names[0].rpartition("-")[0]
    if lead and all(n.startswith(lead + "-") for n in names):
        return f"{lead} " + ", ".join(n[len(lead) + 1 :] for n in names)
    return ", ".join(names)
