"""Laws that hold in every run: drawn networks break none, and a run that breaks one leaves what is to be sent."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import tailback as tb
from tailback import _core

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))
import networks


def test_drawn_networks_break_no_law() -> None:
    count, wrong = networks.tries((1, 300))
    assert wrong == []
    kinds = [k for k in count if k.startswith("queue ")]
    assert count["run"] == 300 and len(kinds) >= 49


@pytest.mark.parametrize("queue", ["droptail", "codel", "cake"])
def test_with_laws_a_run_says_the_same(queue: str) -> None:
    net = tb.dumbbell(queue=queue)
    kept, checked = (tb.run(net, duration="1s", check_laws=on).results for on in (False, True))
    assert all(getattr(kept, name) == getattr(checked, name) for name in _core.TABLES[1:])


def test_a_failed_run_leaves_its_scenario_with_its_seed(tmp_path: Path, monkeypatch) -> None:
    from tailback.runs.campaign.left import leave

    net = tb.dumbbell(queue="codel").set(duration="1s")
    plan = tb.Plan([({"k": "1"}, net)], replications=2, seed=7)

    class Failed:
        """A result whose second run has failed."""

        runs = plan.execute().runs

    rows = Failed.runs.rows()
    failed = [{**r, "status": "failed" if r["seed"] == 8 else "done"} for r in rows]
    monkeypatch.setattr(Failed, "runs", type("Rows", (), {"rows": lambda self: failed})())
    said = leave(plan, Failed, tmp_path)
    (file,) = tmp_path.glob("failed-*.toml")
    assert said == f"; the scenario with this seed is in {file}"
    assert tb.load_scenario(file).seed == 8
