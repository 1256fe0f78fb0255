"""Reports: self-contained, complete, and of any folder of results."""

import re
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

import tailback as tb
from tailback.cli import cli
from tailback.runs.campaign.plan import Plan
from tailback.show import plots, report
from tailback.study import load as study
from tailback.study import reproduce
from tailback.study.repeat import Repeat

SCENARIO = """
name = "two <flows>"
duration = "2s"
[link.b]
from = "a"
to = "c"
rate = "10Mbps"
delay = "10ms"
queue = { kind = "droptail", buffer = "20 packets" }
[flows.f]
count = 4
[record.q]
link = "b"
probes = ["queue"]
every = "10ms"
"""


class Check(HTMLParser):
    """Tags that are opened are closed; what the page would fetch."""

    VOID = ("meta", "img", "br", "link", "input", "hr", "source")

    def __init__(self, text):
        super().__init__()
        self.open, self.fetched, self.images, self.links = [], [], 0, []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.images += tag == "img"
        if tag not in self.VOID:
            self.open.append(tag)
        source = attrs.get("src", "")
        if (source and not source.startswith("data:")) or tag in ("script", "link"):
            self.fetched.append((tag, source))
        if "href" in attrs:
            self.links.append(attrs["href"])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check(path):
    text = path.read_text(encoding="utf-8")
    page = Check(text)
    assert page.fetched == []
    assert not re.search(r"url\(|@import", text)
    for link in page.links:
        assert "://" not in link and (path.parent / link).is_file(), link
    return text, page


@pytest.mark.slow
def test_a_run(tmp_path):
    tb.run(SCENARIO, overrides=['flows.f.start={ kind = "uniform", to = "100ms" }'], replications=3, out=tmp_path / "o")
    r = CliRunner().invoke(cli, ["report", str(tmp_path / "o")])
    assert r.exit_code == 0, r.output
    text, page = check(tmp_path / "o" / "report.html")
    assert "two &lt;flows&gt;" in text and "two <flows>" not in text
    assert page.images == 2  # goodputs, and the queue
    assert "±" in text and "Mb/s" in text
    before = (tmp_path / "o" / "report.html").read_bytes()
    report.write(tmp_path / "o")
    assert (tmp_path / "o" / "report.html").read_bytes() == before


def test_runs_that_are_all_alike_are_said_to_be(tmp_path):
    quiet = SCENARIO.replace("red", "droptail")
    tb.run(quiet, replications=2, out=tmp_path / "o")
    assert "all alike" in report.write(tmp_path / "o").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_sweep_over_a_number_draws_curves(tmp_path):
    axes = {
        "queue": ("link.b.queue.kind", ["droptail", "red"]),
        "buffer": ("link.b.queue.buffer", ["5 packets", "20 packets", "80 packets"]),
    }
    Plan.product(SCENARIO.split("[record.q]")[0], axes, replications=2).execute(tmp_path / "o")
    report.write(tmp_path / "o")
    text, page = check(tmp_path / "o" / "report.html")
    assert page.images == 5  # three of the link, goodputs, and how they are distributed
    assert (tmp_path / "o" / "figures" / "utilisation.svg").is_file()
    assert not (tmp_path / "o" / "figures" / "utilisation.pdf").exists()
    report.write(tmp_path / "o", ["pdf"])
    assert (tmp_path / "o" / "figures" / "utilisation.pdf").is_file()
    assert "Against" not in text


#: Labels may be called as anything is called, the parameters of functions too.
TWO_AXES = """
replications = 2
scenario = '''
duration = "2s"
topology = {{ kind = "dumbbell", rate = "5Mbps", delay = "5ms", queue = {{ buffer = "20 packets" }} }}
[flows.f]
count = 3
rtt = "30ms"
start = {{ kind = "uniform", to = "1s" }}
'''
[axis.y]
paths = ["topology.queue.kind"]
values = ["droptail", "codel"]
[axis.x]
title = "Buffer"
paths = ["topology.queue.buffer"]
unit = "packets"
values = [10, 40]
[axis.metric]
title = "Rate"
paths = ["topology.rate"]
unit = "Mbps"
values = [2, 8]
{compare}
"""


