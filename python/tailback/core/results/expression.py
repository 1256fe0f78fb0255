"""Expressions of columns: `links.utilisation[bottleneck]`, `bbr / total`, `jain(flows.goodput_bps[bulk])`.

    number      12, 1e6
    column      TABLE.COLUMN; with [NAME] the row of this link, group or flow; with [COLUMN=VALUE] those of this value
    group       NAME of a group of flows: its goodput; `total`: that of all groups together
    operators   + - * / and parentheses
    functions   sum, mean, min, max, median, p5, p25, p75, p95, p99, jain: over the rows of a run

For a table of intervals, a function is computed over the rows of each interval, and then the mean over time is taken. A
sum over flows is therefore not a sum over time.

An expression is computed for each run; means and confidence intervals are computed from these values. The interval of a
ratio is therefore that of the ratio, and is not combined from two intervals.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tailback import _core
from tailback.core.results.columns import column, first_key, joined

#: The column that the name of a group means.
GOODPUT = "goodput_bps_sum"

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)|([A-Za-z_][\w-]*(?:\.[A-Za-z_]\w*)?)(\[[^\]]*\])?|(.))")


#: The most names, numbers and signs of an expression.
MOST_PARTS = 200


class ExpressionError(ValueError):
    """An expression that cannot be read or computed."""


@dataclass(frozen=True)
class ColumnRows:
    """A column, and the values of other columns that choose its rows."""

    table: str
    column: str
    where: tuple[tuple[str, str], ...] = ()
    #: The text as it was written.
    text: str = field(default="", compare=False)


@dataclass(frozen=True)
class Applied:
    """A function over the rows of each run, or an operator of two parts."""

    name: str
    parts: tuple[Any, ...]


#: A number, rows of a column, or an expression of them.
Node = float | ColumnRows | Applied


def parse(text: str) -> Node:
    """Reads an expression. Raises ExpressionError, with the place, if the text is not an expression.

    >>> from tailback.core.results.expression import parse
    >>> parse("links.utilisation[bottleneck]").where
    (('name', 'bottleneck'),)
    """
    parser = _Parser(text)
    node = parser.sum()
    if parser.at < len(parser.tokens):
        raise parser.error("an operator")
    return node


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, str, int]] = []
        self.at = 0
        for m in _TOKEN.finditer(text):
            number_text, name, chosen, sign = m.groups()
            kind = "number" if number_text else "name" if name else sign or ""
            if kind.strip():
                self.tokens.append((kind, number_text or name or sign, chosen or "", m.start()))
        if len(self.tokens) > MOST_PARTS:
            raise ExpressionError(
                f"{text[:40]}...: an expression of {len(self.tokens)} parts; write at most {MOST_PARTS}, or compute it "
                "from `tailback export`"
            )

    def error(self, wanted: str) -> ExpressionError:
        token = self.tokens[self.at][1] if self.at < len(self.tokens) else "the end"
        return ExpressionError(
            f"{self.text}: expected {wanted}, found {token}; write, for example, links.utilisation[bottleneck] or "
            "jain(flows.goodput_bps)"
        )

    def take(self, *kinds: str) -> str | None:
        if self.at < len(self.tokens) and self.tokens[self.at][0] in kinds:
            self.at += 1
            return self.tokens[self.at - 1][1]
        return None

    def sum(self) -> Node:
        node = self.product()
        while sign := self.take("+", "-"):
            node = Applied(sign, (node, self.product()))
        return node

    def product(self) -> Node:
        node = self.factor()
        while sign := self.take("*", "/"):
            node = Applied(sign, (node, self.factor()))
        return node

    def factor(self) -> Node:
        if self.take("-"):
            return Applied("-", (0.0, self.factor()))
        if self.take("("):
            node = self.sum()
            if not self.take(")"):
                raise self.error("a closing parenthesis")
            return node
        if number := self.take("number"):
            return float(number)
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "name":
            _, name, conditions, _ = self.tokens[self.at]
            self.at += 1
            if name in FUNCTIONS and self.take("("):
                node = self.sum()
                if not self.take(")"):
                    raise self.error("a closing parenthesis")
                return Applied(name, (node,))
            if self.at < len(self.tokens) and self.tokens[self.at][0] == "(":
                raise ExpressionError(f"{self.text}: there is no function {name}; there are {', '.join(FUNCTIONS)}")
            return _rows(name, conditions[1:-1], self)
        raise self.error("a number, a column or a parenthesis")


def _rows(name: str, chosen: str, parser: _Parser) -> Node:
    table, dot, column = name.partition(".")
    if not dot:
        if chosen:
            raise parser.error("TABLE.COLUMN before a bracket")
        if name == "total":
            return Applied("sum", (ColumnRows("groups", GOODPUT, (), name),))
        return ColumnRows("groups", GOODPUT, (("group", name),), name)
    if table not in _core.TABLES:
        raise ExpressionError(f"there is no table {table}; tables are {', '.join(_core.TABLES)}")
    conditions = []
    for part in filter(None, (x.strip() for x in chosen.split(","))):
        key, sep, value = part.partition("=")
        conditions.append((key.strip(), value.strip()) if sep else (first_key(table), part))
    return ColumnRows(table, column, tuple(conditions), f"{name}[{chosen}]" if chosen else name)


def _jain(x: np.ndarray, run: np.ndarray, n: int) -> np.ndarray:
    total, squares = _sum(x, run, n), _sum(x * x, run, n)
    count = np.bincount(run, minlength=n)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(squares > 0, total**2 / (count * squares), np.nan)


def _sum(x: np.ndarray, run: np.ndarray, n: int) -> np.ndarray:
    has_rows = np.bincount(run, minlength=n) > 0
    return np.where(has_rows, np.bincount(run, x, minlength=n), np.nan)


def _mean(x: np.ndarray, run: np.ndarray, n: int) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return _sum(x, run, n) / np.bincount(run, minlength=n)


def _extreme(best: np.ufunc, start: float) -> Callable[[np.ndarray, np.ndarray, int], np.ndarray]:
    def of(x: np.ndarray, run: np.ndarray, n: int) -> np.ndarray:
        extremes = np.full(n, start)
        best.at(extremes, run, x)
        return np.where(np.isinf(extremes), np.nan, extremes)

    return of


def _quantile(share: float) -> Callable[[np.ndarray, np.ndarray, int], np.ndarray]:
    def of(x: np.ndarray, run: np.ndarray, n: int) -> np.ndarray:
        order = np.argsort(run, kind="stable")
        x, run = x[order], run[order]
        starts = np.searchsorted(run, np.arange(n + 1))
        parts = (x[a:b] for a, b in itertools.pairwise(starts))
        return np.asarray([np.quantile(part, share) if len(part) else np.nan for part in parts], float)

    return of


#: Functions over the rows of each run. Arguments: the values, the run of each value, and the number of runs.
FUNCTIONS: Mapping[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
    "sum": _sum,
    "mean": _mean,
    "min": _extreme(np.minimum, np.inf),
    "max": _extreme(np.maximum, -np.inf),
    "median": _quantile(0.5),
    "p5": _quantile(0.05),
    "p25": _quantile(0.25),
    "p75": _quantile(0.75),
    "p95": _quantile(0.95),
    "p99": _quantile(0.99),
    "jain": _jain,
}
#: Tables of intervals, and the column with the beginning of an interval.
OVER_TIME = ("intervals", "group_intervals", "link_intervals")
BEGINS = "from_s"
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}


def combine(sign: str, a: Any, b: Any) -> Any:
    """Applies an operator to two values of each run; a division by zero gives NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result = _OPERATORS[sign](a, b)
    return np.where(np.isfinite(result), result, np.nan)


