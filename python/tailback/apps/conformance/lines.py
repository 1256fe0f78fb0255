"""The conformance lines as data. Each RFC has a file, and each tested sentence has a line with its dialogue.

`lines/` has the installed files. Sentences without a line are listed in the same files with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

from tailback.apps.conformance.dialogue import DialogueError, Turn, parse
from tailback.core.declared import FileError, Table, read_table, read_toml

#: The files that are installed.
FOLDER = Path(__file__).parent / "lines"
#: The most SYNs that a line may lose, since the time between two of them doubles.
MOST_SYNS = 6
#: The word in `to` for a rule of every congestion control.
ANY = "any"


class OnLinux(Table, frozen=True):
    """The reason why a line differs on the kernel of Linux: the kernel has another rule, or the line cannot be
    tested."""

    differs: str = ""
    skip: str = ""


class LineTable(Table, frozen=True):
    """A line as in a file."""

    id: str
    section: str
    #: The sentence of the document, with `...` for omitted words and formulas on one line.
    says: str
    #: The congestion controls that the sentence is about, or `any`.
    to: list[str]
    dialogue: str
    #: Parameters of `tcp` that the dialogue needs.
    tcp: dict[str, Any] = {}
    #: The number of SYNs that are lost before the dialogue.
    lost_syns: int = 0
    kernel: OnLinux = msgspec.field(default_factory=OnLinux)
    #: Whether the kernel keeps its own minimum timeout instead of the RFC's.
    default_timer: bool = False
    #: The reason why the line is not tested with timestamps, which are off by default.
    not_with_stamps: str = ""
    #: Whether `says` is not a quotation.
    in_our_words: bool = False
    #: Controls to which the line does not apply: those with `ignores_losses`, or `scalable` ones with ECT(1) (RFC
    #: 9331).
    unless: Literal["", "ignores_losses", "scalable"] = ""


class SentenceTable(Table, frozen=True):
    """A sentence without a line."""

    section: str
    says: str
    why: str
    #: False if the simulator does not have the feature.
    modelled: bool = True
    #: Whether `says` is not a quotation.
    in_our_words: bool = False


class FileTable(Table, frozen=True):
    """A file of lines."""

    source: str
    title: str
    line: list[LineTable] = []
    sentence: list[SentenceTable] = []


class Dialogue:
    """A line with its steps. `name` has the file and the line, such as `rfc5681/slow-start`."""

    def __init__(self, file: Path, source: str, table: LineTable) -> None:
        self.file = file
        self.source = source
        self.table = table
        self.name = f"{file.stem}/{table.id}"

    @cached_property
    def steps(self) -> list[Turn]:
        try:
            return parse(self.table.dialogue)
        except DialogueError as e:
            raise FileError(f"{self.file}: line.{self.table.id}: dialogue: {e}") from None

    @property
    def is_for_all(self) -> bool:
        """Whether the rule is for every congestion control and not for one algorithm."""
        return ANY in self.table.to

    def is_for(self, control: str) -> bool:
        return control in self.table.to or self.is_for_all


class LineFile:
    """A file: the lines of one RFC, and its sentences without a line."""

    def __init__(self, file: Path) -> None:
        table = read_table(FileTable, read_toml(file), file)
        self.file, self.name, self.title = file, table.source, table.title
        self.lines = [Dialogue(file, table.source, row) for row in table.line]
        self.sentences = table.sentence
        names = [line.name for line in self.lines]
        if twice := {n for n in names if names.count(n) > 1}:
            raise FileError(f"{file}: line.id = {sorted(twice)[0]!r} is there twice; give each line another id")
        for line in self.lines:
            line.steps  # noqa: B018 - a mistake is said when the file is read
            if not 0 <= line.table.lost_syns <= MOST_SYNS:
                raise FileError(
                    f"{file}: line.{line.table.id}: lost_syns = {line.table.lost_syns}; write 0 to {MOST_SYNS}"
                )


def installed() -> list[LineFile]:
    """All files that tailback has, in the order of their names."""
    return [LineFile(file) for file in sorted(FOLDER.glob("*.toml"))]


def read(files: Sequence[str | Path]) -> list[LineFile]:
    """The user's files. Raises FileError if a file is missing or contradicts itself."""
    return [LineFile(Path(file)) for file in files]