@pytest.mark.slow
def test_the_page_of_a_sweep_has_maps_and_the_comparison_of_its_file(tmp_path):
    file = tmp_path / "plan.toml"
    file.write_text(TWO_AXES.format(compare='[compare]\naxis = "y"\nagainst = "droptail"'))
    tb.load_sweep(file).execute(tmp_path / "o")
    text, page = check(report.write(tmp_path / "o"))
    assert page.images == 8  # three curves, three maps, goodputs, and how they are distributed
    assert "Loss of bottleneck over Buffer (packets) and Rate (Mbps)" in text
    results = tb.read_results(tmp_path / "o")
    found = {d.row: d for d in tb.compare_points(results, "y", "droptail") if d.column == "utilisation"}
    row = "40, 2, codel minus droptail, bottleneck"
    shown = re.search(rf"{row}</td><td>(.*?)</td>", text.partition("Links</caption>")[2])[1]
    value, _, half = shown.replace("\N{NO-BREAK SPACE}", " ").rstrip("* ").partition(" ± ")
    assert float(value) == pytest.approx(100 * found[row].difference, rel=0.1, abs=0.06)
    assert float(half) == pytest.approx(100 * found[row].ci95, rel=0.1)
    assert shown.endswith("*") == found[row].clear
    said = CliRunner().invoke(cli, ["report", str(tmp_path / "o"), "--across"])
    typed = CliRunner().invoke(cli, ["report", str(tmp_path / "o"), "--across", "y=droptail"])
    assert said.exit_code == 0 and row in said.output and said.output == typed.output
    assert len(plots.over(results, "links.utilisation", "x", x="40", y="codel", metric="2").axes[0].lines) == 2


def test_a_page_says_why_nothing_can_be_compared(tmp_path):
    """As where every run of a label failed."""
    file = tmp_path / "plan.toml"
    file.write_text(TWO_AXES.format(compare='[compare]\naxis = "y"\nagainst = "droptail"'))
    tb.load_sweep(file, ["duration=20ms"]).execute(tmp_path / "o")
    kept = tmp_path / "o/manifest.json"
    kept.write_text(re.sub(r'("against":\s*)"droptail"', r'\1"red"', kept.read_text()))
    made = CliRunner().invoke(cli, ["report", str(tmp_path / "o")])
    assert made.exit_code == 0, made.output
    said = (tmp_path / "o/report.html").read_text()
    assert "Nothing can be compared: no point has y = red; give one of the labels of y: droptail, codel." in said


def test_a_plan_that_compares_nothing_says_so(tmp_path):
    file = tmp_path / "plan.toml"
    file.write_text(TWO_AXES.format(compare=""))
    tb.load_sweep(file, ["duration=20ms"]).execute(tmp_path / "o")
    said = CliRunner().invoke(cli, ["report", str(tmp_path / "o"), "--across"])
    assert said.exit_code == 2 and "has no [compare]; write --across AXIS=LABEL" in " ".join(said.output.split())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    s = study.load("kantawala-2005")
    out = tmp_path_factory.mktemp("study")
    r = reproduce.reproduce(
        s,
        [s.experiment("fig-2.1")],
        Repeat(overrides=["duration=20s"], figures=["pdf"]),
        out,
        command="tailback reproduce x",
    )
    return r


@pytest.mark.slow
def test_a_study_opens_with_what_was_found(made):
    text, page = check(made.report)
    assert page.images == 1
    order = ["<h1>", "What was found", "Figures and tables", "Verdicts", "Set-up", "Parameters", "How to run it again"]
    places = [text.index(x if x.startswith("<") else f"<h2>{x}") for x in order]
    assert places == sorted(places)
    assert "tailback reproduce kantawala-2005/fig-2.1 --quick" in text
    assert {"scenarios/sb.toml", "scenarios/mr.toml"} <= set(page.links)
    assert "A27" not in text and "spec/" not in text
    assert "Changed scenarios" in text and "duration=20s" in text
    assert {"figures/fig-2.1.pdf", "tables/fig-2.1.csv"} <= set(page.links)
    assert "figures/fig-2.1.png" not in page.links


@pytest.mark.slow
def test_a_report_can_be_written_again_from_the_folder(made):
    before = made.report.read_bytes()
    made.report.unlink()
    assert CliRunner().invoke(cli, ["report", str(made.out)]).exit_code == 0
    assert made.report.read_bytes() == before
    r = CliRunner().invoke(cli, ["report", str(made.out), "--figures", "png"])
    assert r.exit_code == 2 and "whose figures `tailback reproduce` draws" in r.output


def test_a_folder_without_results_is_refused(tmp_path):
    r = CliRunner().invoke(cli, ["report", str(tmp_path)])
    assert r.exit_code == 2 and "tailback run --out" in r.output
