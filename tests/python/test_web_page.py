"""The lab with the engine inside, in Chromium: an exported file, links, tours, packets, what is refused, and the values
that move under the figures of the site.

TAILBACK_POSITIONS: at how many drawn positions the numbers under each figure are compared with the program's, by
default one.
"""

from __future__ import annotations

import base64
import json
import os
import random
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import CHROMIUM, DRIVER, MISSING, READY, SCENARIO, Page, chromium
from conftest import Cli

import tailback as tb
from tailback.apps.lab import export, page, tours
from tailback.apps.lab.frames import unpack
from tailback.apps.lab.runs import LabOrder, made_of
from tailback.apps.lab.state import State, explicit

pytestmark = pytest.mark.slow
pytest.importorskip("selenium")
ROOT = Path(__file__).resolve().parents[2]
if not (resources.files("tailback") / "apps" / "lab" / "static" / page.ENGINE).is_file():
    pytest.skip("the engine for web pages is not here: `make engine` says why", allow_module_level=True)
if CHROMIUM is None or DRIVER is None:
    pytest.skip(MISSING, allow_module_level=True)
POSITIONS = int(os.environ.get("TAILBACK_POSITIONS", "1"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("web")
    (folder / "s.toml").write_text(SCENARIO)
    Cli(folder)("lab", "s.toml", "--beside", "codel", "--export", "lab.html", check=True)
    return folder / "lab.html"


def moved(browser: Page, control: str, place: int) -> None:
    """Drag a slider to a place and let go."""
    browser.run(
        "const s = document.getElementById(arguments[0]); s.value = arguments[1];"
        "for (const name of ['input', 'change']) s.dispatchEvent(new Event(name, { bubbles: true }));",
        control,
        place,
    )
    browser.wait(READY)


def chosen(browser: Page, label: str, value: str) -> None:
    browser.run(
        "const s = document.querySelector(`[aria-label=${arguments[0]}]`); s.value = arguments[1];"
        "s.dispatchEvent(new Event('change', { bubbles: true }));",
        label,
        value,
    )


def numbers_of(document: dict[str, Any], link: str) -> dict[str, Any]:
    """The row of a link as `tailback run` has it."""
    table = tb.run({k: v for k, v in document.items() if k != "record"}).links.where(name=link)
    return {name: table[name][0] for name in table.columns if name in ("utilisation", "dropped_packets", "loss_rate")}


def same_numbers(browser: Page) -> None:
    """What the page shows is what `tailback run` of its state computes."""
    state, link, shown = browser.run(
        "const l = window.tailbackLab; return [l.state, l.picture.link, l.picture.runs.map((r) => r.link)]"
    )
    for document, row in zip(State.of(state).documents(), shown, strict=True):
        for name, value in numbers_of(document, link).items():
            expected = None if value != value else value
            assert row[name] == expected, (name, row[name], expected)


def test_the_pictures_of_two_disciplines_are_those_of_the_program(browser: Page, file: Path) -> None:
    """Each is run by a worker of its own, and the pictures are joined."""
    browser.open(file.as_uri())
    state, columns = browser.run("const l = window.tailbackLab; return [l.state, l.queue.frame.clientWidth]")
    header, numbers = unpack(made_of(LabOrder(1, State.of(state), "full", columns)) or b"")
    for number, run in enumerate(header["runs"]):
        places = [*run["decisions"].values(), *run["sojourn"].values(), *run["delay"].values(), run["flows"]["goodput"]]
        places += [s[k] for s in run["series"] for k in ("t", "v")]
        shown = browser.run(
            "const l = window.tailbackLab, r = l.picture.runs[arguments[0]];"
            "const part = (p) => Array.from(l.part(p), String);"
            "const all = [r.decisions, r.sojourn, r.delay].flatMap((x) => Object.values(x));"
            "return [...all, r.flows.goodput, ...r.series.flatMap((s) => [s.t, s.v])].map(part);",
            number,
        )
        for place, values in zip(places, shown, strict=True):
            expected = numbers[place[0] : place[0] + place[1]]
            assert np.array_equal(np.array(values, "<f4"), expected, equal_nan=True)


def test_an_exported_file_has_every_slider_and_the_numbers_of_the_program(browser: Page, file: Path) -> None:
    assert file.stat().st_size < 2_000_000
    browser.open(file.as_uri())
    same_numbers(browser)
    before = browser.run("return window.tailbackLab.picture.runs[0].link.rate_bps")
    moved(browser, "c-link-bottleneck-rate", 800)
    assert browser.run("return window.tailbackLab.picture.runs[0].link.rate_bps") > 1.5 * before
    same_numbers(browser)
    assert browser.errors() == []


def test_an_older_answer_is_never_drawn_and_coarse_comes_first(browser: Page, file: Path) -> None:
    browser.open(file.as_uri())
    seen = browser.dragged()
    assert all(drawn == newest for drawn, newest, _ in seen)
    assert [mode for _, _, mode in seen].count("coarse") > 3 and seen[-1][2] == "full"


def test_a_long_run_gives_way_to_a_newer_one(browser: Page, file: Path) -> None:
    browser.open(file.as_uri())
    waited = browser.driver.execute_async_script(
        """
        const done = arguments[0], lab = window.tailbackLab;
        lab.state = JSON.parse(JSON.stringify(lab.state));
        lab.state.document.duration = "20000s";
        lab.full(performance.now());
        setTimeout(() => {
          lab.state = JSON.parse(JSON.stringify(lab.state));
          lab.state.document.duration = "2s";
          const began = performance.now();
          lab.full(began);
          const end = () => (lab.flying ? setTimeout(end, 5) : done(performance.now() - began));
          end();
        }, 300);
        """
    )
    # A hundred thousand packets a second would take minutes.
    assert waited < 5000 and browser.run("return window.tailbackLab.picture.seconds") == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("d.duration = 'long'", '"long" is not a time'),
        ("d.flows.bulk.count = 2000000", "GB of memory"),
        ("d.link.bottleneck.rate = '400Gbps'; d.duration = '3600s'", "a page runs at most"),
        ("d.flows.bulk = { tcp: { congestion: 'mine' } }", "there is no congestion"),
    ],
)
def test_what_a_page_cannot_run_is_said_before_it_is_run(browser: Page, file: Path, change: str, said: str) -> None:
    browser.open(file.as_uri())
    browser.run(
        "const lab = window.tailbackLab; lab.state = JSON.parse(JSON.stringify(lab.state));"
        f"const d = lab.state.document; {change}; lab.full(performance.now());"
    )
    browser.wait("!document.querySelector('.error').hidden")
    assert said in browser.run("return document.querySelector('.error').textContent")
    # And it goes on.
    browser.run("window.tailbackLab.go(-1)")
    browser.wait(READY)


