"""The data of a study for its report: `study.json` in a folder of results, written by `tailback.study` and read
here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from tailback.core.declared import Table
from tailback.core.text.plain import file_bytes
from tailback.core.verdict import COUNT_HEADS, Counts, Verdict

NAME = "study.json"

#: An experiment: its text, figures, tables and notes.
Section = dict[str, Any]


class OtherVersion(ValueError):
    """A file of a version with other contents."""


class SetupRow(Table, kw_only=True, frozen=True):
    """A row of its set-up."""

    what: str
    value: str


class AgainRow(Table, kw_only=True, frozen=True):
    """A command that runs a part of the study again."""

    command: str
    what: str


class Covered(Table, kw_only=True, frozen=True):
    """An item of the source (a figure, a table, an algorithm, a chapter), and its place here."""

    part: str
    #: Experiments of the study.
    experiments: list[str] = []
    #: Models of `tailback describe`.
    models: list[str] = []
    #: Files in the study's folder.
    files: list[str] = []
    #: A page of docs/.
    docs: str = ""
    #: Further words on its place: a command, a parameter.
    here: str = ""
    #: The reductions from the source, with the reason.
    reduced: str = ""
    #: The reason why it is missing here.
    missing: str = ""


class Said(Table, kw_only=True, frozen=True):
    """The study's description of itself."""

    id: str
    title: str
    citation: str
    question: str = ""
    #: The meaning of short names in its sentences.
    names: str = ""
    method: str = ""
    caution: str = ""
    #: The items of the source, in its order.
    source: list[Covered] = []


class QueueText(Table, kw_only=True, frozen=True):
    """A discipline: its title, and its queue as a scenario has it."""

    title: str
    queue: str


class Told(msgspec.Struct, kw_only=True):
    """A reproduced study."""

    kind: str = "study"
    study: Said
    setup: list[SetupRow]
    again: list[AgainRow]
    mode: str
    command: str
    experiments: list[str]
    verdicts: list[Verdict]
    count: Counts
    kinds: dict[str, Counts]
    opening: list[str]
    sections: list[Section]
    disciplines: dict[str, QueueText]
    #: File name -> text.
    scenarios: dict[str, str]
    parameters: list[list[str]] = []
    replaced: dict[str, str] = {}
    overrides: list[str] = []
    failed: list[str] = []
    runs: int
    seeds: int = 0
    version: str
    build: str

    def as_dict(self) -> dict[str, Any]:
        """The document, as it is in the file."""
        fields = {k: getattr(self, k) for k in self.__struct_fields__}
        fields |= {k: msgspec.to_builtins(fields[k]) for k in ("study", "setup", "again", "disciplines")}
        return fields | {"verdicts": [v.as_dict() for v in self.verdicts]}

    def text(self) -> str:
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False)


def read(folder: Path) -> Told:
    """Raises ValueError for a file that is damaged, or was written by another version."""
    try:
        contents = msgspec.json.decode(file_bytes(folder / NAME), type=Told)
    except RecursionError as e:
        raise ValueError(f"{folder / NAME} is nested too deeply; `tailback reproduce` writes it anew") from e
    except msgspec.MsgspecError as e:
        # In some versions of the library this is not a ValueError.
        raise ValueError(f"{folder / NAME} is damaged: {e}; `tailback reproduce` writes it anew") from e
    if any(set(c) != set(COUNT_HEADS) for c in (contents.count, *contents.kinds.values())):
        raise OtherVersion(
            f"{folder / NAME} is of version {contents.version}, which counted other outcomes; run `{contents.command}` "
            "into the same folder again: stored runs are not run again"
        )
    return contents
