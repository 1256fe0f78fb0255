#!/usr/bin/env python3
"""A fact stands in the row of its thing: what the code may not repeat, held by what `tailback describe` declares.

    tools/house_rules.py [ROOT]       the package below ROOT, this checkout without it

Exit status 1 and a line for each finding. What is asked of python/tailback, and R1 of crates/ too:

* R1: the name of a model that is declared (a discipline, a control, a transport) stands as a string in its own file, in
  registries, scenarios, studies, examples and tests. `LEFT` has the files that still name some, each with how many: a
  file may get better, not worse.
* R2: nothing that was formatted is cut apart again: `partition`, `split`, `removesuffix` and their kin get no words of
  English, no sign of a formatted number.
* R3: the words of a column stand in its declaration: no string elsewhere is the title of a column.
* R4: a law is one function: no two functions of several statements have the same body.
* R5: an application (a room of `apps/`) imports libraries, and no other application.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

#: Words that are names of models and of much else, so that a string says nothing.
EVERYDAY = {
    "binomial",
    "blue",
    "bulk",
    "bursts",
    "cbr",
    "fixed",
    "fq",
    "generic",
    "green",
    "jitter",
    "loss",
    "pi",
    "poisson",
    "port",
    "priority",
    "red",
    "reorder",
    "scalable",
    "search",
    "step",
    "video",
    "voice",
    "web",
}
#: Where names of models belong: what is chosen, not what is known.
FREE = ("studies", "examples", "tours", "demo")
#: Texts of libraries, which say something in words alone.
OF_LIBRARIES = ("python/tailback/core/declared.py",)
#: Files with names that are left, and how many.
LEFT: dict[str, int] = {
    "crates/tailback-scenario/src/read/advice/flows.rs": 3,
    "crates/tailback-path/src/path.rs": 1,
    "crates/tailback-queue/src/aqm/colours/mred.rs": 1,
    "crates/tailback-queue/src/aqm/load/blue.rs": 1,
    "crates/tailback-queue/src/fair/sfq.rs": 1,
    "crates/tailback-queue/src/fifo/front_drop.rs": 1,
    "crates/tailback-queue/src/fifo/random_drop.rs": 1,
    "crates/tailback-queue/src/linux.rs": 1,
    "crates/tailback-queue/src/params.rs": 1,
    "crates/tailback-transport/src/dialogues/packetdrill/packet.rs": 1,
    "crates/tailback-transport/src/tcp/choices.rs": 1,
    "python/tailback/runs/builder.py": 5,
    "python/tailback/cli/which_queue/predict/assured.py": 1,
    "python/tailback/cli/which_queue/home.py": 1,
    "python/tailback/cli/scenarios/lab.py": 1,
    "python/tailback/cli/packets/live.py": 1,
    "python/tailback/cli/which_queue/predict/__init__.py": 3,
    "python/tailback/cli/which_queue/predict/steady.py": 2,
    "python/tailback/apps/ask/link/candidates.py": 8,
    "python/tailback/apps/ask/link/link.py": 2,
    "python/tailback/apps/ask/link/rack.py": 1,
    "python/tailback/apps/ask/link/switches.py": 9,
    "python/tailback/apps/ask/link/traffic.py": 4,
    "python/tailback/apps/ask/link/words.py": 3,
    "python/tailback/apps/conformance/aqm.py": 2,
    "python/tailback/apps/conformance/ours.py": 2,
    "python/tailback/apps/conformance/packetdrill/settings.py": 1,
    "python/tailback/apps/gym/task.py": 5,
    "python/tailback/apps/ask/home/answer.py": 1,
    "python/tailback/apps/ask/home/candidates.py": 3,
    "python/tailback/apps/ask/home/line.py": 1,
    "python/tailback/apps/ask/home/traffic.py": 6,
    "python/tailback/linux/forms.py": 1,
    "python/tailback/linux/kernel.py": 3,
    "python/tailback/linux/openwrt.py": 3,
    "python/tailback/linux/shaper.py": 1,
    "python/tailback/runs/live/behind/line.py": 2,
    "python/tailback/runs/live/behind/report.py": 2,
    "python/tailback/runs/live/behind/servers.py": 3,
    "python/tailback/runs/live/iperf.py": 1,
    "python/tailback/runs/live/kernel_queue.py": 1,
    "python/tailback/runs/live/layout.py": 3,
    "python/tailback/runs/live/machine.py": 2,
    "python/tailback/study/checks/predicted.py": 2,
}
#: Functions shorter than this may be alike, in nodes of their syntax.
LAW_NODES = 40
#: Where Rust lists models, and what is not the product.
REGISTRY = re.compile(
    r"/(?:registry|list|ports|catalogue|profiles|outside)\.rs$|/tests?/|_tests?\.rs$|/tests\.rs$|/testing"
)
CUTTING = ("partition", "rpartition", "split", "rsplit", "removeprefix", "removesuffix")


def names() -> set[str]:
    """The names of models that are declared, as `tailback describe --json` has them."""
    from tailback import describe

    families = ("queue", "aqm", "congestion", "transport", "scheduler", "policy")
    declared = {m["name"] for f in describe() if f["family"] in families for m in f["models"]}
    return declared - EVERYDAY


def titles() -> set[str]:
    """The words of columns, of several words: one word may mean anything."""
    from tailback.core.results.columns import tables

    columns = [c for t in tables().values() for c in t.columns.values()]
    return {w.lower() for c in columns for w in (c.title, c.quantity) if " " in w and c.shown}


def own(path: Path, name: str) -> bool:
    """Whether a file or its folder is called after a model."""
    stem = name.replace("-", "_")
    return any(part.startswith(stem) for part in (path.stem, *path.parts))


def strings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Strings that are values: no docstrings, no parts of formatted text."""
    inside = {id(v) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for v in n.values}
    docs = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for n in ast.walk(tree):
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in inside | docs:
            yield n