def test_a_link_opens_as_it_was(browser: Page, file: Path) -> None:
    browser.open(file.as_uri())
    moved(browser, "c-link-bottleneck-rate", 700)
    before = browser.run("return JSON.stringify(window.tailbackLab.picture.runs.map((r) => [r.queue, r.link]))")
    chosen(browser, "Copy", "link")
    link = browser.run("return window.tailbackLab.copied")
    assert link.startswith(file.as_uri() + "#s=")
    browser.open(link)
    assert browser.run("return JSON.stringify(window.tailbackLab.picture.runs.map((r) => [r.queue, r.link]))") == before
    assert browser.run("return document.querySelector('.error').hidden")
    # Of another version it says so; what is no state is said, and the page begins with its own.
    state = json.loads(base64.urlsafe_b64decode(link.partition("#s=")[2] + "=="))
    other = base64.urlsafe_b64encode(json.dumps({**state, "version": "0.0.9"}).encode()).decode().rstrip("=")
    unfit = base64.urlsafe_b64encode(json.dumps({**state, "only": {}}).encode()).decode().rstrip("=")
    for text, said in (
        (other, "written by tailback 0.0.9"),
        ("bm8gc3RhdGU", "is not complete"),
        (unfit, "is not complete"),
    ):
        browser.open(f"{file.as_uri()}#s={text}")
        assert said in browser.run("return document.querySelector('.error').textContent")


