"""Tours: a question, a prediction to make, the runs, what a study has found, and a claim as inequalities on results.

A tour is a file, so that a teacher writes their own (docs/lab.md has the keys). Its claims are checked by the same code
that reads it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from tailback import _core
from tailback.campaign.plan import Plan
from tailback.lab.state import LabError, State, explicit, load

_CLAIM = re.compile(r"([a-z]\w*) ([<>]) (?:([\d.]+) \* )?([a-z]\w*|[\d.]+)")
_OF: dict[str, Any] = {"mean": np.mean, "sum": np.sum, "sd": np.std, "least": np.min, "greatest": np.max}


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer that can be predicted."""

    text: str
    right: bool = False


class NamedResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number of a run: a column of a table, of the rows that have these values and lie in this time."""

    run: Literal["first", "second"]
    table: str
    column: str
    where: dict[str, str] = {}
    #: Seconds; by `time_s` or, of intervals, `from_s` and `to_s`.
    between: tuple[float, float] | None = None
    of: Literal["mean", "sum", "sd", "least", "greatest"] = "mean"
    means: str = ""


class Study(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a study has published of it: its words, and points of its figure."""

    citation: str
    says: str
    figure: str = ""
    x: str = ""
    y: str = ""
    points: list[tuple[float, float]] = []


class Tour(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tour as its file has it."""

    title: str
    question: str
    choices: list[Choice]
    why: str
    scenario: dict[str, Any]
    results: dict[str, NamedResult]
    claims: list[str]
    study: Study
    #: Changes under which the claim does not hold, as `--set` takes them, and what they do.
    fails: list[str]
    fails_because: str
    #: The second discipline.
    beside: dict[str, Any] | None = None
    name: str = ""


@dataclass(frozen=True)
class Checked:
    """A claim with its numbers."""

    claim: str
    left: float
    right: float
    holds: bool


def read(path: Path) -> Tour:
    """The tour in a file. Raises `LabError` with the file and the key."""
    try:
        tour = msgspec.convert({**tomllib.loads(path.read_text(encoding="utf-8")), "name": path.stem}, Tour)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as e:
        raise LabError(f"{path}: {e}; docs/lab.md has the keys of a tour") from e
    if sum(c.right for c in tour.choices) != 1:
        raise LabError(f"{path}: one of the choices must have right = true")
    for claim in tour.claims:
        _parsed(tour, claim)
    return msgspec.structs.replace(tour, scenario=explicit(tour.scenario))


def _parsed(tour: Tour, claim: str) -> tuple[str, str, float, str]:
    found = _CLAIM.fullmatch(claim)
    names = [n for n in (found[1], found[4]) if not _is_number(n)] if found else []
    if not found or any(n not in tour.results for n in names):
        known = ", ".join(tour.results)
        raise LabError(f"{tour.name}: {claim!r} is no claim; write NAME > 2 * NAME or NAME < 3, with names of {known}")
    return found[1], found[2], float(found[3] or 1), found[4]


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word[0] == "."


def files() -> list[Path]:
    """The tours that are installed, in their order."""
    folder = Path(str(resources.files("tailback") / "lab" / "tours"))
    return sorted(folder.glob("*.toml"))


def find(name: str) -> Tour:
    """A tour by its name, or in a file of your own."""
    for path in files():
        if path.stem == name:
            return read(path)
    if name.endswith(".toml") and Path(name).is_file():
        return read(Path(name))
    known = ", ".join(p.stem for p in files())
    raise LabError(f"there is no tour {name!r}; tours are {known}, or name a file that ends in .toml")


def listed() -> list[dict[str, str]]:
    """Name and title of each."""
    return [{"name": p.stem, "title": read(p).title} for p in files()]


def shown(tour: Tour) -> dict[str, Any]:
    """A tour as a page takes it, with what comes of its claims."""
    made: dict[str, Any] = msgspec.to_builtins(tour)
    (checked,) = check(tour, [int(tour.scenario.get("seed", 1))])
    return {**made, "checked": [asdict(c) for c in checked], "state": State(tour.scenario, tour.beside).as_dict()}


def check(tour: Tour, seeds: Iterable[int] = (1,), changes: Iterable[str] = ()) -> list[list[Checked]]:
    """The claims of a tour for each seed, after changes as `--set` takes them."""
    texts = list(changes)
    document: Mapping[str, Any] = tour.scenario
    if texts:
        import json

        document = json.loads(_core.load(json.dumps(document), "json", tour.name, texts).json)
    documents = State(document, tour.beside).documents()
    made = []
    for seed in seeds:
        points: list[tuple[dict[str, Any], _core.Scenario]] = [
            ({"side": side}, load({**d, "seed": seed})) for side, d in zip(("first", "second"), documents, strict=False)
        ]
        made.append(_claims(tour, Plan(points).execute(None, 0)))
    return made


def _claims(tour: Tour, results: _core.Results) -> list[Checked]:
    values = {name: _value(named, results) for name, named in tour.results.items()}
    checked = []
    for claim in tour.claims:
        left, sign, factor, right = _parsed(tour, claim)
        a, b = values[left], factor * (float(right) if _is_number(right) else values[right])
        checked.append(Checked(claim, a, b, a > b if sign == ">" else a < b))
    return checked


def _value(named: NamedResult, results: _core.Results) -> float:
    table = getattr(results, named.table).where(side=named.run, **named.where)
    values = np.asarray(table[named.column], float)
    if named.between is not None:
        low, high = named.between
        begins, ends = ("time_s", "time_s") if "time_s" in table else ("from_s", "to_s")
        # Instants are sums of many steps.
        values = values[(np.asarray(table[begins]) >= low - 1e-6) & (np.asarray(table[ends]) <= high + 1e-6)]
    return float(_OF[named.of](values)) if len(values) else float("nan")
