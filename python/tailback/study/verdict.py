"""Published numbers and sentences held against measurements: reproduced, not reproduced, or not testable.

A statement has checks, each a relation between measured quantities and limits that were written down before the run
(in `published.toml` and `statements.toml`). How a check is decided:

* A measured quantity is the mean over seeds, with its 95 % interval (Student's t).
* Against a limit or a band: the mean decides. If the interval reaches over the limit the outcome is called close.
* Between two disciplines the difference is taken seed by seed (the same seeds serve both). An order counts only if
  zero lies outside the interval of that difference: "cannot be told apart" is a no.
* What was not run (a buffer the quick grid leaves out) is not testable.

A statement is reproduced if every check that could be made is. `gate = false` marks rows that are reported and
compared, but that no one should call a failure; their outcome is computed all the same.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass, field

import numpy as np

from tailback.stats import ci95
from tailback.study.measures import MEASURES
from tailback.study.model import MODES, Study, StudyError, matches
from tailback.study.samples import Samples
from tailback.theory import predict

YES, NO, OPEN = "reproduced", "not reproduced", "not testable"


@dataclass
class Check:
    """One relation, decided."""

    what: str
    #: the point it was measured at, short
    place: str
    measured: str
    required: str
    outcome: str
    #: numbers behind the texts, for --json
    value: float | None = None
    half_width: float | None = None
    seeds: int = 0
    remark: str = ""


@dataclass
class Verdict:
    id: str
    source: str
    experiment: str
    sentence: str
    outcome: str
    gate: bool
    published: str
    measured: str
    seeds: int
    tolerance: str
    explanation: str = ""
    note: str = ""
    reference: str = ""
    checks: list[Check] = field(default_factory=list)
    #: of a cell of a published table: which table, and the class that says how it is judged
    table: str = ""
    grade: str = ""

    def as_dict(self) -> dict:
        return _plain(asdict(self))


def _plain(x):
    """JSON has no infinities."""
    if isinstance(x, dict):
        return {k: _plain(v) for k, v in x.items()}
    if isinstance(x, list):
        return [_plain(v) for v in x]
    if isinstance(x, float) and not math.isfinite(x):
        return None if math.isnan(x) else "infinite"
    return x


#: Fields of the models, in words, with units.
_FIELDS = {
    "queue_drop": ("the queue falls by", "packets"),
    "queue_after": ("queue after the overflow", "packets"),
    "cycle_s": ("cycle", "s"),
    "victims": ("flows hit", ""),
    "window_empty": ("window, empty queue", "packets"),
    "window_full": ("window, full queue", "packets"),
    "rtt_full_s": ("round trip, full queue", "s"),
}


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds and the half width of its 95 % interval (NaN for one seed)."""

    mean: float
    half: float
    n: int

    @classmethod
    def of(cls, x: np.ndarray) -> Estimate:
        x = np.asarray(x, dtype=float)
        if len(x) == 0 or np.isnan(x).any():
            return cls(math.nan, math.nan, len(x))
        if np.isinf(x).any():
            return cls(math.inf, math.nan, len(x))
        return cls(float(x.mean()), half_width(x), len(x))


def half_width(x) -> float:
    """Half the 95 % interval of the mean; NaN for fewer than two values."""
    return float(ci95(np.asarray(x, dtype=float))) if len(x) > 1 else math.nan


#: Keys that a statement gives to all its checks.
_SHARED = ("runs", "class", "class_over", "measure", "where")
_STATEMENT = {*_SHARED, "id", "source", "sentence", "experiment", "gate", "check", "explanation", "note", "why_not"}
_CHECK = {*_SHARED, "of", "order", "over", "above", "below", "between", "near", "within", "factor", "published"}
_CHECK |= {"tolerance", "predict", "with", "field", "value", "along", "falls", "average"}


