"""Studies as data: a folder with scenarios, disciplines, experiments, published numbers and statements.

    study.toml         what it is: citation, question, set-up
    *.toml             scenarios, each of which runs alone
    experiments.toml   disciplines, sets of runs (a scenario and its axes), experiments that read them
    published.toml     published numbers, each with where it is measured, a tolerance, and whether it gates
    statements.toml    published sentences, each with a rule

Studies are found in the package (`tailback/studies`) and in the folders listed in the environment variable
TAILBACK_STUDIES; a path to a folder is a study too.
"""

from __future__ import annotations

import itertools
import os
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

MODES = ("quick", "full")


class StudyError(ValueError):
    """A study that does not exist, or whose data contradict each other; the message names the file."""


@dataclass(frozen=True)
class Axis:
    name: str
    title: str
    unit: str
    paths: tuple[str, ...]
    #: label -> text given to the paths
    values: dict[str, dict[str, str]]
    #: whether the labels are disciplines of the study
    disciplines: bool

    def labels(self, mode: str) -> list[str]:
        return list(self.values[mode])


@dataclass(frozen=True)
class Point:
    labels: dict[str, str]
    overrides: list[str]

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(self.labels.values())


@dataclass(frozen=True)
class Runs:
    """A set of runs: a scenario, what is varied, and how often each point is repeated."""

    name: str
    scenario: Path
    axes: tuple[Axis, ...]
    set: tuple[str, ...]
    seeds: dict[str, int]
    fair_share_bps: float
    link: str

    def axis(self, name: str) -> Axis:
        return next(a for a in self.axes if a.name == name)

    def points(self, mode: str, chosen: list[dict] | None = None) -> list[Point]:
        """Every point of the mode that one of the conditions in `chosen` selects (all without it), in order."""
        found = []
        for labels in itertools.product(*(a.labels(mode) for a in self.axes)):
            named = dict(zip((a.name for a in self.axes), labels, strict=True))
            if chosen is not None and not any(matches(named, w) for w in chosen):
                continue
            overrides = list(self.set)
            for a in self.axes:
                overrides += [f"{p}={a.values[mode][named[a.name]]}" for p in a.paths]
            found.append(Point(named, overrides))
        return found

    def buffer_of(self, labels: tuple[str, ...]) -> float:
        for a, value in zip(self.axes, labels, strict=True):
            if a.name == "buffer":
                return float(value)
        return float("nan")


@dataclass(frozen=True)
class Experiment:
    id: str
    item: str
    title: str
    text: str
    runs: tuple[str, ...]
    where: dict[str, Any]
    output: tuple[dict, ...]


@dataclass
class Study:
    id: str
    path: Path
    about: dict
    disciplines: dict[str, dict]
    runs: dict[str, Runs]
    experiments: list[Experiment]
    published: list[dict]
    statements: list[dict]
    #: Disciplines that were exchanged by the caller: name -> queue table. Reports say so.
    replaced: dict[str, dict] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return self.about["title"]

    def discipline_title(self, name: str) -> str:
        title = self.disciplines.get(name, {}).get("title", name)
        return f"{title} (replaced)" if name in self.replaced else title

    def experiment(self, name: str) -> Experiment:
        for e in self.experiments:
            if e.id.lower() == name.lower() or e.item.lower() == name.lower():
                return e
        known = ", ".join(e.id for e in self.experiments)
        raise StudyError(f'study {self.id} has no experiment "{name}"; it has {known}')

    def needs(self, experiments: list[Experiment]) -> dict[str, list[dict]]:
        """Which sets of runs some experiments read, and the conditions of the points they need."""
        needed: dict[str, list[dict]] = {}
        for e in experiments:
            for name in e.runs:
                needed.setdefault(name, []).append(e.where)
        return needed


def matches(labels: dict[str, str], where: dict[str, Any]) -> bool:
    """Whether a point's labels meet a condition: a value, a list of values, or `{ from = , to = }`."""
    return all(name not in labels or meets(labels[name], wanted) for name, wanted in where.items())


