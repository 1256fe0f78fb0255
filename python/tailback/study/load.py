"""Studies as data: a folder with scenarios, disciplines, experiments, published numbers and statements.

    study.toml         what it is: citation, question, set-up
    *.toml             scenarios, each of which runs alone
    experiments.toml   disciplines, sets of runs (a scenario and its axes), experiments that read them
    published.toml     published numbers, each with where it is measured, a tolerance, and whether it gates; or tables
    statements.toml    published sentences, each with a rule

Each of the last three may be a folder of that name instead (`experiments/*.toml`), its files read in the order of their
names; the order of experiments is that of the files.

Studies are found in the package (`tailback/studies`) and in the folders listed in the environment variable
TAILBACK_STUDIES; a path to a folder is a study too.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from tailback.scenarios import as_toml
from tailback.study.model import MODES, Axis, Case, Experiment, Runs, Study, StudyError


def places() -> list[Path]:
    """Folders that hold studies."""
    given = [Path(p) for p in os.environ.get("TAILBACK_STUDIES", "").split(os.pathsep) if p]
    return [*given, Path(__file__).parents[1] / "studies"]


def known() -> list[str]:
    """Ids of the studies that can be found."""
    found = []
    for place in places():
        if place.is_dir():
            found += sorted(p.name for p in place.iterdir() if (p / "study.toml").is_file())
    return list(dict.fromkeys(found))


def load(name: str | Path, replace_disciplines: dict[str, dict] | None = None) -> Study:
    """Read a study by id or folder.

    `replace_disciplines` exchanges the queue of a discipline under its name: `{"qsdrr": {"kind": "droptail"}}` runs
    drop-tail wherever the study says qsdrr. That is how to try one's own discipline in a study, and how a test sees
    that a wrong one is found out.
    """
    folder = Path(name)
    if not (folder / "study.toml").is_file():
        folder = next((p / str(name) for p in places() if (p / str(name) / "study.toml").is_file()), folder)
    if not (folder / "study.toml").is_file():
        names = known()
        import difflib

        near = difflib.get_close_matches(str(name), names, 1, 0.4)
        hint = f'did you mean "{near[0]}"? ' if near else ""
        raise StudyError(f'there is no study "{name}"; {hint}known: {", ".join(names) or "none"}')
    about = _read(folder / "study.toml")
    plan = _parts(folder, "experiments", optional=False)
    disciplines, pairs, runs_of, listed = {}, {}, {}, []
    for file, part in plan:
        for kind, into in (("discipline", disciplines), ("pair", pairs), ("runs", runs_of)):
            for k, v in part.get(kind, {}).items():
                if k in into:
                    raise StudyError(f"{file}: [{kind}.{k}] is declared twice, here and in another file")
                into[k] = (file, v) if kind == "runs" else dict(v)
        listed += [(file, e) for e in part.get("experiment", [])]
    published = [x for file, part in _parts(folder, "published") for x in _numbers(file, part)]
    statements = [x for _, part in _parts(folder, "statements") for x in part.get("statement", [])]
    replaced = dict(replace_disciplines or {})
    for k, queue in replaced.items():
        if k not in disciplines:
            raise StudyError(f'study {about["id"]} has no discipline "{k}"; it has {", ".join(disciplines)}')
        if "kind" not in queue:
            raise StudyError(f'discipline "{k}" needs a queue with a kind, such as {{ kind = "droptail" }}')
        disciplines[k]["queue"] = queue
    runs = {k: _runs(folder, file, k, v, disciplines, pairs) for k, (file, v) in runs_of.items()}
    experiments = [_experiment(file, e, runs) for file, e in listed]
    if replaced:
        experiments = [e for e in experiments if not e.variants]
        listed = [x for x in listed if not x[1].get("variants", False)]
    for e, (file, _) in zip(experiments, listed, strict=True):
        if sum(x.id == e.id for x in experiments) > 1:
            raise StudyError(f"{file}: experiment {e.id} is declared twice")
    return Study(about["id"], folder, about, disciplines, runs, experiments, published, statements, replaced, pairs)


def _numbers(file: Path, part: dict) -> list[dict]:
    """Published numbers of a file: one by one, or as tables of cells."""
    from tailback.study import cells

    try:
        return [*part.get("number", []), *cells.numbers(part.get("cells", {}), str(file))]
    except cells.CellError as e:
        raise StudyError(str(e)) from e


def _parts(folder: Path, name: str, optional: bool = True) -> list[tuple[Path, dict]]:
    """`name.toml`, or every file of the folder `name`, in the order of their names."""
    if (folder / name).is_dir() and (folder / f"{name}.toml").is_file():
        raise StudyError(f"{folder}: there are both {name}.toml and a folder {name}; only one of them can be read")
    files = sorted((folder / name).glob("*.toml")) if (folder / name).is_dir() else [folder / f"{name}.toml"]
    return [(f, _read(f, optional)) for f in files]


def _read(path: Path, optional: bool = False) -> dict:
    if optional and not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise StudyError(f"{path}: {e.strerror}") from e
    except tomllib.TOMLDecodeError as e:
        raise StudyError(f"{path}: {e}") from e


_RUNS = {"scenario", "compute", "axis", "case", "set", "quick_set", "seeds", "fair_share", "link", "options", "cost_s"}
_AXIS = {"both", "buffer", "title", "unit", "paths", "disciplines", "pairs", "roles", "with", *MODES}
_EXPERIMENT = {"id", "item", "title", "text", "runs", "where", "output", "why_not", "variants"}


def _runs(folder: Path, file: Path, name: str, table: dict, disciplines: dict, pairs: dict) -> Runs:
    where = f"{file}, [runs.{name}]"
    _known(where, table, _RUNS)
    scenario, compute = None, table.get("compute", "")
    if not compute:
        scenario = folder / table.get("scenario", "")
        if not scenario.is_file():
            raise StudyError(f"{where}: scenario {scenario} is not there")
    cases = []
    for c in table.get("case", []):
        _known(f"{where}, a case", c, {"labels", "set", "modes", "fair_share"})
        share = _rate(c["fair_share"]) if "fair_share" in c else None
        labels = {k: str(v) for k, v in c["labels"].items()}
        cases.append(Case(labels, tuple(c.get("set", [])), tuple(c.get("modes", MODES)), share))
    axes = []
    for axis, a in table.get("axis", {}).items():
        _known(f"{where}, axis {axis}", a, _AXIS)
        changes = {}
        if "pairs" in a:
            changes = _pairs(f"{where}, axis {axis}", a, disciplines, pairs)
            values = dict.fromkeys(MODES, dict.fromkeys(changes, ""))
        elif "disciplines" in a:
            for d in a["disciplines"]:
                if d not in disciplines:
                    raise StudyError(f"{where}: there is no [discipline.{d}]; there are {', '.join(disciplines)}")
            # A set that has no axis of that name gives every discipline its buffer here.
            own = {"buffer": a["buffer"]} if "buffer" in a else {}
            texts = {d: as_toml({**disciplines[d]["queue"], **own}) for d in a["disciplines"]}
            values = dict.fromkeys(MODES, texts)
        elif any(axis in c.labels for c in cases):
            if any(axis not in c.labels for c in cases):
                raise StudyError(f"{where}: every case needs a label for axis {axis}")
            values = {m: {c.labels[axis]: "" for c in cases if m in c.modes} for m in MODES}
        else:
            given = {m: a.get(m, a.get("both")) for m in MODES}
            if any(v is None for v in given.values()):
                raise StudyError(f"{where}: axis {axis} needs values for quick and for full, or for both")
            unit = f" {a['unit']}" if a.get("unit") else ""
            values = {m: _labelled(given[m], unit) for m in MODES}
        paths = tuple(a.get("paths", ()))
        of_disciplines = "disciplines" in a or "pairs" in a
        axes.append(Axis(axis, a.get("title", axis), a.get("unit", ""), paths, values, of_disciplines, changes))
    cost = table.get("cost_s", 0.0)
    cost = cost if isinstance(cost, dict) else dict.fromkeys(MODES, cost)
    return Runs(
        name=name,
        scenario=scenario,
        compute=compute,
        axes=tuple(axes),
        cases=tuple(cases),
        set=tuple(table.get("set", [])),
        quick_set=tuple(table.get("quick_set", [])),
        seeds=dict(table.get("seeds", {"quick": 3, "full": 5})),
        fair_share_bps=_rate(table.get("fair_share", "1bps")),
        link=table.get("link", "bottleneck"),
        options=dict(table.get("options", {})),
        cost_s={m: float(cost.get(m, 0.0)) for m in MODES},
        file=str(file),
    )


def _pairs(where: str, axis: dict, disciplines: dict, pairs: dict) -> dict[str, tuple[str, ...]]:
    """What each pair changes: its discipline's queue and its tables of other roles, key by key, at the roles' paths.

    `roles` says where a role stands in the scenario; a role that has no paths there is not needed. `with` adds to a
    pair's tables for this set of runs only.
    """
    found = {}
    for name in axis["pairs"]:
        if name not in pairs:
            raise StudyError(f"{where}: there is no [pair.{name}]; there are {', '.join(pairs)}")
        if pairs[name].get("queue") not in disciplines:
            raise StudyError(f"{where}: pair {name} needs queue = one of {', '.join(disciplines)}")
        more = axis.get("with", {}).get(name, {})
        changes = []
        for role, paths in axis["roles"].items():
            table = disciplines[pairs[name]["queue"]]["queue"] if role == "queue" else pairs[name].get(role, {})
            changes += [f"{p}.{k}={as_toml(v)}" for p in paths for k, v in {**table, **more.get(role, {})}.items()]
        found[name] = tuple(changes)
    return found


def _labelled(values: Any, unit: str) -> dict[str, str]:
    """Texts of an axis by label: a list of values, or a table of label and value (text with its unit, list, table)."""
    if isinstance(values, dict):
        return {k: as_toml(v) for k, v in values.items()}
    return {str(v): f"{v}{unit}" for v in values}


def _known(where: str, table: dict, known: set[str]) -> None:
    for k in table:
        if k not in known:
            raise StudyError(f'{where}: there is no key "{k}"; there are {", ".join(sorted(known))}')


def _experiment(file: Path, e: dict, runs: dict[str, Runs]) -> Experiment:
    _known(f"{file}, experiment {e.get('id', '')}", e, _EXPERIMENT)
    names = e.get("runs", [])
    names = names if isinstance(names, list) else [names]
    for n in names:
        if n not in runs:
            raise StudyError(f'{file}: experiment {e["id"]} reads runs "{n}", which is not declared')
    return Experiment(
        e["id"],
        e.get("item", ""),
        e["title"],
        e.get("text", ""),
        tuple(names),
        e.get("where", {}),
        tuple(e.get("output", [])),
        e.get("why_not", ""),
        bool(e.get("variants", False)),
    )


def _rate(text: str) -> float:
    from tailback import _core

    return float(_core.parse_rate(text))
