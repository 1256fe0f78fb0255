"""The lab in Chromium: what is drawn, tours, keys, widths, colour schemes, accessibility, the file without a server.

Without Selenium, Chromium and its driver these tests are skipped.
"""

from __future__ import annotations

import base64
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import CHROMIUM, DRIVER, MISSING, READY, SCENARIO, Page, chromium
from conftest import Cli

from tailback.apps.lab import tours
from tailback.apps.lab.conversation import hello
from tailback.apps.lab.page import module
from tailback.apps.lab.runs import LabOrder, made_of
from tailback.apps.lab.state import State, explicit

pytestmark = pytest.mark.slow
pytest.importorskip("starlette")
pytest.importorskip("selenium")
if CHROMIUM is None or DRIVER is None:
    pytest.skip(MISSING, allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("lab")
    (folder / "s.toml").write_text(SCENARIO)
    process = Cli(folder).start("lab", "s.toml", "--beside", "codel", "--no-browser")
    assert process.stdout is not None
    yield process.stdout.readline().split()[-1]
    process.terminate()
    process.communicate(timeout=10)


def test_the_token_leaves_the_address_and_the_page_is_drawn(page: Page, address: str) -> None:
    page.open(address)
    assert "token" not in page.run("return location.href") and page.run("return document.referrer") == ""
    drawn = page.run(
        "const colours = (c) => new Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size;"
        "const all = [...document.querySelectorAll('.chart canvas')];"
        "return Object.fromEntries(all.map((c) => [c.closest('.chart').dataset.chart, colours(c)]))"
    )
    assert set(drawn) == {"queue", "sojourn", "windows-0", "windows-1", "goodput-0", "goodput-1", "delay", "decisions"}
    # More than one colour: there are lines.
    assert all(colours > 3 for colours in drawn.values())
    assert page.errors() == []


def test_an_older_answer_is_never_drawn(page: Page, address: str) -> None:
    page.open(address)
    seen = page.dragged()
    assert all(drawn == newest for drawn, newest, _ in seen)
    assert [mode for _, _, mode in seen].count("coarse") > 3 and seen[-1][2] == "full"


def test_coarse_is_said_and_marked(page: Page, address: str) -> None:
    page.open(address)
    page.run(
        "const s = document.getElementById('c-duration'); s.value = 900;"
        "s.dispatchEvent(new Event('input', { bubbles: true }));"
    )
    page.wait("window.tailbackLab.picture.mode === 'coarse' && !window.tailbackLab.flying")
    assert page.run("return document.querySelector('.status').textContent").startswith("coarse: the first ")
    assert page.run("return getComputedStyle(document.querySelector('.chart')).borderTopStyle") == "dashed"


def test_back_and_forward_step_through_states(page: Page, address: str) -> None:
    page.open(address)
    choose = (
        "const s = document.getElementById('c-link-bottleneck-queue'); s.value = JSON.stringify(arguments[0]);"
        "s.dispatchEvent(new Event('change', { bubbles: true }));"
    )
    for kind in ("pie", "fq-codel"):
        page.run(choose, kind)
        page.wait(f"{READY} && window.tailbackLab.picture.runs[0].queue === '{kind}'")
    for button, kind in (("back", "pie"), ("back", "red"), ("forth", "pie")):
        page.run(f"window.tailbackLab.{button}.click()")
        page.wait(f"{READY} && window.tailbackLab.picture.runs[0].queue === '{kind}'")
    page.run(choose, "droptail")
    page.wait(f"{READY} && window.tailbackLab.picture.runs[0].queue === 'droptail'")
    assert page.run("return window.tailbackLab.forth.disabled")
    # A link shows the same state in another tab of this browser, and has no token.
    page.run("window.tailbackLab.copy({ value: 'link' })")
    link = page.run("return window.tailbackLab.copied")
    assert "token" not in link
    page.open(link)
    assert page.run("return window.tailbackLab.picture.runs.map(r => r.queue)") == ["droptail", "codel"]


def test_a_wrong_value_is_refused_with_the_message_of_a_file(page: Page, address: str) -> None:
    page.open(address)
    page.run(
        "const t = document.querySelector('#c-link-bottleneck-rate ~ .exact'); t.value = '10 metres';"
        "t.dispatchEvent(new Event('change', { bubbles: true }));"
    )
    page.wait("!document.querySelector('.error').hidden")
    assert "= help:" in page.run("return document.querySelector('.error').textContent")


@pytest.mark.parametrize("tour", tours.listed(), ids=lambda t: t["name"])
def test_a_tour_is_played(page: Page, address: str, tour: dict[str, str]) -> None:
    page.open(address)
    page.run(
        "const s = document.querySelector('[aria-label=Tour]'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('change', { bubbles: true }));",
        tour["name"],
    )
    page.wait("document.querySelector('.tour')")
    # It asks before it shows: no picture is seen until the prediction is made.
    assert not page.run("return [...document.querySelectorAll('.chart, .numbers')].some((e) => e.offsetParent)")
    found = tours.find(tour["name"])
    queues = [found.scenario["link"]["bottleneck"]["queue"]["kind"], found.beside["kind"] if found.beside else None]
    shown = json.dumps(json.dumps(queues, separators=(",", ":")))
    page.wait(f"{READY} && JSON.stringify(tailbackLab.picture.runs.map((r) => r.queue)) === {shown}", 60)
    right = next(i for i, c in enumerate(found.choices) if c.right)
    for choice, said in ((1 - right if right < 2 else 0, "Not as predicted."), (right, "As predicted.")):
        page.run("document.querySelectorAll('.tour input')[arguments[0]].click()", choice)
        assert said in page.run("return document.querySelector('.answer').innerText")
    text = page.run("return document.querySelector('.tour').innerText")
    assert found.study.says in text and found.why in text
    for checked in tours.shown(found)["checked"]:
        assert checked["said"] in text
    assert page.run("return [...document.querySelectorAll('.chart')].some((e) => e.offsetParent)")
    if found.study.points:
        assert page.run("return document.querySelectorAll('.study-plot canvas').length") == 1


def test_the_keyboard_alone_reaches_and_moves_everything(page: Page, address: str) -> None:
    from selenium.webdriver.common.keys import Keys

    page.open(address)
    reached = set()
    for _ in range(120):
        page.press(Keys.TAB)
        name = page.run(
            "const e = document.activeElement; return e.id || e.dataset.chart || e.className || e.textContent"
        )
        if name in reached and name == "Back":
            break
        reached.add(name)
    assert {"c-link-bottleneck-rate", "c-link-bottleneck-queue", "watch-packets"} <= reached
    assert page.run("return [...document.querySelectorAll('.plot')].every(p => p.tabIndex === 0)")
    # A slider by its keys.
    page.run("document.getElementById('c-link-bottleneck-rate').focus()")
    before = page.run("return window.tailbackLab.input")
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    page.wait(f"{READY} && window.tailbackLab.input > {before}")
    # The values along a picture, and the packets at the instant.
    page.run(
        "document.getElementById('watch-packets').click(); document.querySelector('[data-chart=queue] .plot').focus()"
    )
    page.press(*[Keys.ARROW_RIGHT] * 30)
    said = page.run("return document.querySelector('[data-chart=queue] .values').textContent")
    assert "red" in said and "codel" in said and "packets" in said
    page.wait("document.querySelector('.packets-found')")
    assert "packets wait" in page.run("return document.querySelector('.packets-found p').textContent")


def test_packets_come_soon_after_the_pointer(page: Page, address: str) -> None:
    page.open(address)
    waits = []
    page.run("document.getElementById('watch-packets').click()")
    page.wait("document.querySelector('.packets-found')")
    for instant in (1.0, 5.0, 4.9, 2.0, 5.5, 0.3):
        page.run("window.tailbackLab.packets_ms = 0; window.tailbackLab.pointed(arguments[0])", instant)
        page.wait("window.tailbackLab.packets_ms > 0")
        assert f"at {instant:.4f} s" in page.run("return document.querySelector('.packets-found p').textContent")
        waits.append(page.run("return window.tailbackLab.packets_ms"))
    # The middle of them, for other work of the machine.
    assert sorted(waits)[len(waits) // 2] < 200, waits


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280, 2560])
def test_pages_fit_and_are_accessible(page: Page, address: str, width: int, scheme: str) -> None:
    page.open(address, width, scheme)
    page.run("document.getElementById('watch-packets').click()")
    page.run("window.tailbackLab.carrier.send({ do: 'tour', name: 'codel-square-root' })")
    page.wait("document.querySelector('.packets-found') && document.querySelector('.tour')")
    page.run("document.querySelectorAll('.tour input')[1].click()")
    page.run("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    page.wait(READY)
    assert page.run("return document.documentElement.scrollWidth") <= width
    assert page.inaccessible() == []
    assert page.errors() == []


def test_a_file_opens_without_a_server(page: Page, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    axes = ["--axis", "link.bottleneck.queue.buffer=20 packets,60 packets", "--axis"]
    axes.append("link.bottleneck.rate=5Mbps,10Mbps,20Mbps")
    cli("lab", tmp_path / "s.toml", "--beside", "codel", *axes, "--export", tmp_path / "lab.html", check=True)
    page.open((tmp_path / "lab.html").as_uri())
    assert page.run("return window.tailbackLab.picture.runs.length") == 2
    rate = page.run("return window.tailbackLab.picture.runs[0].link.rate_bps")
    page.run(
        "const s = document.querySelectorAll('.controls select')[1]; s.selectedIndex = 2;"
        "s.dispatchEvent(new Event('change', { bubbles: true }));"
    )
    page.wait(f"{READY} && window.tailbackLab.picture.runs[0].link.rate_bps === {2 * rate}")
    page.run("window.tailbackLab.go(-1)")
    page.wait(f"{READY} && window.tailbackLab.picture.runs[0].link.rate_bps === {rate}")
    assert page.errors() == []


def test_the_widget_draws_what_the_kernel_sends(page: Page, tmp_path: Path) -> None:
    """The module that a notebook loads, with a model of anywidget's kind."""
    state = State(explicit(tomllib.loads(SCENARIO)), {"kind": "codel"})
    (tmp_path / "widget.html").write_text("<!doctype html><html lang=en><title>t</title><body><div id=cell></div>")
    page.driver.get((tmp_path / "widget.html").as_uri())
    page.driver.execute_async_script(
        """
        const [script, hello, done] = arguments;
        window.sent = [];
        const model = {
          get: (name) => ({ hello, engine: "", worker: "" })[name],
          send: (message) => sent.push(message),
          on: (event, f) => (window.receive = (text) => {
            const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
            f({}, [new DataView(bytes.buffer)]);
          }),
          off: () => (window.left = true),
        };
        import(URL.createObjectURL(new Blob([script], { type: "text/javascript" }))).then((m) => {
          window.leave = m.default.render({ model, el: document.getElementById("cell") });
          done();
        });
        """,
        module(),
        hello(state),
    )
    (asked,) = page.run("return window.sent")
    order = LabOrder(asked["input"], State.of(asked["state"]), asked["mode"], asked["columns"])
    page.run("window.receive(arguments[0])", base64.b64encode(made_of(order) or b"").decode())
    page.wait("document.querySelectorAll('#cell .chart canvas').length === 8")
    assert page.run("return document.querySelector('#cell .numbers').innerText").startswith("Numbers")
    page.run("window.leave()")
    assert page.run("return window.left")
