"""What a user stumbles over is answered with one clear message, its remedy and the nearest name."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SMALL, Cli

import tailback as tb
from tailback.apps.ask.link import LinkError
from tailback.runs.campaign.progress import EVERY_S, ProgressLine

FAULTS = Path(__file__).parents[1] / "faults"
PLAIN = SMALL.split("[record")[0]


class Fifo:
    """Only its name matters here."""


def said(cli: Cli, *args: object, status: int = 2) -> str:
    """What a command says on standard error; broken lines made whole."""
    done = cli(*args)
    assert done.returncode == status, done
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_message_begins_with_an_option_only_where_one_is_meant(cli: Cli) -> None:
    text = said(cli, "compare", "--rate", "100Gbps", "--rtt", "40ms", "--flows", 5000)
    assert "Error: --rate = 100000Mbps with 5000 flows: 80 runs of 7 s are" in text and "name fewer disciplines" in text
    text = said(cli, "compare", "--rate", "5Mbps", "--rtt", "40ms", "--queue", "{ kind = red }")
    assert "--queue = { kind = red }: this is not a TOML table" in text and "--kind" not in text


def test_a_file_of_another_kind_is_named_with_its_command(cli: Cli, small: Path) -> None:
    text = said(cli, "sweep", small)
    assert f"this is a scenario, not a sweep of one; `tailback run {small}` runs it" in text
    (cli.cwd / "sweep.toml").write_text('scenario = "small.toml"\n[axis.seed]\npaths = ["seed"]\nvalues = [1]\n')
    for command in ("run", "check"):
        assert "is a sweep of a scenario; `tailback sweep sweep.toml` runs it" in said(cli, command, "sweep.toml")


def test_a_folder_proposes_a_scenario_in_it_and_no_other_file(cli: Cli, small: Path) -> None:
    (cli.cwd / "Cargo.toml").write_text('[package]\nname = "x"\n')
    assert "name the scenario in it, ./small.toml" in said(cli, "check", ".")
    small.unlink()
    text = said(cli, "check", ".")
    assert "there is none in this folder" in text and "Cargo.toml" not in text


def test_runs_in_common_are_counted(cli: Cli, small: Path) -> None:
    cli("run", small, "--out", "a", "--replications", 3, check=True)
    cli("run", small, "--out", "b", "--replications", 3, "--seed", 2, check=True)
    shutil.copytree(cli.cwd / "a", cli.cwd / "c")
    text = " ".join(cli("report", "a", "b", check=True).stdout.split())
    assert "the 2 runs that both have, of 3 in a and 3 in b, have the same numbers" in text
    assert cli("report", "a", "c", check=True).stdout.strip() == "every run of the two has the same numbers"
    cli("run", small, "--out", "d", "--replications", 2, "--set", "topology.rate=4Mbps", check=True)
    text = cli("report", "a", "d", check=True).stdout
    assert "compared are the 2 runs that both have, of 3 in a and 2 in b" in text


def test_status_of_a_folder_without_results_says_where_there_are_some(cli: Cli, small: Path) -> None:
    cli("run", small, "--out", "all/one", check=True)
    for name, hint in (("all", "name a folder in it: all/one"), (".", "`tailback run FILE --out .` makes some")):
        text = said(cli, "status", name)
        assert hint in text and "damaged" not in text
    assert "is not there" in said(cli, "status", "nothing")
    assert "1 of 1 runs stored" in cli("status", "all/one", check=True).stdout


def test_the_nearest_model_and_experiment_are_named(cli: Cli) -> None:
    assert "did you mean `tailback predict tail-drop`?" in said(cli, "predict", "droptail")
    assert "there is no model of codel; models are allocation," in said(cli, "predict", "codel")
    text = said(cli, "reproduce", "kantawala-2005/fig-33")
    assert 'no experiment "fig-33"; did you mean fig-3.3 or' in text and text.count("fig-") < 6
    assert "`tailback reproduce --list` lists all" in text


def test_a_class_where_none_can_stand_is_refused_in_our_words() -> None:
    with pytest.raises(tb.ScenarioError, match=r"flows\.bulk\.tcp\.congestion is the Python class Fifo") as e:
        tb.dumbbell(tcp={"congestion": Fifo}).run(duration="1s")
    assert e.value.problems[0]["key"] == "flows.bulk.tcp.congestion" and "'cubic'" in e.value.problems[0]["remedy"]
    with pytest.raises(LinkError, match=r"queue = Fifo: give the name of a discipline"):
        tb.compare_queues(rate="5Mbps", rtt="10ms", flows=2, queues=[Fifo, "red"])  # type: ignore[list-item]


class Log:
    """A stream that is no terminal."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return False

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None: ...


