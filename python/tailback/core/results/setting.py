"""Compares the scenarios of two results. The differences are printed before the numbers are compared.

Two results answer a question only if they differ in the setting in question and in no other. Whether queues mark or
drop is printed first, since it changes every number and often follows from another key.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.core.scenario import controls, marking
from tailback.core.store import manifest

#: Keys that name or repeat a run and change no result.
_NO_CHANGE = ("name", "seed")
#: The most keys that a text shows.
MOST = 8
#: Labels of a point, and its scenario.
Point = tuple[tuple[str, ...], _core.Scenario]


@dataclass(frozen=True)
class KeyDifference:
    """A key with different values; a value is None if it is not given."""

    key: str
    a: Any
    b: Any
    #: The number of common points at which the values differ.
    points: int


@dataclass(frozen=True)
class SettingDifference:
    """The differences between the scenarios of two results."""

    #: A sentence for each port whose queue marks in one of the two and drops in the other.
    marking: list[str] = field(default_factory=list)
    keys: list[KeyDifference] = field(default_factory=list)
    #: The number of points that both results have.
    points: int = 0
    #: Whether different builds of the program made the two results.
    builds: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self, width: int = 80) -> list[str]:
        """The text for a terminal, with marking first."""
        sentences = list(self.marking)
        if self.builds:
            sentences.append("a and b were made by different builds of the program, which may compute differently")
        for d in self.keys[:MOST]:
            points_text = "" if d.points == self.points else f" at {d.points} of {self.points} points"
            sentences.append(f"{d.key}: a has {_shown(d.a)}, b {_shown(d.b)}{points_text}")
        if len(self.keys) > MOST:
            sentences.append(f"and {len(self.keys) - MOST} more keys")
        if not sentences:
            return []
        wrapped = [line for s in sentences for line in textwrap.wrap(s, width - 2, subsequent_indent="  ")]
        return ["the two differ in:", *(f"  {line}" for line in wrapped)]


def between(a: Path, b: Path) -> SettingDifference:
    """The differences between the scenarios of two folders of results, at the points that both folders have."""
    made_a, made_b = manifest.read(a), manifest.read(b)
    points_a, points_b = dict(_points(made_a)), dict(_points(made_b))
    common = [labels for labels in points_a if labels in points_b]
    builds = made_a.get("build") != made_b.get("build")
    return _differ([(labels, points_a[labels], points_b[labels]) for labels in common], builds)


def among(points: Iterable[tuple[dict[str, str], _core.Scenario]]) -> list[str]:
    """A sentence for each set of ports whose queues mark at some points of a plan and drop at others. Ports with the
    same points share one sentence."""
    sides_of: dict[str, dict[bool, list[str]]] = {}
    for labels, scenario in points:
        name = ", ".join(f"{k} = {v}" for k, v in labels.items())
        for port, marks in marking.ports(scenario).items():
            sides_of.setdefault(port, {}).setdefault(marks, []).append(name)
    ports_of: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for port, sides in sides_of.items():
        if len(sides) > 1:
            ports_of.setdefault((tuple(sides[True]), tuple(sides[False])), []).append(port)
    return [
        f"at {_ports(ports)} queues mark at {_few(mark)}, and drop at {_few(drop)}"
        for (mark, drop), ports in ports_of.items()
    ]


def _ports(ports: Sequence[str]) -> str:
    if len(ports) < 4:
        return ", ".join(f"link.{port}" for port in ports)
    return f"link.{ports[0]} and {len(ports) - 1} other ports"


def of_folder(folder: Path) -> list[str]:
    """The sentences for a folder of results."""
    return among((dict(labels), scenario) for labels, scenario in _labelled(manifest.read(folder)))


def _points(made: dict[str, Any]) -> Iterator[Point]:
    for labels, scenario in _labelled(made):
        yield tuple(f"{k}={v}" for k, v in labels), scenario


def _labelled(made: dict[str, Any]) -> Iterator[tuple[tuple[tuple[str, str], ...], _core.Scenario]]:
    texts, points = made.get("scenarios"), made.get("points")
    if not isinstance(texts, dict) or not isinstance(points, list):
        return
    scenarios: dict[str, _core.Scenario] = {}
    for point in points:
        if not isinstance(point, dict):
            continue
        digest, labels = point.get("scenario"), point.get("labels", {})
        if not isinstance(digest, str) or not isinstance(labels, dict):
            continue
        text = texts.get(digest)
        if not isinstance(text, str):
            continue
        if digest not in scenarios:
            scenarios[digest] = _stored(text)
        yield tuple(sorted((k, str(v)) for k, v in labels.items())), scenarios[digest]


def _stored(text: str) -> _core.Scenario:
    """A stored scenario, as `tailback.core.scenario.read.stored` has it."""
    controls.stand_ins(text, "toml")
    try:
        return _core.load(text, "toml", "a stored scenario", [], True)
    except _core.ScenarioError:
        return _core.load(text, "toml", "a stored scenario", ["change={}"], True)


def _differ(pairs: Sequence[tuple[tuple[str, ...], _core.Scenario, _core.Scenario]], builds: bool) -> SettingDifference:
    keys: dict[str, KeyDifference] = {}
    marks: dict[str, str] = {}
    for _, a, b in pairs:
        ports_a, ports_b = marking.ports(a), marking.ports(b)
        for port in ports_a:
            if port in ports_b and ports_a[port] != ports_b[port]:
                sides = [f"{'marks' if ports[port] else 'drops'}" for ports in (ports_a, ports_b)]
                marks[port] = f"marking: at link.{port}, a {sides[0]} and b {sides[1]}"
        if a.digest == b.digest:
            continue
        flat_a, flat_b = dict(_flat(json.loads(a.json))), dict(_flat(json.loads(b.json)))
        for key in [*flat_a, *(k for k in flat_b if k not in flat_a)]:
            x, y = flat_a.get(key), flat_b.get(key)
            if x != y and key not in _NO_CHANGE:
                n = keys[key].points if key in keys else 0
                keys[key] = KeyDifference(key, x, y, n + 1)
    return SettingDifference(list(marks.values()), list(keys.values()), len(pairs), builds)


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its dotted key; a list is one value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else key)
    else:
        yield path, value


def _shown(value: Any) -> str:
    if value is None:
        return "none given"
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _few(names: Sequence[str]) -> str:
    shown_names = "; ".join(names[:3])
    return f"{shown_names}; and {len(names) - 3} more points" if len(names) > 3 else shown_names
