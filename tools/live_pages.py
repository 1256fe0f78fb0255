"""What a reader moves on the site: the lab as a page, and under each figure of a discipline or a transport three values
of its scenario, with two pictures. All of it is one page, `lab.html`, with the state after `#`.
"""

from __future__ import annotations

import base64
import copy
import itertools
import json
import re
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LAB = "lab.html"
#: How many values can be moved.
MOST = 3
#: Kinds of controls that are sliders.
SLIDERS = ("time", "rate", "bytes", "count", "number", "products")
#: The figure of a page.
FIGURE = re.compile(r"^!\[[^\]]*\]\(\.\./figures/(?:disciplines|transports)/[\w-]+\.png\)\n", re.MULTILINE)


@dataclass(frozen=True)
class Movable:
    """A state, the names of the controls that are shown, and the pictures."""

    state: dict[str, Any]
    controls: list[str]
    charts: list[str]

    def address(self) -> str:
        from tailback import _core

        shown = {"controls": self.controls, "charts": self.charts}
        return f"{LAB}#s={encoded({**self.state, 'version': _core.__version__, 'only': shown})}"


def encoded(value: Any) -> str:
    """As it stands in an address (`encode` in words.js)."""
    text = json.dumps(value, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def possible() -> bool:
    """Whether the engine for web pages is here."""
    from tailback.apps.lab import page

    return bool((resources.files("tailback") / "apps" / "lab" / "static" / page.ENGINE).is_file())


def movables() -> dict[str, Movable]:
    """By page, such as `disciplines/red`."""
    sys.path.insert(0, str(ROOT / "tools/figures"))
    import disciplines
    import transports

    found = {
        f"disciplines/{n}": movable(disciplines.text(n), ("queue", "goodput-0"), True) for n in disciplines.FIGURES
    }
    pictures = ("windows-0", "queue")
    found |= {f"transports/{n}": movable(transports.text(n), pictures, False) for n in transports.FIGURES}
    return found


def movable(text: str, charts: tuple[str, str], of_queue: bool) -> Movable:
    """What can be moved in a scenario: of the discipline, and the line with its flows."""
    from tailback.apps.lab.state import State, explicit
    from tailback.core.scenario.read import load_scenario

    document = explicit(json.loads(load_scenario(text).json))
    document.pop("record", None)
    state = State(document)
    sliders = [c for g in state.controls() for c in g["controls"] if c["kind"] in SLIDERS]
    own = [c for c in sliders if "queue" in c["path"] and c["path"][-1] != "buffer" and c["number"]] if of_queue else []
    counts = sorted((c for c in sliders if c["path"][-1] == "count"), key=lambda c: -(c["number"] or 1))
    line = [c for c in sliders if c["path"][0] == "link" and "queue" not in c["path"] and c["number"]]
    buffer = [c for c in sliders if c["kind"] == "products"]
    moving = (c for c in own if moves(state, c))
    chosen = [*itertools.islice(moving, MOST - 1), *counts[:1], *line[:1], *buffer, *line[1:]]
    if not of_queue:
        chosen = [*line[:1], *buffer, *counts[:1], *line[1:]]
    windows = any("cwnd" in r.scenario.json for r in state.asked("coarse"))
    names = list(dict.fromkeys(name_of(c) for c in chosen))
    return Movable(state.as_dict(), names[:MOST], list(charts if windows or of_queue else ("queue", "sojourn")))


def moves(state: Any, control: dict[str, Any]) -> bool:
    """Whether the picture depends on a value: it does at one end of the slider at least."""
    return any(seen(changed(state, control, end)) != seen(state) for end in ("least", "most"))


def seen(state: Any) -> str:
    from tailback import _core

    (run,) = state.asked("coarse")
    tables = _core.run_once(run.scenario, _core.Stop())
    assert tables is not None
    found: dict[str, str] = json.loads(_core.lab_digests(tables))
    return found["link_intervals"]


def changed(state: Any, control: dict[str, Any], end: str) -> Any:
    """The state with the value at an end of a slider."""
    from tailback.apps.lab.state import State

    number = control[end]
    units = {"time": f"{round(1e9 * number)}ns", "rate": f"{number}bps", "bytes": f"{round(number)}B"}
    document = copy.deepcopy(state.document)
    table = document
    for key in control["path"][:-1]:
        table = table[key]
    table[control["path"][-1]] = units.get(control["kind"], round(number) if control["kind"] == "count" else number)
    return State(document)


def name_of(control: dict[str, Any]) -> str:
    """What the page calls a control (`named` in controls.js)."""
    return ".".join(control["path"]) + (":products" if control["kind"] == "products" else "")


def add(staged: Path) -> None:
    """A button under the figure of each page, and the lab itself above the figure of the front page."""
    for name, moved in movables().items():
        page = staged / f"{name}.md"
        text = page.read_text(encoding="utf-8")
        assert FIGURE.search(text), f"{page} has no figure"
        put = block(f"../{moved.address()}", f"The figure of {name.partition('/')[2]}, to be moved", now=False)
        page.write_text(FIGURE.sub(lambda m, put=put: f"{m[0]}\n{put}", text, count=1), encoding="utf-8")
    front = staged / "index.md"
    text = front.read_text(encoding="utf-8")
    assert "```{figure}" in text
    put = block(front_page().address(), "Ten flows behind drop-tail and behind CoDel, to be moved", now=True)
    front.write_text(text.replace("```{figure}", f"{put}\n```{{figure}}", 1), encoding="utf-8")


def start() -> dict[str, Any]:
    """The state with which the lab begins."""
    from tailback.cli.scenarios.lab import state_of

    return state_of(None, (), None).as_dict()


def front_page() -> Movable:
    return Movable(
        start(),
        ["link.bottleneck.rate", "flows.bulk.count", "link.bottleneck.queue.buffer:products"],
        ["queue", "sojourn"],
    )


def block(address: str, title: str, now: bool) -> str:
    what = f'class="move-it" data-address="{address}" data-title="{title}"{" data-now" if now else ""}'
    return f'```{{raw}} html\n<div {what}><button type="button">Move it yourself</button></div>\n```\n'


def write_lab(out: Path) -> None:
    from tailback.apps.lab import export
    from tailback.apps.lab.state import State

    (out / LAB).write_text(export.with_engine(State.of(start()), None), encoding="utf-8")
