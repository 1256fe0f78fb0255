#!/usr/bin/env python3
"""A new discipline, scheduler, conditioner, congestion control, traffic source, study or crate, from a template.

    make new KIND=discipline NAME=my-aqm
    tools/new.py KIND NAME      KIND: discipline, scheduler, conditioner, control, source, study, crate

Writes its file with a small algorithm that works, its test and its page, and adds its rows to the lists. `make check`
passes right afterwards; then replace the algorithm, the words and the numbers. Templates are in tools/templates/KIND. A
crate is written to out/NAME, and may be moved anywhere; most of its templates are the example `your-aqm`.
What has to follow when files move is the table `KINDS` alone.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = Path(__file__).resolve().parent / "templates"


@dataclass(frozen=True)
class Row:
    """A line for a list that is there. It goes where the first match of `after` ends; rustfmt sorts Rust's."""

    file: str
    after: str
    text: str


@dataclass(frozen=True)
class Kind:
    """What one kind of thing consists of. The placeholders of `words_of` are replaced in its files, paths and rows."""

    #: Template -> the file that is made of it. Its page calls the path of `file.rs` `__file__`.
    files: dict[str, str]
    rows: list[Row]
    #: What tests it, and where its words are.
    then: str


QUEUE = "crates/tailback-queue/src"
CONGESTION = "crates/tailback-transport/src/tcp/congestion"
CONDITIONER = "crates/tailback-conditioner/src"
TRAFFIC = "crates/tailback-sim/src/traffic"
EXAMPLE = "../../../python/tailback/examples/your-aqm"

KINDS = {
    "discipline": Kind(
        {"file.rs": f"{QUEUE}/aqm/load/__module__.rs", "page.md": "docs/disciplines/__name__.md"},
        [
            Row(f"{QUEUE}/aqm/load/mod.rs", r"\n\n(?=pub mod )", "pub mod __module__;\n"),
            Row(f"{QUEUE}/registry.rs", r"use crate::aqm::load::\{", "__module__, "),
            Row(
                f"{QUEUE}/registry.rs", r'"AQM by load, losses or queue",\n.*?(?=\n {12}\],)', "\n__module__::entry(),"
            ),
            Row(
                "docs/disciplines/README.md",
                r"### AQM by load, losses or queue\n.*?\|\n(?=\n)",
                "| [`__name__`](__name__.md) | what it does, in a few words |\n",
            ),
        ],
        "cargo test --release -p tailback-queue __module__",
    ),
    "scheduler": Kind(
        {"file.rs": f"{QUEUE}/pieces/schedule/__module__.rs"},
        [
            Row(f"{QUEUE}/pieces/schedule/mod.rs", r"\n\n(?=pub mod )", "pub mod __module__;\n"),
            Row(f"{QUEUE}/pieces/catalogue.rs", r"use crate::pieces::schedule::\{(?=\s*Scheduler)", "__module__, "),
            Row(f"{QUEUE}/pieces/catalogue.rs", r"const SCHEDULERS:.*?(?=\n    \];)", "\n__module__::entry(),"),
        ],
        "cargo test --release -p tailback-queue __module__",
    ),
    "conditioner": Kind(
        {"file.rs": f"{CONDITIONER}/__module__.rs"},
        [
            Row(f"{CONDITIONER}/lib.rs", r"\n\n(?=pub mod )", "pub mod __module__;\n"),
            Row(f"{CONDITIONER}/registry.rs", r"use crate::\{", "__module__, "),
            Row(f"{CONDITIONER}/registry.rs", r"const ROWS:[^=]*= &\[.*?(?=\];)", ", __module__::entry()"),
            # A test of rates asks each conditioner for its own; the template's has none.
            Row(f"{CONDITIONER}/mean_rates.rs", r'!\["code-point", ', '"__name__", '),
            Row(
                "docs/conditioners.md",
                r"\| conditioner \| in one sentence \|\n.*?\|\n(?=\n)",
                "| `__name__` | what it does, in one sentence |\n",
            ),
        ],
        "cargo test --release -p tailback-conditioner __module__",
    ),
    "control": Kind(
        {"file.rs": f"{CONGESTION}/__module__.rs", "page.md": "docs/transports/__name__.md"},
        [
            Row(f"{CONGESTION}/mod.rs", r"\n\n(?=pub mod )", "pub mod __module__;\n"),
            Row(f"{CONGESTION}/list.rs", r"use super::\{\s*Controller, ", "__module__, "),
            Row(
                f"{CONGESTION}/list.rs",
                r"pub static CONTROLLERS:.*?(?=\n\];)",
                "\nController { model: &__module__::MODEL, also: &[], facts: __module__::FACTS, "
                "build: __module__::build },",
            ),
        ],
        "cargo test --release -p tailback-transport __module__",
    ),
    "source": Kind(
        {"file.rs": f"{TRAFFIC}/__module__.rs"},
        [
            Row(f"{TRAFFIC}/mod.rs", r"\n\n(?=pub mod )", "pub mod __module__;\n"),
            Row(f"{TRAFFIC}/registry.rs", r"use super::\{", "__module__, "),
            Row(f"{TRAFFIC}/registry.rs", r"pub static SOURCES:.*?(?=\n\];)", "\n&__module__::ENTRY,"),
            Row(
                "docs/workloads.md",
                r"\| name \| in `\[flows\.x\]` \| study \|\n.*?\|\n(?=\n)",
                '| | the same with `kind = "__name__"`: when its packets leave | |\n',
            ),
        ],
        "cargo test --release -p tailback-sim --lib __module__",
    ),
    "study": Kind(
        {
            "page.md": "docs/studies/__name__.md",
            **{
                f"{n}.toml": f"python/tailback/studies/__name__/{n}.toml"
                for n in ("study", "scenario", "experiments", "statements")
            },
        },
        [
            Row(
                "docs/studies/README.md",
                r"\| page \| study \|\n.*?\|\n(?=\n)",
                "| [__name__](__name__.md) | authors, the question, year |\n",
            )
        ],
        "tailback reproduce __name__ --quick",
    ),
    "crate": Kind(
        {
            "Cargo.toml": "out/__name__/Cargo.toml",
            # The versions of its dependencies are those of tailback.
            "../../../Cargo.lock": "out/__name__/Cargo.lock",
            **{
                f"{EXAMPLE}/{n}": f"out/__name__/{n}"
                for n in ("build.rs", "pyproject.toml", "src/lib.rs", "src/discipline.rs")
            },
        },
        [],
        "cargo test --release --manifest-path out/__name__/Cargo.toml",
    ),
}


