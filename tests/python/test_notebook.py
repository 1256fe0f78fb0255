"""In a notebook and an editor: results show themselves, complete their names, are pickled, and stop on Ctrl-C."""

from __future__ import annotations

import copy
import io
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import SMALL

import tailback as tb
from tailback.runs.campaign.progress import ProgressLine, bar

PLAIN = SMALL.split("[record")[0]
AXES = {"queue": ("topology.queue.kind", ["red", "codel"])}


def test_results_show_themselves(tmp_path: Path) -> None:
    results = tb.Plan.product(PLAIN, AXES, replications=2).execute(tmp_path / "o")
    for r in (results, tb.read_results(tmp_path / "o")):
        assert repr(r).startswith("results of 4 runs\n") and ".links" in repr(r) and ".flows" in repr(r)
        page = r._repr_html_()
        assert page.count("<table") == 2 and "goodput" in page and "also here: runs, flows" in page
    assert "<table" in tb.run(PLAIN)._repr_html_()


def test_names_of_tables_are_completed() -> None:
    result = tb.run(PLAIN)
    for thing in (result, result.results):
        names = dir(thing)
        assert {"flows", "groups", "links", "losses", "runs", "series", "failure", "report"} <= set(names)
        assert all(hasattr(thing, n) for n in names)
    assert {"summary", "plot", "save"} <= set(dir(result))


def test_results_come_back_equal_from_a_pickle(tmp_path: Path) -> None:
    plan = tb.Plan.product(PLAIN, AXES, replications=2)
    stored = plan.execute(tmp_path / "o")
    for thing in (tb.run(SMALL, replications=2), plan.execute(), stored, tb.load_scenario(SMALL), stored.links):
        again = pickle.loads(pickle.dumps(thing))
        assert again == thing and type(again) is type(thing)
        assert copy.deepcopy(thing) == thing
    again = pickle.loads(pickle.dumps(stored))
    for name in stored.names:
        a, b = getattr(stored, name), getattr(again, name)
        assert (a.columns, a.units, a.docs, len(a)) == (b.columns, b.units, b.docs, len(b))
    assert (again.report, again.interrupted, again.damaged) == (stored.report, stored.interrupted, stored.damaged)
    result = tb.run(SMALL)
    back = pickle.loads(pickle.dumps(result))
    assert back.summary() == result.summary() and back.manifest == result.manifest
    assert result != tb.run(SMALL, seed=2) and stored.links != stored.groups and result != 1
    own = tb.dumbbell(flows=1, queue=Fifo).run(duration="100ms")
    assert pickle.loads(pickle.dumps(own)) == own


class Fifo:
    def __init__(self) -> None:
        self.waiting: list[tb.Packet] = []

    def enqueue(self, packet: tb.Packet, line: tb.Line, out: object) -> None:
        self.waiting.append(packet)

    def dequeue(self, line: tb.Line, out: object) -> tb.Packet | None:
        return self.waiting.pop(0) if self.waiting else None

    def backlog(self) -> int:
        return len(self.waiting)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_a_bar_on_a_terminal_and_silence_elsewhere(monkeypatch, capsys) -> None:
    state = {"total": 4, "done": 2, "failed": 0, "share": 0.5, "elapsed_s": 2.0, "remaining_s": 2.0}
    terminal = Terminal()
    with ProgressLine(terminal) as told:
        assert told(state) is True
    assert "[##########          ]  50 %, 2 of 4 runs, 2 s, about 2 s left" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r")
    assert bar(-1.0, 4) == "[    ]" and bar(2.0, 4) == "[####]"
    tb.run(PLAIN, progress=True)
    tb.Plan.product(PLAIN, AXES).execute(progress=True)
    assert capsys.readouterr().err == ""
    seen: list[dict] = []
    tb.run(PLAIN, progress=seen.append)
    assert seen and seen[-1]["done"] == 1


@pytest.mark.slow
def test_a_notebook_runs_and_shows_tables_and_figures() -> None:
    import nbformat
    from nbclient import NotebookClient

    cells = [
        f"import tailback as tb\nresult = tb.run({SMALL!r}, progress=True)",
        "result",
        "result.results",
        "result.plot('queue')",
        "result.flows",
        "tb.compare(result, result, columns=['utilisation'])",
        "figure = result.plot('goodput')\nfigure.axes[0].set_title('changed')\nfigure",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    NotebookClient(book, timeout=120, kernel_name="python3").execute()
    shown = [cell.outputs[-1].data if cell.outputs else {} for cell in book.cells]
    assert all("<table" in shown[i]["text/html"] for i in (1, 2, 4, 5)) and "image/png" in shown[3]
    # Each is shown once.
    assert [len(cell.outputs) for cell in book.cells[1:]] == [1] * 6


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_stops_a_run_and_leaves_python_alive(small) -> None:
    code = f"""
import tailback as tb
tb.load_scenario({str(small)!r})
print("ready", flush=True)
try:
    tb.run({str(small)!r}, duration="100000s")
except KeyboardInterrupt:
    print("stopped", len(tb.run({str(small)!r}).runs))
"""
    p = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert p.stdout is not None and p.stdout.readline() == "ready\n"
    time.sleep(1)
    p.send_signal(signal.SIGINT)
    assert p.communicate(timeout=60)[0] == "stopped 1\n" and p.returncode == 0


def test_ctrl_c_leaves_the_command_with_130(cli, small) -> None:
    p = cli.start("run", small, "--set", "duration=100000s")
    time.sleep(2)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    *estimate, last = err.splitlines()
    assert (p.returncode, out) == (130, "") and last.startswith("error: interrupted") and len(estimate) <= 1
