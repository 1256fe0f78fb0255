"""Reads studies, each a folder with scenarios, disciplines, experiments, published numbers and statements.

    study.toml         the description of the study: citation, question, set-up
    *.toml             scenarios, each of which runs alone
    experiments.toml   disciplines, sets of runs (a scenario and its axes), experiments that read them
    published.toml     published numbers, each with its place, its tolerance, and whether it gates; or tables
    statements.toml    published sentences, each with a rule
    contents.toml      the items of the source, in its order, each with its place here

Each of the files of experiments, numbers and statements may be a folder of that name instead (`experiments/*.toml`).
The files of a folder are read in the order of their names, which is also the order of experiments. `data/files.py` has
the keys. A study may bring code of its own beside its data (`own.py`).

Studies are found in the package (`tailback/studies`) and in the folders listed in the environment variable
TAILBACK_STUDIES; a path to a folder is a study too.
"""

from __future__ import annotations

import difflib
import fnmatch
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from tailback.core.declared import safe_id
from tailback.core.scenario.installed import STUDIES
from tailback.core.verdict.told import Covered
from tailback.study import computed, outputs, own
from tailback.study.checks.base import Measured, NeededMeasure, Statement
from tailback.study.data import fill, groups, inherit
from tailback.study.data.files import (
    About,
    ChosenTable,
    ContentsFile,
    Discipline,
    ExperimentsFile,
    ExperimentTable,
    Pair,
    StatementsFile,
    read_table,
    read_toml,
)
from tailback.study.data.inherit import bases_first, with_values
from tailback.study.data.published import read_published
from tailback.study.data.statement import read_otherwise, read_statement
from tailback.study.errors import StudyError
from tailback.study.measures import MEASURES
from tailback.study.model import Experiment, Runs
from tailback.study.runs import Columns, read_runs
from tailback.study.study import Study


def places() -> list[Path]:
    """Folders that hold studies."""
    folders = [Path(p) for p in os.environ.get("TAILBACK_STUDIES", "").split(os.pathsep) if p]
    return [*folders, STUDIES]


def known() -> list[str]:
    """Ids of the studies that can be found."""
    ids = []
    for place in places():
        if place.is_dir():
            ids += sorted(p.name for p in place.iterdir() if (p / "study.toml").is_file())
    return list(dict.fromkeys(ids))


def load(name: str | Path, replace_disciplines: dict[str, dict[str, Any]] | None = None) -> Study:
    """Read a study by id or folder.

    `replace_disciplines` exchanges the queue of a discipline under its name: `{"qsdrr": {"kind": "droptail"}}` runs
    drop-tail wherever the study says qsdrr. Users can try their own discipline in a study in this way, and a test
    checks that a wrong discipline is detected.
    """
    folder = _folder(name)
    about = read_table(About, read_toml(folder / "study.toml"), folder / "study.toml")
    safe_id(about.id, folder / "study.toml", "id")
    plan = _read_plan(folder)
    replacements = dict(replace_disciplines or {})
    _replace(about.id, plan.disciplines, replacements)
    columns = Columns(plan.disciplines, plan.pairs, replacements)
    loaded_runs = {}
    for runs_name in bases_first(plan.runs):
        loaded_runs[runs_name] = read_runs(
            folder, plan.runs[runs_name].file, runs_name, inherit.runs_written(runs_name, plan.runs), columns
        )
    runs = {runs_name: loaded_runs[runs_name] for runs_name in plan.runs}
    code = own.code_of(folder)
    _computed(runs, code.package)
    if not plan.experiments:
        raise StudyError(f"{folder} has no experiment; add [[experiment]] with id, item, title and runs to its files")
    experiments = [
        (
            experiment.file,
            _experiment(experiment.file, inherit.experiment(name, plan.experiments), runs, code.package),
        )
        for name, experiment in plan.experiments.items()
    ]
    source = _contents(folder, set(plan.experiments))
    if replacements:
        experiments = [(file, experiment) for file, experiment in experiments if not experiment.variants]
    seen_names: set[str] = set()
    for file, experiment in experiments:
        for name_of in (experiment.id, *experiment.aliases):
            if name_of.lower() in seen_names:
                raise StudyError(f"{file}: experiment {name_of} is declared twice")
            seen_names.add(name_of.lower())
    published_numbers = [(file, x) for file, part in _parts(folder, "published") for x in read_published(part, file)]
    names = {"runs": list(runs), "measure": MEASURES.known_to(code.package)}
    for file, p in published_numbers:
        _ask(p.asks(), names, f"{file}: number {p.id}")
    statements = _statements(folder, names)
    _readings_of(statements, folder / "statements.toml")
    _points_of(statements, runs, folder / "statements.toml")
    rows_of = [p.id for _, p in published_numbers] + [s.id for s in statements if s.gate]
    for file, experiment in experiments:
        outputs.check_claims(file, experiment, [s.id for s in statements])
    return Study(
        id=about.id,
        path=folder,
        about=msgspec.structs.replace(about, source=source),
        code=code,
        disciplines=plan.disciplines,
        runs=runs,
        experiments=[experiment for _, experiment in experiments],
        published=[p for _, p in published_numbers],
        statements=statements,
        chosen_after=_chosen(folder, rows_of),
        replaced=replacements,
        pairs=plan.pairs,
    )