def test_packets_copies_and_pasted_scenarios_need_no_program(browser: Page, file: Path) -> None:
    browser.open(file.as_uri())
    browser.run("document.getElementById('watch-packets').click()")
    browser.wait("document.querySelector('.packets-found')")
    browser.run("window.tailbackLab.packets_ms = 0; window.tailbackLab.pointed(3.25)")
    browser.wait("window.tailbackLab.packets_ms > 0")
    said = browser.run("return document.querySelector('.packets-found p').textContent")
    assert said.startswith("red at 3.2500 s: ") and "packets wait" in said
    for kind, begins in (("toml", "# Beside it"), ("python", "import tailback as tb"), ("command", "tailback run")):
        browser.run("window.tailbackLab.copied = null")
        chosen(browser, "Copy", kind)
        browser.wait("window.tailbackLab.copied")
        assert browser.run("return window.tailbackLab.copied").startswith(begins)
    browser.run(
        "document.querySelector('.paste').open = true; document.querySelector('.paste textarea').value = arguments[0];"
        "document.querySelector('.paste button').click()",
        SCENARIO.replace("red", "pie"),
    )
    browser.wait(f"{READY} && window.tailbackLab.picture.runs[0].queue === 'pie'")


@pytest.mark.parametrize("tour", tours.listed(), ids=lambda t: t["name"])
def test_a_tour_asks_before_it_shows(browser: Page, file: Path, tour: dict[str, str]) -> None:
    browser.open(file.as_uri())
    chosen(browser, "Tour", tour["name"])
    browser.wait(f"document.querySelector('.tour') && {READY}", 60)
    assert not browser.run("return [...document.querySelectorAll('.chart, .numbers')].some((e) => e.offsetParent)")
    browser.run("document.querySelectorAll('.tour input')[1].click()")
    assert browser.run("return [...document.querySelectorAll('.chart')].some((e) => e.offsetParent)")
    found = tours.shown(tours.find(tour["name"]))
    text = browser.run("return document.querySelector('.tour').innerText")
    assert all(c["said"] in text for c in found["checked"])
    browser.run("[...document.querySelectorAll('.tour button')].at(-1).click()")
    assert not browser.run("return document.querySelector('.tour')")


def test_two_disciplines_have_the_same_buffer_or_it_is_said(browser: Page, file: Path) -> None:
    browser.open(file.as_uri())
    assert browser.run("return window.tailbackLab.state.beside.buffer") == "60 packets"
    assert browser.run("return document.querySelector('.apart').hidden")
    browser.run(
        "const lab = window.tailbackLab; lab.state = JSON.parse(JSON.stringify(lab.state));"
        "lab.state.beside.buffer = '9 packets'; lab.full(performance.now())"
    )
    browser.wait(f"{READY} && !document.querySelector('.apart').hidden")
    assert "60 packets and 9 packets" in browser.run("return document.querySelector('.apart').textContent")


def test_nothing_is_loaded_and_no_text_becomes_code(browser: Page, tmp_path: Path) -> None:
    evil = "</script><img src=x onerror='window.hurt=1'><script>window.hurt=1</script>"
    state = State(explicit({**json.loads(tb.load_scenario(SCENARIO).json), "name": evil}), {"kind": "codel"})
    tour = tours.shown(tours.find("codel-square-root"))
    texts = dict.fromkeys(("title", "question", "why", "fails_because", "name"), evil)
    tour |= texts | {"choices": [{"text": evil, "right": right} for right in (True, False)], "fails": [evil]}
    tour["study"] |= dict.fromkeys(("citation", "says", "figure", "x", "y"), evil)
    tour["checked"] = [{**c, "said": evil, "claim": evil} for c in tour["checked"]]
    (tmp_path / "evil.html").write_text(export.with_engine(state, tour), encoding="utf-8")
    browser.driver.get_log("performance")
    browser.open((tmp_path / "evil.html").as_uri())
    browser.run("document.querySelectorAll('.tour input')[0].click()")
    moved(browser, "c-link-bottleneck-rate", 600)
    browser.run(
        "const lab = window.tailbackLab; lab.state = JSON.parse(JSON.stringify(lab.state));"
        "lab.state.document.link.bottleneck.queue.kind = arguments[0]; lab.full(performance.now())",
        evil,
    )
    browser.wait("!document.querySelector('.error').hidden")
    assert "onerror" in browser.run("return document.querySelector('.error').textContent")
    assert browser.run("return window.hurt ?? null") is None
    said = [json.loads(e["message"])["message"] for e in browser.driver.get_log("performance")]
    asked = {m["params"]["request"]["url"] for m in said if m["method"] == "Network.requestWillBeSent"}
    outside = {u for u in asked if not u.startswith(("file:", "blob:", "data:", "about:"))}
    assert outside == set() and sum(u.startswith("file:") for u in asked) <= 1
    policy = browser.run("return document.querySelector('meta[http-equiv]').content")
    assert "default-src 'none'" in policy and "unsafe-inline" not in policy.partition("style-src")[0]
    assert browser.errors() == []


