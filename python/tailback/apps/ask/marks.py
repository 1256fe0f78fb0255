"""What the senders of a question make of congestion marks: whether hosts have ECN unless it is said, and the sentences
about those that do not go with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailback import _core


def of(control: str | Mapping[str, Any]) -> str:
    """`needs`, `answers` or `ignores`, of a congestion control as a scenario has it: its name, or a table with its
    kind."""
    known = _core.control_facts(control if isinstance(control, str) else control["kind"])
    return str(known["marks"]) if known else "answers"


def has_ecn(asked: bool | None, controls: Mapping[str, str | Mapping[str, Any]]) -> bool:
    """Whether hosts have ECN: as it was asked for, else where a sender needs marks."""
    return any(of(control) == "needs" for control in controls.values()) if asked is None else asked


def said(ecn: bool, controls: Mapping[str, str | Mapping[str, Any]]) -> str:
    """A sentence about ECN at the hosts of these senders, by their names on the page."""
    wrong = "ignores" if ecn else "needs"
    exceptions = [name for name, control in controls.items() if of(control) == wrong]
    if not exceptions:
        return f"ECN is {'on' if ecn else 'off'}."
    names, it = " and ".join(exceptions), "it" if len(exceptions) == 1 else "them"
    if not ecn:
        return f"ECN is off, and {names} need{'s'[len(exceptions) - 1 :]} marks: only losses slow {it}."
    return f"ECN is on, except for {names}, which ignore{'s'[len(exceptions) - 1 :]} marks."
