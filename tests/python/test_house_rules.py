"""The rules of `tools/house_rules.py`: this checkout holds them, and an offence of each kind is found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import house_rules  # noqa: E402

LAW = """
def weight(rate_bps, packet_bytes):
    packets_per_second = rate_bps / (8 * packet_bytes)
    forgotten = 2.718281828 ** (-1.0 / packets_per_second)
    exact = 1.0 - forgotten
    nearest = 2.0 ** -round(-3.321928 * exact)
    return max(nearest, 2.0 ** -32)
"""

OFFENCES = {
    "R1": {"a.py": 'AQM = ("codel", "pie")\n'},
    "R2": {"a.py": 'mean, _, half = text.partition(" \N{PLUS-MINUS SIGN}")\n'},
    "R2 of a title": {"a.py": 'loads = measure.title.rsplit(" ", 1)[1]\n'},
    "R3": {"a.py": 'HEADS = ["mean queue", "drops"]\n'},
    "R5": {"apps/lab/a.py": "from tailback.apps.demo.page import page\n"},
    "R5 of a whole": {"apps/lab/a.py": "def f():\n    from tailback.apps import gym\n"},
    "R4": {"a.py": LAW, "b.py": LAW.replace("weight", "slowness").replace("forgotten", "kept")},
}


def planted(root: Path, files: dict[str, str]) -> list[str]:
    package = root / "python" / "tailback" / "room"
    package.mkdir(parents=True)
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    return list(house_rules.findings(root))


@pytest.mark.parametrize("rule", OFFENCES)
def test_an_offence_is_found(rule: str, tmp_path: Path) -> None:
    offences = planted(tmp_path, OFFENCES[rule])
    assert offences and all(o.startswith(rule[:2]) for o in offences), offences


def test_what_is_allowed_is_not_found(tmp_path: Path) -> None:
    allowed = {
        # A file that is called after its model, text of a program, a label, and a law that calls another.
        "codel_page.py": 'NAME = "codel"\n',
        "b.py": 'host = line.removeprefix("flows.").split(":")[0]\nkinds = {"text": "queue"}\n',
        "c.py": LAW,
        # An application, its own rooms, and libraries.
        "apps/ask/home/e.py": "from tailback.apps.ask import ranking\nfrom tailback.show import plots\n",
        "d.py": "from c import weight\n\n\ndef of_link(link):\n    return weight(link.rate_bps, link.packet_bytes)\n",
    }
    assert planted(tmp_path, allowed) == []


def test_this_checkout_holds_them() -> None:
    assert list(house_rules.findings(ROOT)) == []