class Judge:
    """Evaluates the published numbers and statements of a study on samples."""

    def __init__(self, study: Study, samples: Samples):
        self.study, self.samples = study, samples
        self._candidates: dict[str, list[dict[str, str]]] = {}
        for s in study.statements:
            _known_keys(study, s, _STATEMENT, s["id"])
            for c in s.get("check", []):
                _known_keys(study, c, _CHECK, s["id"])

    def all(self, experiments: set[str]) -> list[Verdict]:
        """Verdicts of everything that belongs to these experiments, and of what is arithmetic."""
        rows = [self.published(p) for p in self.study.published if p["experiment"] in experiments]
        for s in self.study.statements:
            if s.get("experiment", "predict") in experiments or s.get("experiment") == "predict":
                rows.append(self.statement(s))
        order = {"predict": -1, **{e.id: i for i, e in enumerate(self.study.experiments)}}
        return sorted(rows, key=lambda v: order.get(v.experiment, len(order)))

    # ------------------------------------------------------------------------------------------ published numbers

    def published(self, p: dict) -> Verdict:
        """A published number: within its tolerance, or by the rule it names (`tailback.study.checks`)."""
        if "rule" not in p:
            return self.number(p)
        from tailback.study import checks as rules

        known = rules.load()
        if p["rule"] not in known:
            raise StudyError(f'number {p["id"]}: there is no rule "{p["rule"]}"; there are {", ".join(sorted(known))}')
        return known[p["rule"]](p, self)

    def number(self, p: dict) -> Verdict:
        check = {"of": p["queue"], "published": p["value"], "tolerance": p["tolerance"]}
        s = {
            k: p[k]
            for k in ("id", "experiment", "runs", "class", "measure", "where", "gate", "note", "explanation")
            if k in p
        }
        sentence = (
            p.get("sentence")
            or f"{self.study.discipline_title(p['queue'])}, {self._where_text(p.get('where', {}), p['runs'])}"
        )
        if p.get("class", "all") != "all":
            sentence += f", {p.get('class_title', p['class'])}"
        s |= {"check": [check], "sentence": sentence, "source": p["source"]}
        v = self.statement(s)
        m = MEASURES[p["measure"]]
        v.published = f"{m.show(p['value'])} {m.unit}"
        v.tolerance = f"{100 * p['tolerance']:g} %"
        v.reference = p.get("reference", "")
        return v

    # ----------------------------------------------------------------------------------------------- statements

    def statement(self, s: dict) -> Verdict:
        checks: list[Check] = []
        for c in s.get("check", []):
            checks += self.check({**{k: s[k] for k in _SHARED if k in s}, **c})
        made = [c for c in checks if c.outcome != OPEN]
        outcome = OPEN if not made else YES if all(c.outcome == YES for c in made) else NO
        decisive = [c for c in made if c.outcome == NO] or made or checks
        note = s.get("note", "")
        if made and len(made) < len(checks):
            note = (note + " " if note else "") + f"{len(checks) - len(made)} of {len(checks)} checks were not run."
        if not s.get("check"):
            note = note or s.get("why_not", "nothing that is run here measures it")
        seeds = min((c.seeds for c in made if c.seeds), default=0)
        return Verdict(
            id=s["id"],
            source=s.get("source", ""),
            experiment=s.get("experiment", "predict"),
            sentence=s["sentence"],
            outcome=outcome,
            gate=s.get("gate", True),
            published="as stated",
            measured=_measured(decisive),
            seeds=seeds,
            tolerance="; ".join(dict.fromkeys(c.required for c in decisive[:3])),
            explanation=s.get("explanation", "") if outcome == NO else "",
            note=note,
            checks=checks,
        )

    def check(self, c: dict) -> list[Check]:
        if "predict" in c:
            return [self._predicted(c)]
        if "order" in c:
            pairs = zip(c["order"], c["order"][1:], strict=False)
            return [x for a, b in pairs for x in self.check({**_without(c, "order"), "of": a, "above": b})]
        if isinstance(c["of"], list):
            return [x for d in c["of"] for x in self.check({**c, "of": d})]
        if "along" in c:
            return self._along(c)
        if c.get("average"):
            return [self._decide(c, self._places(c))]
        return [self._decide(c, where) for where in self._places(c)]

    def _along(self, c: dict) -> list[Check]:
        """How far the means lie apart along an axis, everything else equal: at most `within`; or that they fall."""
        m, axis, found = MEASURES[c["measure"]], c["along"], []
        groups: dict[tuple, list[tuple[str, np.ndarray]]] = {}
        for where in self._places(c):
            x = self._values(c, c["of"], where)
            rest = {k: v for k, v in where.items() if k != axis}
            group = groups.setdefault(tuple(rest.items()), [])
            if x is not None:
                group.append((where[axis], x))
        unit = "points" if m.unit == "%" else m.unit
        name = self.study.discipline_title(c["of"])
        for rest, points in groups.items():
            place = self._where_text(dict(rest), c["runs"])
            required = f"falls with {axis}" if c.get("falls") else f"within {c['within']:g} {unit} along {axis}"
            if len(points) < 2:
                found.append(Check(f"{name}, {place}", place, "not run", required, OPEN))
                continue
            means = [float(np.mean(x)) for _, x in points]
            if c.get("falls"):
                points.sort(key=lambda p: float(p[0]))
                means = [float(np.mean(x)) for _, x in points]
                text = f"{name} " + ", ".join(f"{m.show(x)} ({p[0]})" for x, p in zip(means, points, strict=True))
                outcome = YES if all(a > b for a, b in itertools.pairwise(means)) else NO
                seeds = min(len(x) for _, x in points)
                found.append(Check(f"{name}, {place}", place, text, f"falls with {axis}", outcome, None, None, seeds))
                continue
            apart, low, high = max(means) - min(means), int(np.argmin(means)), int(np.argmax(means))
            text = (
                f"{name} {m.show(means[low])} ({axis} {points[low][0]}) to "
                f"{m.show(means[high])} {m.unit} ({axis} {points[high][0]})"
            )
            outcome = YES if apart <= c["within"] else NO
            found.append(
                Check(f"{name}, {place}", place, text, required, outcome, apart, None, min(len(x) for _, x in points))
            )
        return found

    def _places(self, c: dict) -> list[dict[str, str]]:
        """The points a condition chooses among what the study could run, without the discipline.

        A value or a list names points, run or not; a range, or nothing, means: wherever it was run.
        """
        runs, where = self.study.runs[c["runs"]], c.get("where", {})
        axes = [a.name for a in runs.axes if not a.disciplines]
        named = [a for a in axes if a in where and not isinstance(where[a], dict)]
        if runs.name not in self._candidates:
            every = [{a: p.labels[a] for a in axes} for m in MODES for p in runs.points(m)]
            self._candidates[runs.name] = list({tuple(x.values()): x for x in every}.values())
        run = set()
        for key in self.samples.points(runs.name):
            labels = dict(zip((a.name for a in runs.axes), key, strict=True))
            run.add(tuple(labels[a] for a in axes))
        groups: dict[tuple, list[dict[str, str]]] = {}
        for x in self._candidates[runs.name]:
            if matches(x, where):
                groups.setdefault(tuple(x[a] for a in named), []).append(x)
        found = []
        for group in groups.values():
            made = [x for x in group if tuple(x.values()) in run]
            found += made or group[:1]
        return found

    def _values(self, c: dict, discipline: str, where: dict[str, str] | list[dict[str, str]]) -> np.ndarray | None:
        """One number a seed; of several places, the mean over those that were run."""
        runs = self.study.runs[c["runs"]]
        if isinstance(where, list):
            found = [x for w in where if (x := self._values(c, discipline, w)) is not None]
            seeds = min((len(x) for x in found), default=0)
            return np.mean([x[:seeds] for x in found], axis=0) if found else None
        key = tuple(discipline if a.disciplines else where[a.name] for a in runs.axes)
        return self.samples.get(runs.name, key, c.get("class", "all"), c["measure"])

    def _decide(self, c: dict, where: dict[str, str] | list[dict[str, str]]) -> Check:
        m, name = MEASURES[c["measure"]], self.study.discipline_title(c["of"])
        place = "mean of all points" if isinstance(where, list) else self._where_text(where, c["runs"])
        what = f"{name}, {place}"
        a = self._values(c, c["of"], where)
        other = next((c[k] for k in ("above", "below", "near") if isinstance(c.get(k), str)), None)
        over = c.get("over")
        b = self._values(c, other or over, where) if other or over else None
        if a is None or ((other or over) and b is None):
            return Check(what, place, "not run", _required(c, m), OPEN)
        if over:
            n = min(len(a), len(b))
            a, what = a[:n] / b[:n], f"{what} over {self.study.discipline_title(over)}"
        if "class_over" in c:
            d = self._values({**c, "class": c["class_over"]}, c["of"], where)
            if d is None:
                return Check(what, place, "not run", _required(c, m), OPEN)
            a = a / d
        e = Estimate.of(a)
        if math.isnan(e.mean):
            return Check(what, place, "no value", _required(c, m), OPEN, seeds=e.n)
        unit = "" if over or "class_over" in c else m.unit
        writer = m if unit else MEASURES["sd"]
        shown = _show(e, writer) + (f" {unit}" if unit not in ("1", "") else "")
        if other is None:
            yes, close = _against_limits(c, e)
            text = writer.show(e.mean)
            shown = _telling(c, e.mean, text) + shown.removeprefix(text)
            remark = "close: the interval reaches over the limit" if close else ""
            return Check(
                what, place, f"{name} {shown}", _required(c, m), YES if yes else NO, e.mean, e.half, e.n, remark
            )
        n = min(len(a), len(b))
        a, b = a[:n], b[:n] * c.get("factor", 1.0)
        f = Estimate.of(b)
        d = _difference(a, b)
        rival = self.study.discipline_title(other) + (f" x {c['factor']:g}" if "factor" in c else "")
        text = f"{name} {_show(e, m)}, {rival} {_show(f, m)}" + (f" {m.unit}" if m.unit != "1" else "")
        required = f"{name} {'above' if 'above' in c else 'below' if 'below' in c else 'near'} {rival}"
        if "near" in c:
            yes = abs(d.mean) <= c["within"]
            close = not math.isnan(d.half) and abs(abs(d.mean) - c["within"]) < d.half
            required += f", within {c['within']:g} {m.unit if m.unit != '1' else ''}".rstrip()
            return Check(what, place, text, required, YES if yes else NO, d.mean, d.half, n, "close" if close else "")
        sign = 1 if "above" in c else -1
        right = sign * d.mean > 0
        apart = math.isnan(d.half) or abs(d.mean) > d.half
        remark = "" if apart else "cannot be told apart" if right else "the other way round, but not told apart"
        if right is False and apart:
            remark = "the other way round"
        return Check(what, place, text, required, YES if right and apart else NO, d.mean, d.half, n, remark)

    def _predicted(self, c: dict) -> Check:
        if c["predict"] == "tail_drop":
            w = c["with"]
            packets_per_s = w["rate_bps"] / 8 / w["packet_bytes"]
            model = predict.tail_drop(w["flows"], packets_per_s, w["rtt_s"], w["buffer"], w.get("hit_share", 0.7))
        else:
            model = predict.qsdrr(c["with"]["flows"], c["with"]["buffer"])
        value = float(getattr(model, c["field"]))
        name, unit = _FIELDS.get(c["field"], (c["field"], ""))
        text = f"{name} {value:.4g} {unit}".rstrip()
        if "value" in c:
            lo, hi = c["value"] - c["within"], c["value"] + c["within"]
            required = f"{c['value']:g}" + (f" within {c['within']:g}" if c["within"] else "") + f" {unit}".rstrip()
        else:
            lo, hi = c.get("above", -math.inf), c.get("below", math.inf)
            required = f"above {lo:g}" if "above" in c else f"below {hi:g}"
        return Check("model", "", text, required, YES if lo <= value <= hi else NO, value)

    def _where_text(self, where: dict, runs: str) -> str:
        parts = []
        for k, v in where.items():
            axis = next((a for a in self.study.runs[runs].axes if a.name == k), None)
            if axis is None or axis.disciplines:
                continue
            parts.append(f"{v} {axis.unit}".strip() if axis.name == "buffer" else f"{v} {axis.title.lower()}")
        return ", ".join(parts)