def _contents(folder: Path, experiments: set[str]) -> list[Covered]:
    """The items of the study's source. Checks that their experiments and files exist, and that an item without a place
    has a reason."""
    file = folder / "contents.toml"
    if not file.is_file():
        return []
    contents = read_table(ContentsFile, read_toml(file), file).contents
    for covered in contents:
        missing_names = [x for x in covered.experiments if x not in experiments]
        missing_names += [x for x in covered.files if not (folder / x).is_file()]
        if missing_names:
            raise StudyError(
                f'{file}: "{covered.part}" names {missing_names[0]}, which is no experiment or file of this study'
            )
        if not (
            covered.experiments or covered.models or covered.files or covered.docs or covered.here or covered.missing
        ):
            raise StudyError(
                f'{file}: no place is given for "{covered.part}"; give experiments, models, files or docs, or missing'
            )
    return contents


def _folder(name: str | Path) -> Path:
    folder = Path(name)
    if (folder / "study.toml").is_file():
        return folder
    for place in places():
        if (place / str(name) / "study.toml").is_file():
            return place / str(name)
    names = known()
    near = difflib.get_close_matches(str(name), names, 1, 0.4)
    hint = f'did you mean "{near[0]}"? ' if near else ""
    raise StudyError(f'there is no study "{name}"; {hint}known: {", ".join(names) or "none"}')


@dataclass
class _Plan:
    """The contents of all files of experiments together. Sets of runs and experiments have the file in which they
    are."""

    disciplines: dict[str, Discipline] = field(default_factory=dict)
    pairs: dict[str, Pair] = field(default_factory=dict)
    runs: dict[str, inherit.Source] = field(default_factory=dict)
    #: The experiments by id, as in the files.
    experiments: dict[str, inherit.Source] = field(default_factory=dict)


def _read_plan(folder: Path) -> _Plan:
    plan = _Plan()

    def once(file: Path, kind: str, name: str, known: Iterable[str]) -> None:
        if name in known:
            raise StudyError(f"{file}: [{kind}.{name}] is declared twice, here and in another file")

    for file, experiments_table in _parts(folder, "experiments", optional=False):
        file_table = with_values(read_table(ExperimentsFile, experiments_table, file), file)
        for k, v in file_table.discipline.items():
            once(file, "discipline", k, plan.disciplines)
            plan.disciplines[k] = read_table(Discipline, v, file, f"discipline.{k}")
        for k, v in file_table.pair.items():
            once(file, "pair", k, plan.pairs)
            own_keys = {key: v[key] for key in ("title", "queue") if key in v}
            roles = {key: x for key, x in v.items() if key not in own_keys}
            plan.pairs[k] = read_table(Pair, {**own_keys, "roles": roles}, file, f"pair.{k}")
        for k, v in file_table.runs.items():
            once(file, "runs", k, plan.runs)
            safe_id(k, file, "the name of a set of runs")
            plan.runs[k] = inherit.Source(file, f"runs.{k}", v)
        for i, e in enumerate(file_table.experiment):
            name = str(e.get("id", f"{file.stem}, experiment[{i}]"))
            if name in plan.experiments:
                raise StudyError(f"{file}: experiment {name} is declared twice")
            plan.experiments[name] = inherit.Source(file, f"experiment[{i}]", e)
    return plan


def _replace(study: str, disciplines: dict[str, Discipline], replaced: dict[str, dict[str, Any]]) -> None:
    for k, queue in replaced.items():
        if k not in disciplines:
            raise StudyError(f'study {study} has no discipline "{k}"; it has {", ".join(disciplines)}')
        if "kind" not in queue:
            raise StudyError(f'discipline "{k}" needs a queue with a kind, such as {{ kind = "droptail" }}')
        disciplines[k] = msgspec.structs.replace(disciplines[k], queue=queue)


def _parts(folder: Path, name: str, optional: bool = True) -> list[tuple[Path, dict[str, Any]]]:
    """`name.toml`, or every file of the folder `name`, in the order of their names."""
    if (folder / name).is_dir() and (folder / f"{name}.toml").is_file():
        raise StudyError(f"{folder}: there are both {name}.toml and a folder {name}; only one of them can be read")
    files = sorted((folder / name).glob("*.toml")) if (folder / name).is_dir() else [folder / f"{name}.toml"]
    return [(f, read_toml(f, optional)) for f in files]