def test_a_trace_file_stands_in_the_exported_file(browser: Page, tmp_path: Path) -> None:
    (tmp_path / "rate.csv").write_text("time_s,rate_mbps\n0,4\n2,8\n")
    text = SCENARIO + '[change.rate]\nlink = "bottleneck"\ntrace = "rate.csv"\n'
    (tmp_path / "s.toml").write_text(text)
    Cli(tmp_path)("lab", "s.toml", "--export", "lab.html", check=True)
    used = tb.run(tmp_path / "s.toml").links["utilisation"][0]
    (tmp_path / "rate.csv").unlink()
    assert str(tmp_path) not in (tmp_path / "lab.html").read_text(encoding="utf-8")
    browser.open((tmp_path / "lab.html").as_uri())
    assert browser.run("return window.tailbackLab.picture.runs[0].link.utilisation") == used
    assert used != tb.run(SCENARIO).links["utilisation"][0]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280, 2560])
def test_the_file_fits_and_is_accessible(browser: Page, file: Path, width: int, scheme: str) -> None:
    for hash in ("", f"#s={figure_link()}"):
        browser.open(file.as_uri() + hash, width, scheme)
        assert browser.run("return document.documentElement.scrollWidth") <= width
        assert browser.inaccessible() == []
    assert browser.errors() == []


def site() -> Any:
    sys.path.insert(0, str(ROOT / "tools"))
    import live_pages

    return live_pages


def figure_link() -> str:
    return str(site().front_page().address().partition("#s=")[2])


@pytest.fixture(scope="module")
def movables() -> dict[str, Any]:
    found: dict[str, Any] = site().movables()
    return found


def pages() -> list[str]:
    folders = ("disciplines", "transports")
    named = {f"{f}/{p.stem}" for f in folders for p in (ROOT / "docs/figures" / f).glob("*.png")}
    return sorted(named)


@pytest.mark.parametrize("name", pages())
def test_values_under_a_figure_move_it(browser: Page, file: Path, movables: dict[str, Any], name: str) -> None:
    """Its picture changes, without an error, and its numbers are those of the program."""
    moving = movables[name]
    browser.open(file.as_uri() + moving.address().removeprefix(site().LAB))
    names = browser.run("return [...document.querySelectorAll('.controls input[type=range]')].map((e) => e.id)")
    assert len(names) == 3, names
    shown = browser.run("return [...document.querySelectorAll('.chart')].filter((c) => c.offsetParent).length")
    assert shown == 2
    drawn = "return [...document.querySelectorAll('.chart canvas')].map((c) => c.toDataURL()).join()"
    first = browser.run(drawn)
    r = random.Random(name)
    for number in range(POSITIONS):
        moved(browser, names[2 - number % 3], r.choice([r.randint(100, 250), r.randint(750, 900)]))
        if browser.run("return !document.querySelector('.error').hidden"):
            # Two values may exclude one another, such as target and interval: then the program refuses them too.
            with pytest.raises(tb.ScenarioError):
                tb.load_scenario(browser.run("return window.tailbackLab.state.document"))
            browser.run("window.tailbackLab.go(-1)")
            browser.wait(READY)
        same_numbers(browser)
    assert browser.run(drawn) != first
    assert browser.errors() == []


def test_a_widget_without_a_kernel_runs_by_its_own_engine(browser: Page, tmp_path: Path) -> None:
    """As in an exported notebook: nobody answers what the widget sends."""
    from tailback.apps.lab.conversation import hello

    (tmp_path / "widget.html").write_text("<!doctype html><html lang=en><title>t</title><body><div id=cell></div>")
    browser.driver.get((tmp_path / "widget.html").as_uri())
    state = State(explicit(json.loads(tb.load_scenario(SCENARIO).json)), {"kind": "codel"})
    browser.driver.execute_async_script(
        """
        const [script, hello, engine, worker, done] = arguments;
        const model = { get: (name) => ({ hello, engine, worker })[name], send: () => {}, on: () => {}, off: () => {} };
        import(URL.createObjectURL(new Blob([script], { type: "text/javascript" }))).then((m) => {
          m.default.render({ model, el: document.getElementById("cell") });
          done();
        });
        """,
        page.module(),
        hello(state),
        page.engine(),
        page.worker(),
    )
    browser.wait("document.querySelector('#cell .numbers')?.innerText.startsWith('Numbers')")
    assert browser.errors() == []
