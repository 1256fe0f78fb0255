"""How the senders of a question respond to congestion marks: the default of ECN at hosts, and sentences about senders
that do not fit this default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailback import _core


def of(control: str | Mapping[str, Any]) -> str:
    """`needs`, `answers` or `ignores`, for a congestion control of a scenario: its name, or a table with its kind."""
    control_facts = _core.control_facts(control if isinstance(control, str) else control["kind"])
    return str(control_facts["marks"]) if control_facts else "answers"


def has_ecn(asked: bool | None, controls: Mapping[str, str | Mapping[str, Any]]) -> bool:
    """Whether hosts have ECN: as given, or else if a sender needs marks."""
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