def _experiment(file: Path, table: dict[str, Any], runs: dict[str, Runs], package: str) -> Experiment:
    place = f"experiment {table.get('id', '?')}"
    words = fill.values(table, f"{file}: {place}")
    e = read_table(ExperimentTable, inherit.with_words(table, words, f"{file}: {place}"), file, place)
    safe_id(e.id, file, "the id of an experiment")
    names = [e.runs] if isinstance(e.runs, str) else e.runs
    for n in names:
        if n not in runs:
            raise StudyError(f'{file}: experiment {e.id} reads runs "{n}", which is not declared')
    output_rows = groups.rows(e.output, f"{place}.output", file, words)
    experiment = Experiment(
        id=e.id,
        item=e.item,
        title=e.title,
        text=e.text,
        runs=tuple(names),
        where=e.where,
        output=tuple(row.table for row in output_rows),
        places=tuple(row.at for row in output_rows),
        why_not=e.why_not,
        variants=e.variants,
        aliases=tuple(e.aliases),
    )
    outputs.check(file, experiment, runs, package)
    return experiment


def _readings_of(statements: list[Statement], file: Path) -> None:
    ids = [s.id for s in statements]
    for s in statements:
        for name in s.reading_of:
            if name not in ids:
                near = difflib.get_close_matches(name, ids, 1)
                hint = f'; did you mean "{near[0]}"?' if near else ""
                raise StudyError(f'{file}, {s.id}: reading_of = "{name}": there is no such statement{hint}')


def _points_of(statements: list[Statement], runs: dict[str, Runs], file: Path) -> None:
    """Checks that each value in a check's condition is a label of its axis, because a check of no point would show
    nothing."""
    for statement in statements:
        for check in (
            check
            for check in (*statement.checks, *statement.first, *statement.part_checks)
            if isinstance(check, Measured)
        ):
            for name, wanted_label in check.where.items():
                axis = next((a for a in runs[check.runs].axes if a.name == name), None)
                if axis is None or isinstance(wanted_label, dict):
                    continue
                labels = runs[check.runs].all_labels(axis)
                for x in wanted_label if isinstance(wanted_label, list) else [wanted_label]:
                    if str(x) not in labels:
                        choices = ", ".join(labels)
                        raise StudyError(
                            f"{file}, {statement.id}: where.{name} = {x}: runs.{check.runs} has no such point; it has "
                            f"{choices}"
                        )


def _computed(runs: dict[str, Runs], package: str) -> None:
    """Checks that every function exists that a set of runs names."""
    functions = computed.FUNCTIONS.known_to(package)
    for r in runs.values():
        if r.compute and r.compute not in functions:
            near = difflib.get_close_matches(r.compute, functions, 1)
            hint = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(functions) or 'none'}"
            raise StudyError(f'{r.file}: runs.{r.name}.compute = "{r.compute}": there is no such function; {hint}')
        if r.first_seeds and r.compute and not computed.is_live(r.compute):
            raise StudyError(
                f"{r.file}, [runs.{r.name}]: first_seeds is for runs with packets, and {r.compute} has none; leave it "
                "out: all seeds are computed"
            )


def _statements(folder: Path, there: dict[str, list[str]]) -> list[Statement]:
    """The written statements, and then those of the readings. Checks that everything that they need exists."""
    files = [(file, read_table(StatementsFile, file_table, file)) for file, file_table in _parts(folder, "statements")]
    statements: list[Statement] = []
    for file, file_table in files:
        for row in groups.rows(file_table.statement, "statement", file):
            statements.append(read_statement(row, file))
            _ask(statements[-1].asks(), there, str(file), row)
    for file, file_table in files:
        for x in file_table.reading:
            for s in read_otherwise(x, statements, file):
                _ask(s.asks(), there, f"{file}: reading {x['id']}")
                statements.append(s)
    return statements


def _chosen(folder: Path, rows: list[str]) -> dict[str, str]:
    """id of a row -> the reading on which the row depends, if this reading was chosen after a look at results."""
    readings: dict[str, str] = {}
    for file, statements_table in _parts(folder, "statements"):
        for i, table in enumerate(read_table(StatementsFile, statements_table, file).chosen):
            t = read_table(ChosenTable, table, file, f"chosen[{i}]")
            for pattern in t.of:
                matching_rows = fnmatch.filter(rows, pattern)
                if not matching_rows:
                    raise StudyError(f'{file}: chosen[{i}].of = "{pattern}": no row that is judged has such an id')
                for name in matching_rows:
                    readings[name] = f"{readings[name]}; {t.reading}" if name in readings else t.reading
    return readings


def _ask(
    asked: list[NeededMeasure], there: dict[str, list[str]], where: str, row: groups.StudyRow | None = None
) -> None:
    """Checks that every needed number can be measured. The error names a key of a `row` by its place in the file."""
    for x in asked:
        for key, wanted_name in (("runs", x.runs), ("measure", x.measure)):
            if wanted_name in there[key]:
                continue
            near = difflib.get_close_matches(wanted_name, there[key], 1)
            other_names = ", ".join(there[key]) if key == "runs" else "those of tailback and of the study's measures.py"
            hint = f'did you mean "{near[0]}"?' if near else f"there are {other_names or 'none'}"
            is_own = row is not None and row.table.get(key) == wanted_name
            place = key if row is None else row.place(key) if is_own else f"{row.place('check')}: {key}"
            raise StudyError(f'{where}: {place} = "{wanted_name}": there is none of that name; {hint}')
