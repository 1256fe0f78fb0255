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
    #: mode -> label -> text given to the paths
    values: dict[str, dict[str, str]]
    #: whether the labels are disciplines of the study, or pairs of a discipline and a transport
    disciplines: bool
    #: label -> changes of its own, as `--set` takes them
    changes: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def labels(self, mode: str) -> list[str]:
        return list(self.values[mode])

    def overrides(self, mode: str, label: str) -> list[str]:
        """What a label changes in the scenario."""
        return [*(f"{p}={self.values[mode][label]}" for p in self.paths), *self.changes.get(label, ())]


@dataclass(frozen=True)
class Point:
    labels: dict[str, str]
    overrides: list[str]

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(self.labels.values())


@dataclass(frozen=True)
class Case:
    """One combination of labels that stands for itself, where not every combination of two axes makes sense."""

    labels: dict[str, str]
    set: tuple[str, ...]
    modes: tuple[str, ...]
    fair_share_bps: float | None


@dataclass(frozen=True)
class Runs:
    """A set of runs: a scenario or a function, what is varied, and how often each point is repeated."""

    name: str
    #: The scenario; None for a set that is computed without packets.
    scenario: Path | None
    #: Name of a function of `tailback.computed`, or "".
    compute: str
    axes: tuple[Axis, ...]
    cases: tuple[Case, ...]
    set: tuple[str, ...]
    #: Before these, in quick only: a shorter run.
    quick_set: tuple[str, ...]
    seeds: dict[str, int]
    fair_share_bps: float
    link: str
    #: Numbers that measures or the function may need, such as a round trip.
    options: dict[str, Any]
    #: CPU seconds of one run, by mode, on the machine of the study's page: for the estimate before the start.
    cost_s: dict[str, float]
    #: The file it is declared in, for messages.
    file: str = ""

    def axis(self, name: str) -> Axis:
        return next(a for a in self.axes if a.name == name)

    def points(self, mode: str, chosen: list[dict] | None = None) -> list[Point]:
        """Every point of the mode that one of the conditions in `chosen` selects (all without it), in order."""
        found = []
        of_cases = {name for c in self.cases for name in c.labels}
        free = [a for a in self.axes if a.name not in of_cases]
        cases = [c for c in self.cases if mode in c.modes] if self.cases else [Case({}, (), MODES, None)]
        for labels in itertools.product(*(a.labels(mode) for a in free)):
            for case in cases:
                given = {**dict(zip((a.name for a in free), labels, strict=True)), **case.labels}
                named = {a.name: given[a.name] for a in self.axes}
                if chosen is not None and not any(matches(named, w) for w in chosen):
                    continue
                overrides = [*(self.quick_set if mode == "quick" else ()), *self.set]
                for a in self.axes:
                    # The values of a case stand in the case, but a discipline is one wherever it is named.
                    if a in free or a.disciplines:
                        overrides += a.overrides(mode, named[a.name])
                found.append(Point(named, overrides + list(case.set)))
        return found

    def key_of(self, discipline: str) -> tuple[str, ...]:
        """The labels of a discipline or pair, with the first label of every other axis."""
        return tuple(discipline if a.disciplines else self.all_labels(a)[0] for a in self.axes)

    def all_labels(self, axis: Axis) -> list[str]:
        """Labels of an axis in any mode, in order."""
        if any(axis.name in c.labels for c in self.cases):
            return list(dict.fromkeys(c.labels[axis.name] for c in self.cases))
        return list(dict.fromkeys([x for m in MODES for x in axis.labels(m)]))

    def buffer_of(self, key: tuple[str, ...]) -> float:
        labels = dict(zip((a.name for a in self.axes), key, strict=True))
        try:
            return float(labels.get("buffer", self.options.get("buffer", "nan")))
        except ValueError:
            return float("nan")

    def fair_share_of(self, labels: dict[str, str]) -> float:
        for c in self.cases:
            if c.fair_share_bps is not None and all(labels.get(k) == v for k, v in c.labels.items()):
                return c.fair_share_bps
        return self.fair_share_bps


@dataclass(frozen=True)
class Experiment:
    id: str
    item: str
    title: str
    text: str
    runs: tuple[str, ...]
    where: dict[str, Any]
    output: tuple[dict, ...]
    #: Why it cannot be run here, if so.
    why_not: str = ""
    #: It varies the study's own parameters: left out where a discipline is exchanged, and of the table of parameters.
    variants: bool = False


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
    #: Combinations that stand where a discipline does: name -> its title, its discipline, and a table for each role.
    pairs: dict[str, dict] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return self.about["title"]

    def discipline_title(self, name: str) -> str:
        if name in self.pairs:
            queue = self.pairs[name]["queue"]
            return self.pairs[name]["title"] + (f" ({queue} replaced)" if queue in self.replaced else "")
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
    from tailback import cells

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
            texts = {d: inline({**disciplines[d]["queue"], **own}) for d in a["disciplines"]}
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
            changes += [f"{p}.{k}={inline(v)}" for p in paths for k, v in {**table, **more.get(role, {})}.items()]
        found[name] = tuple(changes)
    return found


def _labelled(values: Any, unit: str) -> dict[str, str]:
    """Texts of an axis by label: a list of values, or a table of label and value (text with its unit, list, table)."""
    if isinstance(values, dict):
        return {k: inline(v) for k, v in values.items()}
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
