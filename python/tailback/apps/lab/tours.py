"""The tours of the lab. A tour has a question, a prediction to make, runs, the findings of a study, and a claim as
inequalities on results.

A tour is a file, so that a teacher writes their own (docs/lab.md has the keys). The code that reads a tour also checks
its claims. The page lists tours before there is a result, so numpy is imported only where a number is computed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import msgspec

from tailback import _core
from tailback.apps.lab.state import LabError, State, explicit
from tailback.core.declared import FileError, Table, read_table, read_toml
from tailback.core.results.columns import tables
from tailback.core.text.arguments import checked
from tailback.runs.campaign.plan import Plan

#: Tables of a run.
TABLES = _core.TABLES[1:]
_CLAIM = re.compile(r"([a-z]\w*) ([<>]) (?:([\d.]+) \* )?([a-z]\w*|[\d.]+)")
#: The numpy function of each statistic.
_OF = {"mean": "mean", "sum": "sum", "sd": "std", "least": "min", "greatest": "max"}


class Choice(Table, frozen=True):
    """An answer that can be predicted."""

    text: str
    right: bool = False


class NamedResult(Table, frozen=True):
    """A number from a run: a statistic of a table's column over the rows with these values in this time."""

    run: Literal["first", "second"]
    table: str
    column: str
    where: dict[str, str] = {}
    #: The time range in seconds, by `time_s` or, for intervals, by `from_s` and `to_s`.
    between: tuple[float, float] | None = None
    of: Literal["mean", "sum", "sd", "least", "greatest"] = "mean"
    means: str = ""
    #: The unit if the column has none, such as that of a series' values.
    unit: str = ""


class Study(Table, frozen=True):
    """The published result of a study: its words, and points of its figure."""

    citation: str
    says: str
    figure: str = ""
    x: str = ""
    y: str = ""
    points: list[tuple[float, float]] = []
    #: The curve of the first run that is drawn beside the points: the drops since the first one.
    beside: Literal["", "drops"] = ""


class Tour(Table, frozen=True):
    """A tour as in its file."""

    title: str
    question: str
    choices: list[Choice]
    why: str
    scenario: dict[str, Any]
    results: dict[str, NamedResult]
    claims: list[str]
    study: Study | None = None
    #: Changes under which the claim does not hold, as `--set` takes them, and the reason.
    fails: list[str] = []
    fails_because: str = ""
    #: The second discipline: its name, or a table.
    beside: dict[str, Any] | str | None = None
    name: str = ""

    @property
    def state(self) -> State:
        """The state with which the tour begins."""
        other_queue = {"kind": self.beside} if isinstance(self.beside, str) else self.beside
        return State(self.scenario, other_queue)


@dataclass(frozen=True)
class Checked:
    """A claim with its numbers."""

    claim: str
    left: float
    right: float
    holds: bool
    #: The numbers in a sentence.
    said: str


def read(path: Path) -> Tour:
    """The tour in a file. Raises `LabError` with the file and the key."""
    try:
        tour = read_table(Tour, {**read_toml(path), "name": str(path)}, path)
    except FileError as e:
        raise LabError(str(e)) from None
    if sum(c.right for c in tour.choices) != 1:
        raise LabError(f"{path}: choices: exactly one must have right = true")
    if tour.fails and not tour.fails_because:
        raise LabError(f"{path}: fails: add fails_because, a text that says why the claim does not hold then")
    for claim in tour.claims:
        _parsed(tour, claim)
    for name, result in tour.results.items():
        if result.table not in TABLES:
            hint = f"there is no such table; there are {', '.join(TABLES)}"
            raise LabError(f"{path}: results.{name}.table = {result.table!r}: {hint}")
    scenario = explicit(tour.scenario, str(path))
    # The page never runs the scenario with the changes of `fails`; only a test does. Errors in the changes are
    # therefore found here.
    _core.load(json.dumps(scenario), "json", f"{path}: fails", tour.fails)
    return msgspec.structs.replace(tour, scenario=scenario)


def _parsed(tour: Tour, claim: str) -> tuple[str, str, float, str]:
    match = _CLAIM.fullmatch(claim)
    names = [n for n in (match[1], match[4]) if not _is_number(n)] if match else []
    if not match or any(n not in tour.results for n in names):
        results = ", ".join(tour.results)
        raise LabError(
            f"{tour.name}: {claim!r} is not a claim; write NAME > 2 * NAME or NAME < 3, with names of {results}"
        )
    return match[1], match[2], float(match[3] or 1), match[4]


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word[0] == "."


def files() -> list[Path]:
    """The tours that are installed, in their order."""
    folder = Path(str(resources.files("tailback") / "apps" / "lab" / "tours"))
    return sorted(folder.glob("*.toml"))


@checked
def find(name: str) -> Tour:
    """A tour by its name, or in a file of your own."""
    for path in files():
        if path.stem == name:
            return read(path)
    if name.endswith(".toml") and Path(name).is_file():
        return read(Path(name))
    names = ", ".join(p.stem for p in files())
    raise LabError(f"there is no tour {name!r}; tours are {names}, or name a file that ends in .toml")


def listed() -> list[dict[str, str]]:
    """Name and title of each."""
    return [{"name": p.stem, "title": read(p).title} for p in files()]