def test_a_log_has_an_estimate_and_then_a_line_now_and_then() -> None:
    log = Log()
    with ProgressLine(log) as line:
        for elapsed in (0.5, 1.0, 2.0, EVERY_S, EVERY_S + 1, EVERY_S + 2, 2 * EVERY_S + 1):
            state = {
                "share": 0.25,
                "total": 100_000,
                "done": 25_000,
                "elapsed_s": elapsed,
                "remaining_s": 99.0,
                "failed": 0,
            }
            assert line(state)
    assert log.text.count("\n") == 3 and "25000 of 100000 runs" in log.text and "about 1 min 39 s left" in log.text


def test_a_log_has_no_line_about_a_moment() -> None:
    log = Log()
    with ProgressLine(log) as line:
        line({"share": 0.5, "total": 1, "done": 0, "elapsed_s": 1.2, "remaining_s": 1.2, "failed": 0})
    assert not log.text


def test_results_are_reported_when_their_trace_is_another_by_now(cli: Cli, small: Path, tmp_path: Path) -> None:
    trace, scenario, out = tmp_path / "lte.csv", tmp_path / "s.toml", tmp_path / "out"
    trace.write_text("time_s,rate_mbps\n0,5\n1,8\n2,5\n")
    scenario.write_text(small.read_text() + f'\n[change.radio]\nlink = "bottleneck"\ntrace = "{trace.name}"\n')
    assert cli("run", scenario, "--out", out).returncode == 0
    # The stored scenario goes on working where it is put, with its trace beside it.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    trace.rename(elsewhere / trace.name)
    (out / "scenario.toml").rename(elsewhere / "scenario.toml")
    again = cli("run", elsewhere / "scenario.toml")
    assert again.returncode == 0, again.stderr
    (elsewhere / trace.name).write_text("time_s,rate_mbps\n0,5\n1,9\n2,5\n")
    changed = cli("run", elsewhere / "scenario.toml")
    assert changed.returncode == 2 and "has changed since the scenario was stored" in changed.stderr
    reported = cli("report", out)
    assert reported.returncode == 0, reported.stderr


# Names of other programs


def test_names_of_other_programs_are_taken_everywhere(cli: Cli, small: Path) -> None:
    sets = ["--set", "topology.queue=fq_codel", "--set", "flows.bulk.tcp.congestion=TcpCubic", "--set", "record={}"]
    assert cli("check", small, *sets, check=True).stdout == "ok\n"
    assert "Also called: fq_codel (Linux)" in cli("describe", "fq_codel", check=True).stdout
    both = cli("describe", "RED/RIO", check=True).stdout
    assert "rio (queue)" in both and "mred (queue)" in both
    assert 'write "rio" (' in said(cli, "check", small, "--set", "topology.queue.kind=RED/RIO")
    net = tb.dumbbell(queue=tb.queue("fq_codel", buffer="100 packets"), tcp={"congestion": "TcpCubic"}).set(
        duration="10ms"
    )
    own = tb.dumbbell(queue=tb.queue("fq-codel", buffer="100 packets"), tcp={"congestion": "cubic"}).set(
        duration="10ms"
    )
    assert net.load() == own.load() and net.load().digest == own.load().digest
    plan = tb.Plan.product(PLAIN, {"queue": ("topology.queue.kind", ["RED", "fq_codel"])})
    assert [re.findall(r'kind = "(red|fq-codel)"', s.toml) for _, s in plan.points] == [["red"], ["fq-codel"]]
    kinds = tb.schema()["$defs"]["queue"]["anyOf"][0]["enum"]
    assert {"fq_codel", "fq-codel", "DropTail"} <= set(kinds) and "RED/RIO" not in kinds


def test_compare_takes_what_its_own_lines_of_tc_print() -> None:
    how = {"rate": "5Mbps", "rtt": "10ms", "flows": 2, "traffic": ["bulk"], "duration": "200ms", "replications": 2}
    answer = tb.compare_queues(**how, queues=["fq_codel", "pfifo"], senders=["TcpCubic"])  # type: ignore[arg-type]
    assert list(answer.candidates) == ["fq-codel", "droptail"] and answer.link.senders == ("cubic",)
    with pytest.raises(LinkError, match="this may be rio or mred; write one of them"):
        tb.compare_queues(**how, queues=["RED/RIO", "red"])  # type: ignore[arg-type]


# Figures and notebooks


