"""Plays lines against a subject, and gives the verdict of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tailback import _core
from tailback.apps.conformance.dialogue import DialogueError
from tailback.apps.conformance.lines import Dialogue
from tailback.apps.conformance.ours import OurSender
from tailback.apps.conformance.play import NotKept, Subject, play
from tailback.apps.conformance.receiver import FarEnd
from tailback.core.scenario.controls import congestion

HOLDS, FAILS, DIFFERS, SKIPPED = "holds", "fails", "differs", "skipped"


@dataclass(frozen=True)
class LineVerdict:
    """The verdict of a line: a word, with the place of the failure or the reason why it was not played."""

    line: Dialogue
    word: str
    found: str = ""

    def as_dict(self) -> dict[str, Any]:
        table = self.line.table
        return {
            "line": self.line.name,
            "source": self.line.source,
            "section": table.section,
            "says": table.says,
            "in_our_words": table.in_our_words,
            "for_all": self.line.is_for_all,
            "result": self.word,
            "found": self.found,
        }


#: The function that makes the subject of a line.
Make = Callable[[Dialogue], Subject]


def try_line(line: Dialogue, subject: Subject, accurate: bool) -> str:
    """The place where a line failed; empty if it holds. With `accurate`, each acknowledgement echoes the mark of its
    own segment."""
    try:
        play(line.steps, subject, FarEnd(accurate=accurate, dsack=False))
    except NotKept as e:
        return str(e)
    except DialogueError as e:
        e.args = (f"{line.file}: line.{line.table.id}: {e}",)
        raise
    return ""


def facts(control: Any, like: str = "any") -> Mapping[str, Any]:
    """The properties of a congestion control (a name, a table, or a user's own class), or else those of `like`."""
    kind = control if isinstance(control, str) else control["kind"] if isinstance(control, Mapping) else ""
    if ":" in kind:
        kind = congestion(kind).kind
    return _core.control_facts(kind) or _core.control_facts(like) or {}


def spared(line: Dialogue, known: Mapping[str, Any]) -> str:
    """The reason why a line does not apply to a control with these properties; empty if it applies."""
    if line.table.unless == "ignores_losses" and known.get("ignores_losses"):
        return "the control says that it ignores losses"
    if line.table.unless == "scalable" and known.get("codepoint") == "ect1":
        return "packets of a scalable control have ECT(1), all of them (RFC 9331)"
    return ""


def accurate(control: Any, like: str = "any") -> bool:
    """Whether the receiver of this congestion control echoes each mark by itself."""
    return bool(facts(control, like).get("echo") == "every-ack")


def settings(line: Dialogue, control: Any) -> dict[str, Any]:
    """The parameters of `tcp` for a line under a congestion control, which may be a name or a table."""
    return {"congestion": control, **line.table.tcp}


def ours(line: Dialogue, control: Any, **more: Any) -> OurSender:
    """A sender of the simulator for a line; `more` overrides its parameters."""
    return OurSender(settings(line, control) | more, line.table.lost_syns)


def on_simulator(
    lines: Iterable[Dialogue], control: Any, like: str, change: Mapping[str, Any] | None = None
) -> list[LineVerdict]:
    """Plays all lines that apply to this control. `like` is a control whose own lines apply too; `change` has further
    parameters."""
    verdicts = []
    for line in lines:
        if not line.is_for(like):
            continue
        if why := spared(line, facts(control, like)):
            verdicts.append(LineVerdict(line, SKIPPED, why))
            continue
        failure = try_line(line, ours(line, control, **(change or {})), accurate(control, like))
        verdicts.append(LineVerdict(line, FAILS if failure else HOLDS, failure))
    return verdicts