def leaves(node: Node) -> list[ColumnRows]:
    """The columns of an expression, in order."""
    if isinstance(node, ColumnRows):
        return [node]
    return [x for part in node.parts for x in leaves(part)] if isinstance(node, Applied) else []


def is_signed(node: Node) -> bool:
    """Whether the result may be negative, as a difference may."""
    return isinstance(node, Applied) and (node.name == "-" or any(map(is_signed, node.parts)))


def unit(node: Node, units: Mapping[tuple[str, str], str]) -> str:
    """The unit of the result; `units` are those of the columns. Empty for a ratio of values with the same unit."""
    if isinstance(node, ColumnRows):
        stored_unit = units[node.table, node.column]
        return "%" if column(node.table, node.column).share else "" if stored_unit == "1" else stored_unit
    if not isinstance(node, Applied):
        return ""
    inner_units = [unit(part, units) for part in node.parts]
    if node.name in ("+", "-"):
        return inner_units[-1] if len(set(inner_units)) == 1 else next((u for u in inner_units if u), "")
    if node.name == "/":
        return (
            inner_units[0]
            if inner_units[1] in ("", "%")
            else ""
            if inner_units[0] == inner_units[1]
            else f"{inner_units[0]} / {inner_units[1]}"
        )
    if node.name == "*":
        return next((u for u in inner_units if u not in ("", "%")), inner_units[0])
    return "" if node.name == "jain" else inner_units[0]


def words(node: Node) -> str:
    """The title of an expression: `goodput of bbr / total goodput`."""
    if isinstance(node, ColumnRows):
        labels = ", ".join(value for _, value in node.where)
        if node.column == GOODPUT and labels:
            return f"goodput of {labels}"
        title = column(node.table, node.column).title
        link = "at" if node.table in ("links", "link_intervals") else "of"
        return joined(title, labels, link) if labels else title
    if not isinstance(node, Applied):
        return f"{node:g}"
    if node.name in FUNCTIONS:
        inner_words = words(node.parts[0])
        if node.name == "sum" and node.parts == (ColumnRows("groups", GOODPUT),):
            return inner_words
        phrases = {
            "jain": "Jain's index of {}",
            "sum": "total {}",
            "mean": "mean {}",
            "min": "smallest {}",
            "max": "largest {}",
            "median": "median {}",
        }
        return phrases.get(node.name, f"{node.name[1:]} % quantile of {{}}").format(inner_words)
    if node.parts[0] == 0.0 and node.name == "-":
        return f"-{words(node.parts[1])}"
    return f" {node.name} ".join(_bracketed(part, node.name) for part in node.parts)


def _bracketed(node: Node, sign: str) -> str:
    text = words(node)
    weaker = isinstance(node, Applied) and node.name in ("+", "-") and sign in ("*", "/")
    return f"({text})" if weaker else text