@pytest.mark.slow
def test_figures_are_saved_whatever_backend_is_asked_for(cli: Cli, small: Path) -> None:
    cli("run", small, "--out", "a", check=True)
    env = {**os.environ, "MPLBACKEND": "nonsense"}
    for command in ("report", "plot"):
        done = cli(command, "a", env=env)
        assert done.returncode == 0, done.stderr
    code = "import tailback.show.plots, matplotlib; print(matplotlib.rcParams['backend'])"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**env, "MPLBACKEND": "svg"}, capture_output=True, text=True
    )
    assert done.stdout == "svg\n"


@pytest.mark.slow
def test_a_notebook_shows_a_result_once() -> None:
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    cells = ["import tailback as tb\nr = tb.dumbbell(flows=2).run(duration='100ms')", "r", "r.flows", "r.results"]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    client.NotebookClient(book, kernel_name="python3", timeout=120).execute()
    shown = [[o["output_type"] for o in c["outputs"]] for c in book.cells]
    assert shown == [[], *[["execute_result"]] * 3]


def test_where_nothing_applies_a_cell_is_empty_and_null(tmp_path: Path, cli: Cli) -> None:
    polars = pytest.importorskip("polars")
    # No flow has more than one packet in the time, so that there is no second delay to differ.
    result = tb.run(PLAIN, duration="1100ms", out=tmp_path / "o")
    empty = [(t, c) for t in ("flows", "groups", "links") for c in result.results.__getattribute__(t).columns]
    table = next(t for t, c in empty if any(v != v for v in getattr(result, t).to_list(c)))
    column = next(c for t, c in empty if t == table and any(v != v for v in getattr(result, t).to_list(c)))
    missing = sum(v != v for v in getattr(result, table).to_list(column))
    frame = getattr(result, table).to_polars()
    assert frame[column].null_count() == missing and not frame[column].is_nan().any()
    stored = polars.read_parquet(tmp_path / "o" / f"{table}.parquet")
    assert stored[column].null_count() == missing
    again = tb.read_results(tmp_path / "o")
    assert getattr(again, table) == getattr(result.results, table)
    cli("export", tmp_path / "o", table, "--to", tmp_path / "x.csv", check=True)
    text = (tmp_path / "x.csv").read_text()
    assert not re.search(r"(^|,)nan(,|$)", text, re.M) and ",," in text


# Names of files


@pytest.mark.parametrize("name", ["../../x", "/tmp/x", "a/b", ".hidden", "", "a" * 200, "x\ny"])
def test_a_study_writes_nowhere_but_where_its_results_go(cli: Cli, name: str) -> None:
    inner = cli.cwd / "deep" / "er"
    inner.mkdir(parents=True)
    (inner / "study").mkdir()
    quoted = name.replace("\n", "\\n")
    (inner / "study" / "study.toml").write_text(f'id = "{quoted}"\ntitle = "t"\ncitation = "c"\n')
    (inner / "study" / "line.toml").write_text(PLAIN)
    (inner / "study" / "experiments.toml").write_text(
        '[runs.a]\nscenario = "line.toml"\n[[experiment]]\nid = "E1"\ntitle = "t"\nruns = "a"\n'
    )
    before = sorted(cli.cwd.rglob("*"))
    text = cli("reproduce", "study", cwd=inner)
    assert text.returncode == 2 and "it names a file or folder" in text.stderr, text
    assert sorted(cli.cwd.rglob("*")) == before


def test_ids_of_experiments_sets_and_sweeps_are_names_of_files_too(cli: Cli, small: Path) -> None:
    (cli.cwd / "study").mkdir()
    (cli.cwd / "study" / "study.toml").write_text('id = "s"\ntitle = "t"\ncitation = "c"\n')
    (cli.cwd / "study" / "line.toml").write_text(PLAIN)
    for runs, experiment in (("../a", "E1"), ("a", "../E1")):
        (cli.cwd / "study" / "experiments.toml").write_text(
            f'[runs."{runs}"]\nscenario = "line.toml"\n[[experiment]]\n'
            f'id = "{experiment}"\ntitle = "t"\nruns = "{runs}"\n'
        )
        assert "it names a file or folder" in said(cli, "reproduce", "study")
    (cli.cwd / "sweep.toml").write_text(
        'name = "../../x"\nscenario = "small.toml"\n[axis.seed]\npaths = ["seed"]\nvalues = [1]\n'
    )
    assert "name = '../../x': it names a file or folder" in said(cli, "sweep", "sweep.toml")


@pytest.mark.slow
def test_drawn_command_lines_end_as_they_should(tmp_path: Path) -> None:
    """The quick form of `python tests/faults/fuzz_commands.py`."""
    tailback = Path(sys.executable).with_name("tailback")
    argv = [sys.executable, FAULTS / "fuzz_commands.py", "--tailback", tailback, "--runs", "220", "--seed", "7"]
    done = subprocess.run([*map(str, argv), "--work", str(tmp_path)], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-3000:]
