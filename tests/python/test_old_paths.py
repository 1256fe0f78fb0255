"""Paths from before the package had wings: each still leads to the same thing, and has nothing of its own."""

from __future__ import annotations

import ast
import importlib
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "python/tailback"
#: Old paths below `tailback`, with the room that each is now, and the modules in it that have old paths too.
MOVED = {
    "ask": ("apps.ask", ""),
    "builder": ("runs.builder", ""),
    "campaign": ("runs.campaign", "load memory plan sweep"),
    "comparison": ("apps.ask.link", "answer compared"),
    "conformance": ("apps.conformance", ""),
    "demo": ("apps.demo", ""),
    "extension": ("core.extension", ""),
    "figure_style": ("core.figure_style", ""),
    "gym": ("apps.gym", "envs many policy task"),
    "home": ("apps.ask.home", "answer compared line"),
    "lab": ("apps.lab", "notebook tours"),
    "live": ("runs.live", ""),
    "plots": ("show.plots", "published style"),
    "report": ("show.report", "shown_table"),
    "result": ("runs.result", ""),
    "results": ("core.results", "columns difference stored"),
    "scenario": ("core.scenario", "amounts controls read reference"),
    "stats": ("core.stats", ""),
    "store": ("core.store", "paths sources"),
    "text": ("core.text", ""),
    "theory": ("core.theory", "allocation emodel memory predict redn steady"),
    "verdict": ("core.verdict", "told"),
}
PATHS = {old: new for old, (new, _) in MOVED.items()}
PATHS |= {f"{old}.{part}": f"{new}.{part}" for old, (new, parts) in MOVED.items() for part in parts.split()}
PATHS["campaign.declared"] = "core.declared"


def file_of(old: str) -> Path:
    whole = PACKAGE / old.replace(".", "/")
    return whole / "__init__.py" if whole.is_dir() else whole.with_suffix(".py")


def public(module: object) -> dict[str, object]:
    """The names that `import *` gives, without modules of a package, which have paths of their own."""
    names = getattr(module, "__all__", None)
    named = {n: v for n, v in vars(module).items() if (n in names if names is not None else n[0] != "_")}
    return {n: v for n, v in named.items() if not isinstance(v, ModuleType)}


@pytest.mark.parametrize("old", PATHS)
def test_an_old_path_leads_to_the_same_things(old: str) -> None:
    if old.startswith("gym"):
        pytest.importorskip("gymnasium")
    before, now = (importlib.import_module(f"tailback.{path}") for path in (old, PATHS[old]))
    assert getattr(before, "__all__", None) == getattr(now, "__all__", None)
    for name, thing in public(now).items():
        assert getattr(before, name) is thing, name


@pytest.mark.parametrize("old", PATHS)
def test_an_old_path_has_nothing_of_its_own(old: str) -> None:
    text = file_of(old).read_text()
    assert len(text.split("\n")) < 15
    kinds = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr)
    assert all(isinstance(node, kinds) for node in ast.parse(text).body)
    assert f"The old import path of `tailback.{PATHS[old]}`." in text


def test_no_old_path_is_forgotten() -> None:
    marked = {f for f in PACKAGE.rglob("*.py") if "The old import path of" in f.read_text().split("\n", 1)[0]}
    assert marked == {file_of(old) for old in PATHS}


@pytest.mark.parametrize(
    "code",
    [
        "import tailback.theory.steady as s; s.Ramp",
        "from tailback.theory.steady import Ramp, red_equilibrium",
        "import tailback; import tailback.plots; tailback.plots.over",
        "from tailback import stats; stats.estimate",
        "from tailback.theory import predict; predict.__name__",
        "from tailback.campaign.sweep import Sweep; import tailback as tb; assert Sweep is tb.Sweep",
        "from tailback.result import Result; import tailback as tb; assert tb.run and Result is tb.Result",
        "import tailback.runs.campaign.plan; import tailback as tb; assert callable(tb.run) and callable(tb.compare)",
    ],
)
def test_programs_from_before_run(code: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60)


def test_what_was_pickled_under_an_old_path_is_read() -> None:
    from tailback.runs.result import RunError

    old = pickle.dumps(RunError, protocol=0).replace(b"tailback.runs.result", b"tailback.result")
    assert b"tailback.result" in old and pickle.loads(old) is RunError
