"""What README and docs show: commands with their output, Python, scenarios. `test_pages.py` runs it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    str(p.relative_to(ROOT))
    for p in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
]
#: How a line of a command begins. Other blocks of text are output, files and drawings.
PROGRAM = re.compile(r"(?:TAILBACK_CORE=\w+ )?(?:\S*/)?(?:tailback|make|python|cargo|pip|ip|sbatch)\s|\w+=\$\(")


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    #: Of a fence, such as "toml"; empty for an indented block.
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    place: str
    #: As a shell takes it.
    text: str
    #: What the page shows below it.
    output: str | None = None


@cache
def _tokens(page: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse((ROOT / page).read_text(encoding="utf-8"))


@cache
def blocks(page: str) -> list[Block]:
    """The blocks of code of a page."""
    found = []
    for t in _tokens(page):
        if t.type in ("fence", "code_block"):
            assert t.map is not None
            # The text of a fence begins below the fence itself.
            found.append(Block(page, t.map[0] + 1 + (t.type == "fence"), t.info.strip(), t.content))
    return found


def of(page: str, language: str) -> list[Block]:
    return [b for b in blocks(page) if b.language == language]


def named_files(page: str) -> dict[str, str]:
    """Files that a page shows whole: blocks whose first line is `# NAME.toml`, or a name of .py, .txt or .csv."""
    shown = [*of(page, "toml"), *of(page, "python"), *of(page, "text")]
    named = [(re.match(r"# ([\w-]+\.(?:toml|py|txt|csv))\n", b.text), b.text) for b in shown]
    return {m[1]: text for m, text in named if m}


def commands(page: str) -> list[Command]:
    """The lines of the blocks of commands. A block of text directly below is what the last line prints."""
    tokens = [t for t in _tokens(page) if t.level == 0]
    shown = {b.line: b for b in blocks(page)}
    found: list[Command] = []
    for t, after in zip(tokens, [*tokens[1:], None], strict=True):
        if not _is_commands(t):
            continue
        assert t.map is not None
        first = t.map[0] + 1 + (t.type == "fence")
        found += _lines(shown[first])
        if after is not None and after.type == "fence" and after.info == "text" and not _is_commands(after):
            found[-1] = Command(found[-1].place, found[-1].text, after.content)
    return found


def _is_commands(t: Token) -> bool:
    return t.type in ("fence", "code_block") and t.info in ("", "text") and PROGRAM.match(t.content) is not None


def _lines(block: Block) -> Iterator[Command]:
    """A line that ends in a backslash goes on below."""
    text, first = "", block.line
    for number, line in enumerate(block.text.rstrip("\n").split("\n"), block.line):
        text, first = (text + line, first) if text else (line, number)
        if text.endswith("\\"):
            text = text[:-1]
        else:
            yield Command(f"{block.page}:{first}", text.strip())
            text = ""


def mentioned(page: str, program: str = "tailback") -> list[Command]:
    """Commands of a program in the sentences and tables of a page."""
    found = []
    for t in _tokens(page):
        for child in t.children or []:
            if child.type == "code_inline" and re.match(rf"(?:\S*/)?{program} ", child.content):
                assert t.map is not None
                found.append(Command(f"{page}:{t.map[0] + 1}", child.content))
    return found


def prose(page: str) -> list[tuple[int, str]]:
    """Paragraphs, headings and cells of tables, each with its line."""
    inline = [t for t in _tokens(page) if t.type == "inline"]
    return [(t.map[0] + 1 if t.map else 0, " ".join(t.content.split())) for t in inline]
