#!/usr/bin/env python3
"""The site from the pages in docs/ and from the program's own declarations.

    tools/build_docs.py [OUT]      OUT/index.html; default out/site; exit status 1 and the warnings if anything is amiss

Pages are staged beside OUT. What only the program knows becomes pages: the reference, one page for each family of
models; commands; measures of `compare`; studies and their verdicts; the Python names; the code, file by
file. Where a page of docs/ names a command or a file that such a page is about (`tailback describe NAME`,
`out/site/PAGE.html`), the site has a link. Links that leave docs/ lead to the repository. Sphinx then builds with every
warning an error.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import code_index
import description
import live_pages
import study_pages

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FRONT = ROOT / "tools/front_page.md"
REPOSITORY = f"{description.address()}/blob/main"

#: Parts of the site, in order, and their pages; a name with a star takes what is there.
PARTS: dict[str, list[str]] = {
    "Start": [
        "README",
        "install",
        "getting-started",
        "lab",
        "choosing",
        "home-line",
        "sweeps",
        "cluster",
        "read-results",
        "captures",
        "live",
        "howto/*",
    ],
    "Lessons": ["lessons/README", "lessons/*"],
    "Studies": ["studies/README", "studies/*", "made/studies"],
    "Reference": ["made/reference/*", "made/commands", "made/measures", "made/python"],
    "Queues": ["disciplines/README", "disciplines/*"],
    "Transports": ["transports/README", "transports/*"],
    "Traffic and results": ["workloads", "media", "conditioners", "edge", "results"],
    "Trust": ["validation", "speed", "times", "not-modelled", "decisions/README", "decisions/*"],
    "The project": ["architecture", "made/code", "made/contributing", "open-work"],
}


def main() -> int:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "out/site").resolve()
    staged = out.parent / f"{out.name}-pages"
    stage(staged)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(staged), str(out)]
    done = subprocess.run(command, check=False).returncode
    if live_pages.possible():
        live_pages.write_lab(out)
    return done


def stage(staged: Path) -> None:
    """Every page of the site, in Markdown."""
    shutil.rmtree(staged, ignore_errors=True)
    shutil.copytree(DOCS, staged, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(staged / "studies/measured")
    described = reference(staged / "made/reference")
    made_pages(staged)
    for page in staged.rglob("*.md"):
        page.write_text(relinked(page, staged, described), encoding="utf-8")
    (staged / "index.md").write_text(index(staged), encoding="utf-8")
    if live_pages.possible():
        live_pages.add(staged)
    else:
        print("the site has no lab and nothing to move, because the engine for web pages is not here: `make engine`")


def slug(heading: str) -> str:
    """The anchor of a heading, as a forge makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower().replace("`", "")).strip().replace(" ", "-")


def reference(folder: Path) -> dict[str, str]:
    """A page for each family of the reference. Returns the page and anchor of each model; `""` is the first page."""
    from tailback import _core

    folder.mkdir(parents=True)
    described: dict[str, str] = {}
    for number, part in enumerate(_core.reference_markdown().split("\n## ")[1:]):
        title = part.split("\n", 1)[0]
        name = f"{number:02}-{slug(title)}.md"
        # One level up: the page has a title of its own.
        text = re.sub(r"^#(#+ )", r"\1", f"# {part}", flags=re.MULTILINE)
        text = re.sub(r"^# .*\n", f"# {title}\n", text, count=1)
        (folder / name).write_text(text, encoding="utf-8")
        described.setdefault("", f"made/reference/{name}")
        for heading, model in re.findall(r"^## (`([^`]+)`.*)$", text, re.MULTILINE):
            # A name of two families, such as `drr`, is that of the first, as for the command.
            described.setdefault(model, f"made/reference/{name}#{slug(heading)}")
    return described


#: What stands on a page where the site has a link.
COMMAND = re.compile(r"`tailback\s+describe(?:\s+(\w[\w-]*))?`")
FILE = re.compile(r"`out/site/([\w/-]+)\.html`")