def _measured(checks: list[Check], most: int = 4) -> str:
    """What the checks measured, with the place where they differ in it; equal texts once."""
    several = len({c.place for c in checks}) > 1
    texts = [f"{c.measured} at {c.place}" if several and c.place else c.measured for c in checks]
    texts = list(dict.fromkeys(texts))
    return "; ".join(texts[:most]) + (f"; and {len(texts) - most} more" if len(texts) > most else "")


def _known_keys(study: Study, table: dict, known: set[str], where: str) -> None:
    """A key that is misspelt would be a rule that is not applied."""
    for k in table:
        if k not in known:
            raise StudyError(f'{study.path / "statements.toml"}, statement {where}: there is no key "{k}"')


def _against_limits(c: dict, e: Estimate) -> tuple[bool, bool]:
    if "published" in c:
        lo, hi = sorted((c["published"] * (1 - c["tolerance"]), c["published"] * (1 + c["tolerance"])))
    elif "between" in c:
        lo, hi = c["between"]
    else:
        lo, hi = c.get("above", -math.inf), c.get("below", math.inf)
    yes = lo <= e.mean <= hi
    reach = 0.0 if math.isnan(e.half) else e.half
    close = any(math.isfinite(x) and abs(e.mean - x) < reach for x in (lo, hi))
    return yes, close