def r1(path: Path, tree: ast.AST, declared: set[str]) -> Iterator[str]:
    if any(part in FREE for part in path.parts):
        return
    named = [n for n in strings(tree) if n.value in declared and not own(path, n.value)]
    if len(named) > LEFT.get(str(path), 0):
        for n in named:
            yield f'R1 {path}:{n.lineno}: the name "{n.value}"; ask a fact of its row instead'


def r1_of_rust(path: Path, text: str, declared: set[str]) -> Iterator[str]:
    """The same in Rust, outside of tests, comments, declarations and defaults of parameters."""
    if REGISTRY.search(str(path)):
        return
    named = []
    for number, line in enumerate(text.split("#[cfg(test)]\nmod ")[0].split("\n"), 1):
        code = line.split("//")[0]
        if "Param::new" in code or "default" in code:
            continue
        for name in re.findall(r'(?<!name: )"([a-z0-9-]+)"', code):
            if name in declared and not own(path, name):
                named.append((number, name))
    if len(named) > LEFT.get(str(path), 0):
        for number, name in named:
            yield f'R1 {path}:{number}: the name "{name}"; ask a fact of its row instead'


def r2(path: Path, tree: ast.AST) -> Iterator[str]:
    for n in ast.walk(tree):
        if not (isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in CUTTING and n.args):
            continue
        given = n.args[0]
        if isinstance(given, ast.Constant) and isinstance(given.value, str) and formatted(given.value):
            yield f"R2 {path}:{n.lineno}: {n.func.attr}({given.value!r}) cuts formatted text apart; hand its parts on"
        elif isinstance(n.func.value, ast.Attribute) and n.func.value.attr in ("title", "doc", "summary"):
            yield f"R2 {path}:{n.lineno}: a {n.func.value.attr} is cut apart; hand its parts on"


def formatted(text: str) -> bool:
    """Whether words of English or a formatted number are looked for."""
    return "\N{PLUS-MINUS SIGN}" in text or re.search(r"[ ,(][a-z]{2,}|[a-z]{2,} ", text) is not None


def r3(path: Path, tree: ast.AST, words: set[str]) -> Iterator[str]:
    for n in strings(tree):
        if n.value.lower() in words:
            yield f'R3 {path}:{n.lineno}: "{n.value}" is the word of a column; read it from its declaration'


class Unnamed(ast.NodeTransformer):
    """The same body, whatever its names are."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name("x", node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg("x")


def laws(path: Path, tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Each function with arithmetic in it: its body without names, and where it is."""
    for n in ast.walk(tree):
        if isinstance(n, ast.FunctionDef):
            doc = isinstance(n.body[0], ast.Expr) and isinstance(n.body[0].value, ast.Constant)
            body = n.body[1:] if doc else n.body
            size = sum(1 for part in body for _ in ast.walk(part))
            if size >= LAW_NODES:
                yield "".join(ast.dump(Unnamed().visit(part)) for part in body), f"{path}:{n.lineno}: {n.name}"


def r5(path: Path, tree: ast.AST) -> Iterator[str]:
    """`path` is python/tailback/apps/APPLICATION/..., or a file of another wing, of which this asks nothing."""
    if "apps" not in path.parts:
        return
    own = path.parts[path.parts.index("apps") + 1].removesuffix(".py")
    for n in ast.walk(tree):
        names = [a.name for a in n.names] if isinstance(n, ast.Import) else []
        if isinstance(n, ast.ImportFrom):
            names = [f"{n.module}.{a.name}" for a in n.names]
        for name in names:
            parts = name.split(".")
            if parts[:2] == ["tailback", "apps"] and parts[2:3] != [own]:
                yield f"R5 {path}:{n.lineno}: an application imports {name}; move what both need into a library"


def findings(root: Path) -> Iterator[str]:
    declared, words = names(), titles()
    package = root / "python" / "tailback"
    for file in sorted((root / "crates").glob("*/src/**/*.rs")):
        yield from r1_of_rust(file.relative_to(root), file.read_text(encoding="utf-8"), declared)
    seen: dict[str, str] = {}
    for file in sorted(package.rglob("*.py")):
        path, tree = file.relative_to(root), ast.parse(file.read_text(encoding="utf-8"))
        yield from r1(path, tree, declared)
        yield from r5(path, tree)
        if "studies" not in path.parts:
            if str(path) not in OF_LIBRARIES:
                yield from r2(path, tree)
            # A study has words of its own, those of its source.
            if "study" not in path.parts:
                yield from r3(path, tree, words)
            for body, where in laws(path, ast.parse(file.read_text(encoding="utf-8"))):
                if body in seen and not seen[body].startswith(f"{path}:"):
                    yield f"R4 {where} is {seen[body]} once more; one of them calls the other"
                seen.setdefault(body, where)


def main() -> int:
    root = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).resolve().parents[1]
    found = list(findings(root))
    print("\n".join(found) if found else "each fact stands once")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
