"""Evaluates the assertions of a script, which compare whole numbers. Python code of a script is not executed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from tailback.apps.conformance.packetdrill.script import Refused
from tailback.runs.live.tcp_info import CA_STATES

#: Constants of scripts: states of the congestion control and of a connection, and the option bits of linux/tcp.h.
CONSTANTS: Mapping[str, int] = {
    **{f"TCP_CA_{name}": i for i, name in enumerate(CA_STATES)},
    **{
        f"{prefix}_{name}": i
        for prefix in ("TCP", "TCPI")
        for i, name in enumerate(
            ("ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT", "CLOSE", "CLOSE_WAIT",
             "LAST_ACK", "LISTEN", "CLOSING"), 1)
    },
    "TCPI_OPT_TIMESTAMPS": 1, "TCPI_OPT_SACK": 2, "TCPI_OPT_WSCALE": 4, "TCPI_OPT_ECN": 8, "TCPI_OPT_ECN_SEEN": 16,
    "TCPI_OPT_SYN_DATA": 32, "TCP_INFINITE_SSTHRESH": 0x7FFFFFFF,
}  # fmt: skip

_TWO: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv, "//": operator.floordiv,
    "%": operator.mod, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_ONE: Mapping[str, Callable[[int], int]] = {"-": operator.neg, "~": operator.invert, "not": lambda v: int(not v)}
#: The most digits of a value.
_MOST = 1 << 200


def evaluate(expr: Any, of: Callable[[str], int], line: int) -> int:
    """The value of an expression; `of` gives the value of a name. Raises Refused."""
    if isinstance(expr, int):
        return expr
    if isinstance(expr, str):
        return of(expr)
    operator, *operands = expr
    if operator == "compare":
        values = [evaluate(e, of, line) for e in operands[::2]]
        return int(all(_TWO[o](a, b) for o, (a, b) in zip(operands[1::2], pairwise(values), strict=True)))
    if operator == "and":
        return evaluate(operands[0], of, line) and evaluate(operands[1], of, line)
    if operator == "or":
        return evaluate(operands[0], of, line) or evaluate(operands[1], of, line)
    values = [evaluate(e, of, line) for e in operands]
    if len(values) == 1:
        return _ONE[operator](values[0])
    if operator in ("/", "//", "%") and values[1] == 0:
        raise Refused(line, operator, "this divides by 0")
    result = _TWO[operator](*values)
    if abs(result) > _MOST:
        raise Refused(line, operator, "this number is too large")
    return result


def names(expr: Any) -> list[str]:
    """The names in an expression, each once, in order."""
    if isinstance(expr, str):
        return [expr]
    if isinstance(expr, int):
        return []
    begin = 1
    operands = expr[begin:] if expr[0] != "compare" else expr[1::2]
    return list(dict.fromkeys(name for part in operands for name in names(part)))