def meets(label: str, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return float(wanted.get("from", "-inf")) <= float(label) <= float(wanted.get("to", "inf"))
    wanted = wanted if isinstance(wanted, list) else [wanted]
    return label in [str(w) for w in wanted]


# ---------------------------------------------------------------------------------------------------------- finding


def places() -> list[Path]:
    """Folders that hold studies."""
    given = [Path(p) for p in os.environ.get("TAILBACK_STUDIES", "").split(os.pathsep) if p]
    return [*given, Path(__file__).parent / "studies"]


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
    about, plan = _read(folder / "study.toml"), _read(folder / "experiments.toml")
    published = _read(folder / "published.toml", optional=True).get("number", [])
    statements = _read(folder / "statements.toml", optional=True).get("statement", [])
    disciplines = {k: dict(v) for k, v in plan.get("discipline", {}).items()}
    replaced = dict(replace_disciplines or {})
    for k, queue in replaced.items():
        if k not in disciplines:
            raise StudyError(f'study {about["id"]} has no discipline "{k}"; it has {", ".join(disciplines)}')
        if "kind" not in queue:
            raise StudyError(f'discipline "{k}" needs a queue with a kind, such as {{ kind = "droptail" }}')
        disciplines[k]["queue"] = queue
    runs = {k: _runs(folder, k, v, disciplines) for k, v in plan.get("runs", {}).items()}
    experiments = [_experiment(folder, e, runs) for e in plan.get("experiment", [])]
    return Study(about["id"], folder, about, disciplines, runs, experiments, published, statements, replaced)


def _read(path: Path, optional: bool = False) -> dict:
    if optional and not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise StudyError(f"{path}: {e.strerror}") from e
    except tomllib.TOMLDecodeError as e:
        raise StudyError(f"{path}: {e}") from e


def _runs(folder: Path, name: str, table: dict, disciplines: dict) -> Runs:
    where = f"{folder / 'experiments.toml'}, [runs.{name}]"
    scenario = folder / table.get("scenario", "")
    if not scenario.is_file():
        raise StudyError(f"{where}: scenario {scenario} is not there")
    axes = []
    for axis, a in table.get("axis", {}).items():
        if "disciplines" in a:
            for d in a["disciplines"]:
                if d not in disciplines:
                    raise StudyError(f"{where}: there is no [discipline.{d}]; there are {', '.join(disciplines)}")
            texts = {d: inline(disciplines[d]["queue"]) for d in a["disciplines"]}
            values = dict.fromkeys(MODES, texts)
        else:
            if any(m not in a for m in MODES):
                raise StudyError(f"{where}: axis {axis} needs values for quick and for full")
            unit = f" {a['unit']}" if a.get("unit") else ""
            values = {m: {str(v): f"{v}{unit}" for v in a[m]} for m in MODES}
        axes.append(Axis(axis, a.get("title", axis), a.get("unit", ""), tuple(a["paths"]), values, "disciplines" in a))
    return Runs(
        name=name,
        scenario=scenario,
        axes=tuple(axes),
        set=tuple(table.get("set", [])),
        seeds=dict(table.get("seeds", {"quick": 3, "full": 5})),
        fair_share_bps=_rate(table.get("fair_share", "1bps")),
        link=table.get("link", "bottleneck"),
    )


def _experiment(folder: Path, e: dict, runs: dict[str, Runs]) -> Experiment:
    names = e["runs"] if isinstance(e["runs"], list) else [e["runs"]]
    for n in names:
        if n not in runs:
            raise StudyError(
                f'{folder / "experiments.toml"}: experiment {e["id"]} reads runs "{n}", which is not declared'
            )
    return Experiment(
        e["id"],
        e.get("item", ""),
        e["title"],
        e.get("text", ""),
        tuple(names),
        e.get("where", {}),
        tuple(e.get("output", [])),
    )


def _rate(text: str) -> float:
    from tailback import _core

    return float(_core.parse_rate(text))


def inline(x: Any) -> str:
    """A value as TOML on one line, as `--set` takes it."""
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, dict):
        return "{ " + ", ".join(f"{k} = {inline(v)}" for k, v in x.items()) + " }"
    if isinstance(x, list):
        return "[" + ", ".join(inline(v) for v in x) + "]"
    if isinstance(x, str):
        return '"' + x.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(x)


def with_overrides(study: Study, overrides: list[str]) -> Study:
    """The study with changes to every scenario, as `--set` takes them."""
    runs = {k: replace(r, set=(*r.set, *overrides)) for k, r in study.runs.items()}
    return replace(study, runs=runs)