def _telling(c: dict, mean: float, text: str) -> str:
    """The mean with as many digits as it takes to see on which side of the limits it is."""
    if not math.isfinite(mean) or "e" in text:
        return text
    yes, _ = _against_limits(c, Estimate(mean, math.nan, 1))
    decimals = len(text.partition(".")[2])
    while decimals < 9 and _against_limits(c, Estimate(float(text), math.nan, 1))[0] != yes:
        decimals += 1
        text = f"{mean:.{decimals}f}"
    return text


def _difference(a: np.ndarray, b: np.ndarray) -> Estimate:
    if np.isinf(a).any() or np.isinf(b).any():
        x, y = float(np.mean(a)), float(np.mean(b))
        return Estimate(0.0 if x == y else math.copysign(math.inf, x - y), math.nan, len(a))
    return Estimate.of(a - b)


def _required(c: dict, m) -> str:
    """The limits of a check, as text."""
    unit = "" if m.unit == "1" or "over" in c or "class_over" in c else f" {m.unit}"
    if "published" in c:
        return f"{m.show(c['published'])}{unit} within {100 * c['tolerance']:g} %"
    if "between" in c:
        return f"{c['between'][0]:g} to {c['between'][1]:g}{unit}"
    for key in ("above", "below", "near"):
        if key in c:
            return f"{key} {c[key]:g}{unit}" if not isinstance(c[key], str) else f"{key} the other discipline"
    return ""


def _show(e: Estimate, m) -> str:
    if math.isnan(e.half):
        return m.show(e.mean)
    return f"{m.show(e.mean)} ± {m.show(e.half)}"


def _without(c: dict, *keys: str) -> dict:
    return {k: v for k, v in c.items() if k not in keys}


def count(verdicts: list[Verdict]) -> dict[str, int]:
    """How many of each outcome, gated rows only, and those that are only compared."""
    gated = [v for v in verdicts if v.gate]
    return {
        YES: sum(v.outcome == YES for v in gated),
        NO: sum(v.outcome == NO for v in gated),
        OPEN: sum(v.outcome == OPEN for v in gated),
        "compared": len(verdicts) - len(gated),
    }


__all__ = ["NO", "OPEN", "YES", "Check", "Estimate", "Judge", "Verdict", "count", "half_width", "matches"]