def shown(tour: Tour, stop: _core.Stop | None = None) -> dict[str, Any]:
    """A tour for a page, with the results of its claims. Raises `LabError` for a claim that does not hold, and
    `KeyboardInterrupt` if it is stopped."""
    contents: dict[str, Any] = msgspec.to_builtins(tour)
    contents["name"] = Path(tour.name).stem
    (claims,) = check(tour, [int(tour.scenario.get("seed", 1))], stop=stop)
    for c in claims:
        if not c.holds:
            raise LabError(
                f"{tour.name}: the claim {c.claim} does not hold: its left side is {c.left:.4g} and its right side "
                f"{c.right:.4g}; correct the claim, or the scenario"
            )
    return {**contents, "checked": [asdict(c) for c in claims], "state": tour.state.as_dict()}


def check(
    tour: Tour, seeds: Iterable[int] = (1,), changes: Iterable[str] = (), stop: _core.Stop | None = None
) -> list[list[Checked]]:
    """The claims of a tour for each seed, after changes as `--set` takes them."""
    texts = list(changes)
    document: Mapping[str, Any] = tour.scenario
    if texts:
        document = json.loads(_core.load(json.dumps(document), "json", tour.name, texts).json)
    documents = State(document, tour.state.beside).documents()
    by_seed = []
    for seed in seeds:
        points: list[tuple[dict[str, Any], _core.Scenario]] = [
            ({"side": side}, _core.load(json.dumps({**d, "seed": seed}), "json", tour.name, []))
            for side, d in zip(("first", "second"), documents, strict=False)
        ]
        go_on = None if stop is None else lambda _: not stop.is_set
        results = Plan(points).execute(None, 0, go_on)
        if results.interrupted:
            raise KeyboardInterrupt
        by_seed.append(_claims(tour, results))
    return by_seed


def _claims(tour: Tour, results: _core.Results) -> list[Checked]:
    results_by_name = {
        name: _value(named, results, f"{tour.name}: results.{name}") for name, named in tour.results.items()
    }
    claims_checked = []
    for claim in tour.claims:
        quantity, sign, factor, right = _parsed(tour, claim)
        a, b = results_by_name[quantity], factor * (float(right) if _is_number(right) else results_by_name[right])
        holds = a > b if sign == ">" else a < b
        claims_checked.append(Checked(claim, a, b, holds, _sentence(tour, quantity, right, results_by_name)))
    return claims_checked


def _sentence(tour: Tour, left: str, right: str, values: Mapping[str, float]) -> str:
    """Both sides of a claim with their units, and their ratio; a side that is a number is left out."""
    left_phrase = _phrase(tour, left, values)
    if _is_number(right):
        return f"The {left_phrase}."
    a, b = values[left], values[right]
    ratio = f": {a / b:.2g} times as much" if b and math.isfinite(a / b) else ""
    return f"The {left_phrase}, and the {_phrase(tour, right, values)}{ratio}."


def _phrase(tour: Tour, name: str, values: Mapping[str, float]) -> str:
    result = tour.results[name]
    column = tables()[result.table].columns.get(result.column)
    unit = result.unit or (column.shown_unit if column else "")
    return f"{result.means or name} is {_quantity(values[name], unit)}"


def _quantity(value: float, unit: str) -> str:
    """A value with its usual unit: 0.0123 s is 12.3 ms."""
    match unit:
        case "%":
            return f"{_digits(100 * value)} %"
        case "s":
            return f"{_digits(value)} s" if value >= 1 else f"{_digits(1e3 * value)} ms"
        case "bit/s":
            return f"{_digits(value / 1e6)} Mb/s"
    return f"{_digits(value)} {unit}".rstrip()


def _digits(value: float) -> str:
    """Three digits."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _value(named: NamedResult, results: _core.Results, at: str) -> float:
    """The number of a result. `at` is its place for messages. Raises `LabError`."""
    import numpy as np

    table = getattr(results, named.table).where(side=named.run)
    for column in (*named.where, named.column):
        if column not in table.columns:
            columns = [c for c in table.columns if c not in ("run", "key", "side", "seed", "replication")]
            raise LabError(f"{at}: the table {named.table} has no column {column!r}; it has {', '.join(columns)}")
    for column, label in named.where.items():
        named_values = dict.fromkeys(str(x) for x in table.to_list(column))
        if label not in named_values:
            hint = f"there are {', '.join(list(named_values)[:20])}" if named_values else "the table has no row"
            raise LabError(f"{at}.where: no row of {named.table} has {column} = {label!r}; {hint}")
        table = table.where(**{column: label})
    try:
        column_values = np.asarray(table[named.column], float)
    except ValueError:
        raise LabError(f"{at}: the column {named.column!r} has texts; name one that has numbers") from None
    if named.between is not None:
        from_s, to_s = named.between
        begins, ends = ("time_s", "time_s") if "time_s" in table else ("from_s", "to_s")
        # Times are sums of many steps, hence the tolerance.
        column_values = column_values[
            (np.asarray(table[begins]) >= from_s - 1e-6) & (np.asarray(table[ends]) <= to_s + 1e-6)
        ]
    return float(getattr(np, _OF[named.of])(column_values)) if len(column_values) else float("nan")
