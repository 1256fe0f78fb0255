"""Whether the queues of a scenario mark ECN-capable packets or drop them, in words."""

from __future__ import annotations

from tailback import _core


def sentence(scenario: _core.Scenario) -> str:
    """Whether queues mark, and the reason. Empty if no queue can mark and no queue has `ecn` set."""
    marking = scenario.marking
    marking_ports = [p for p in marking["ports"] if p["marks"] or p["own"]]
    if not marking_ports:
        return ""
    if marking["on"]:
        rule = f"queues mark ECN-capable packets: {marking['because']}"
    else:
        rule = f"queues do not mark: {marking['because']}"
    own = ", ".join(f"link.{p['name']} has ecn = {' and '.join(p['own'])}" for p in marking_ports if p["own"])
    return f"{rule}; except that {own}" if own else rule


def by_default(scenario: _core.Scenario) -> str:
    """A note if queues mark although the scenario does not say so, with the setting that makes them drop; else
    empty."""
    marking = scenario.marking
    following_queues = sorted({p["queue"] for p in marking["ports"] if p["marks"] and not p["own"]})
    if not marking["on"] or marking["given"] or not following_queues:
        return ""
    verb = "mark" if len(following_queues) > 1 else "marks"
    return (
        f"{_and(following_queues)} {verb} ECN-capable packets, since {marking['because']}; "
        "marking = false at the top of the scenario has every queue drop them"
    )


def ports(scenario: _core.Scenario) -> dict[str, bool]:
    """Whether the queue of each port marks."""
    return {p["name"]: bool(p["marks"]) for p in scenario.marking["ports"]}


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