def relinked(page: Path, staged: Path, described: dict[str, str]) -> str:
    """The page with its links as the site has them."""

    def link(found: re.Match[str]) -> str:
        target = found[1].partition("#")[0]
        if not target or "://" in target or target.startswith("mailto:"):
            return found[0]
        here = Path(os.path.normpath(page.parent / target))
        if staged in here.parents or here == staged:
            return found[0] if here.is_file() else f"]({REPOSITORY}/docs/{here.relative_to(staged)})"
        # As seen from docs/, which the staged pages stand for.
        outside = Path(os.path.normpath(DOCS / page.relative_to(staged).parent / target)).relative_to(ROOT)
        return f"]({REPOSITORY}/{outside})"

    def to(target: str) -> str:
        return os.path.relpath(staged / target, page.parent)

    def prose(text: str) -> str:
        text = re.sub(r"\]\(([^)\s]+)\)", link, text)
        text = COMMAND.sub(
            lambda m: f"[{m[0]}]({to(described[m[1] or ''])})" if (m[1] or "") in described else m[0], text
        )
        return FILE.sub(lambda m: f"[{m[1].split('/')[-1]}]({to(m[1] + '.md')})", text)

    parts = re.split(r"(^```.*?^```)", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return "".join(p if p.startswith("```") else prose(p) for p in parts)


def made_pages(staged: Path) -> None:
    """What the program knows of itself."""
    made = staged / "made"
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    text = re.sub(r"\]\((?!https?:|#)([^)]+)\)", rf"]({REPOSITORY}/\1)", text)
    (made / "contributing.md").write_text(text, encoding="utf-8")
    (made / "commands.md").write_text(commands(), encoding="utf-8")
    (made / "measures.md").write_text(measures(), encoding="utf-8")
    (made / "code.md").write_text(code_index.page(REPOSITORY), encoding="utf-8")
    (made / "python.md").write_text(python_names(), encoding="utf-8")
    (made / "studies.md").write_text(studies(), encoding="utf-8")
    study_pages.write(staged / "studies")


def commands() -> str:
    """Every command with what its `--help` says."""
    import click

    from tailback.cli import cli
    from tailback.cli.commands import COMMANDS

    lines = ["# Commands", "", "What `tailback COMMAND --help` says.", ""]
    with click.Context(cli, info_name="tailback") as top:
        for name in COMMANDS:
            command = cli.get_command(top, name)
            assert command is not None
            with click.Context(command, info_name=name, parent=top, terminal_width=100) as context:
                lines += [f"## `tailback {name}`", "", "```text", command.get_help(context), "```", ""]
    return "\n".join(lines)


def measures() -> str:
    from tailback.apps.ask.link.measures import MEASURES

    lines = [
        "# Measures of `tailback compare`",
        "",
        "[Which queue for my link](../choosing.md) says how they are judged.",
        "",
    ]
    lines += ["| measure | name | unit | better | what it is |", "|---|---|---|---|---|"]
    for m in MEASURES:
        lines.append(f"| {m.title} | `{m.name}` | {m.unit} | {m.better or 'not judged'} | {m.doc} |")
    return "\n".join([*lines, ""])


def python_names() -> str:
    """The public names with their signatures and what they say of themselves."""
    import tailback

    lines = ["# Python names", "", "What `import tailback as tb` gives.", ""]
    for name in tailback.__all__:
        if name.startswith("__"):
            continue
        value = getattr(tailback, name)
        lines += [f"## `tb.{name}`", ""]
        # A type of the extension may have no signature.
        with contextlib.suppress(ValueError, TypeError):
            lines += ["```python", f"{name}{inspect.signature(value)}", "```", ""]
        lines += ["```text", (inspect.getdoc(value) or "").strip(), "```", ""]
    return "\n".join(lines)


def studies() -> str:
    """What each study is, from its own file."""
    lines = ["# Studies, by their own files", ""]
    for file in sorted((ROOT / "python/tailback/studies").glob("*/study.toml")):
        study = tomllib.loads(file.read_text(encoding="utf-8"))
        lines += [
            f"## `{study['id']}`",
            "",
            f"**{study['title']}**",
            "",
            study["citation"],
            "",
            study["question"].strip(),
            "",
        ]
        lines += ["```text", f"tailback reproduce {study['id']} --quick", "```", ""]
        if (DOCS / f"studies/{study['id']}.md").is_file():
            lines += [f"[Its page](../studies/{study['id']}.md).", ""]
    return "\n".join(lines)


def index(staged: Path) -> str:
    """The first page, and every page under a part. What no part names stands under the last."""
    lines = [FRONT.read_text(encoding="utf-8")]
    sources = (p for p in staged.rglob("*") if p.suffix in (".md", ".ipynb"))
    left = {str(p.relative_to(staged).with_suffix("")) for p in sources} - {"index"}
    named = {name for names in PARTS.values() for name in names}
    for part, names in PARTS.items():
        pages: list[str] = []
        for name in names:
            taken = sorted(p for p in left if Path(p).match(name) and (p == name or p not in named))
            pages += taken
            left -= set(taken)
        if part == "The project":
            pages += sorted(left)
        lines += ["```{toctree}", ":hidden:", ":maxdepth: 1", f":caption: {part}", "", *pages, "```", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