def main() -> int:
    if len(sys.argv) != 3 or sys.argv[1] not in KINDS:
        print(__doc__, file=sys.stderr)
        return 2
    kind, name = sys.argv[1:]
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        return refused(f'"{name}" is no name; write small letters, digits and single hyphens, such as my-aqm')
    try:
        new, changed = made(kind, name)
    except ValueError as e:
        return refused(str(e))
    for path, text in {**changed, **new}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(("written " if path in new else "changed ") + str(path.relative_to(ROOT)))
    if any(path.suffix == ".rs" for path in new):
        subprocess.run(["cargo", "fmt", "--all"], cwd=ROOT, check=True)
    if kind == "study":
        measure(name)
    then = filled(KINDS[kind].then, words_of(name))
    if kind == "crate":
        print(f"Run `{then}`. docs/howto/a-crate-of-your-own.md says how to go on.")
    else:
        print(f"Run `{then}`, then `make check`. CONTRIBUTING.md says what to write.")
    return 0


def made(kind: str, name: str) -> tuple[dict[Path, str], dict[Path, str]]:
    """The texts of the new files, and of those that get a row. Raises ValueError before anything is written."""
    words = words_of(name)
    files = {template: filled(to, words) for template, to in KINDS[kind].files.items()}
    words["__file__"] = files.get("file.rs", "")
    new: dict[Path, str] = {}
    for template, to in files.items():
        path = ROOT / to
        if path.exists():
            raise ValueError(f"{path.relative_to(ROOT)} is there already; give another name")
        new[path] = filled((TEMPLATES / kind / template).read_text(encoding="utf-8"), words)
    changed: dict[Path, str] = {}
    for row in KINDS[kind].rows:
        path = ROOT / row.file
        text = changed.get(path) or path.read_text(encoding="utf-8")
        found = re.search(row.after, text, re.DOTALL)
        if found is None:
            raise ValueError(f"{row.file} has no place for its row; correct KINDS in tools/new.py: {row.after}")
        changed[path] = text[: found.end()] + filled(row.text, words) + text[found.end() :]
    return new, changed


def refused(problem: str) -> int:
    print(f"error: {problem}", file=sys.stderr)
    return 2


def words_of(name: str) -> dict[str, str]:
    """What stands for the placeholders."""
    parts = name.split("-")
    return {
        "__name__": name,
        "__module__": "_".join(parts),
        "__Type__": "".join(p.capitalize() for p in parts),
        "__Title__": " ".join([parts[0].capitalize(), *parts[1:]]),
        "__root__": ROOT.as_posix(),
        # In the example of a crate.
        "your-aqm": name,
        "your_aqm": "_".join(parts),
        "YourAqm": "".join(p.capitalize() for p in parts),
        "Your aqm": " ".join([parts[0].capitalize(), *parts[1:]]),
    }


def filled(text: str, words: dict[str, str]) -> str:
    return re.sub("|".join(words), lambda m: words[m[0]], text)


def measure(name: str) -> None:
    """Run the study, and keep what came out for the site."""
    import study_pages

    from tailback.cli import cli

    out = ROOT / "out" / name
    cli(["reproduce", name, "--quick", "--out", str(out)], standalone_mode=False)
    study_pages.keep(out)


if __name__ == "__main__":
    sys.exit(main())
