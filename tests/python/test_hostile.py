"""Hostile files and messages: each is one message with its remedy, ends, and leaves what was there as it was."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import pytest
from conftest import Cli

import tailback as tb
from tailback import _core
from tailback.core.text import room as free

SMALL = """
duration = "50ms"
topology = { kind = "dumbbell", rate = "5Mbps", delay = "1ms", queue = "codel" }
[flows.bulk]
count = 2
"""
TINY = {
    "study.toml": 'id = "tiny"\ntitle = "Two queues"\ncitation = "None, 2020"\n',
    "line.toml": SMALL,
    "experiments.toml": """
[discipline.red]
title = "RED"
queue = { kind = "red", buffer = "40 packets" }
[runs.both]
scenario = "line.toml"
seeds = { quick = 1, full = 2 }
axis.queue = { disciplines = ["red"], paths = ["topology.queue"] }
[[experiment]]
id = "E1"
item = "figure 1"
title = "The line in use"
runs = "both"
output = [{ kind = "table", measures = ["utilisation"], caption = "In use" }]
""",
}


@pytest.fixture
def own(cli: Cli) -> Cli:
    (cli.cwd / "small.toml").write_text(SMALL)
    return cli


@pytest.fixture
def tiny(own: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = own.cwd / "studies" / "tiny"
    folder.mkdir(parents=True)
    for name, text in TINY.items():
        (folder / name).write_text(text)
    monkeypatch.setenv("TAILBACK_STUDIES", str(folder.parent))
    return folder


def refused(cli: Cli, *args: object, status: int = 2) -> str:
    r = cli(*args, timeout=60)
    assert r.returncode == status and "Traceback" not in r.stderr, (r.returncode, r.stderr)
    return r.stderr


def sparse(file: Path, size: int = 3_000_000_000) -> None:
    with file.open("wb") as f:
        f.truncate(size)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            b"class Half:\n  def x(:\n",
            "SyntaxError: invalid syntax (line 2)\n  = help: correct it; `python own.py` shows",
        ),
        (b"x = 1\0\n", "SyntaxError: source code string cannot contain null bytes\n  = help: correct it"),
        (None, "it is longer than 64 MB"),
    ],
)
def test_a_class_that_cannot_be_read_is_told_with_its_remedy(own: Cli, given: bytes | None, said: str) -> None:
    file = own.cwd / "own.py"
    sparse(file) if given is None else file.write_bytes(given)
    assert said in refused(own, "check", "small.toml", "--set", "topology.queue=own.py:Half")


def test_a_page_with_a_document_that_is_none_is_refused_in_our_words() -> None:
    from tailback.apps.lab.conversation import Conversation

    answers: list[bytes] = []
    page = Conversation(answers.append)
    document = {"duration": "1s", "link": 5, "flows": {"bulk": {"count": 2}}}
    state = {"document": document, "beside": {"kind": "codel"}}
    page.take(json.dumps({"do": "copy", "state": {**state, "document": {**document, "link": "x"}}}))
    page.take(json.dumps({"do": "packets", "side": 1, "at": 0, "state": state}))
    until = time.monotonic() + 30
    while len(answers) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    page.close()
    assert len(answers) == 2
    for answer in answers:
        assert b"refused" in answer and b"please report" not in answer and b"help:" in answer


def test_a_tour_that_goes_on_is_stopped() -> None:
    from tailback.apps.lab import tours

    stop = _core.Stop()
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        tours.shown(tours.find("bufferbloat"), stop)


def test_a_pipe_without_an_end_is_refused(own: Cli) -> None:
    os.mkfifo(own.cwd / "pipe.toml")
    with subprocess.Popen(["sh", "-c", "cat /dev/zero > pipe.toml"], cwd=own.cwd) as endless:
        assert "the pipe cannot be read: it is longer than 64 MB" in refused(own, "check", "pipe.toml")
        endless.wait(20)


def test_a_script_is_a_file_with_an_end(own: Cli) -> None:
    sparse(own.cwd / "long.pkt")
    assert "more than" in own("conform", "long.pkt").stdout
    assert "name a script (FILE.pkt)" in refused(own, "conform", "none.pkt")
    (own.cwd / "nul.pkt").write_text("`./x\0y.sh`\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n")
    assert "Traceback" not in refused(own, "conform", "nul.pkt")
    (own.cwd / "odd.pkt").write_text("nothing\n")
    assert "reason: change the line, or leave the script out" in refused(own, "conform", "odd.pkt")


def test_a_study_that_is_refused_leaves_no_folder(own: Cli, tiny: Path) -> None:
    (tiny / "line.toml").write_bytes(SMALL.encode().replace(b"codel", b"\xe9"))
    assert "not UTF-8 text" in refused(own, "reproduce", "tiny", "--out", "o")
    assert not (own.cwd / "o").exists()


def test_a_device_where_the_study_is_told_is_no_traceback(own: Cli, tiny: Path) -> None:
    (own.cwd / "o").mkdir()
    (own.cwd / "o/study.json").symlink_to("/dev/null")
    assert "`tailback reproduce`" in refused(own, "reproduce", "tiny", "--out", "o", status=1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("kind", ["pdf", "png", "svg"])
def test_a_figure_on_a_full_device_is_told(own: Cli, kind: str) -> None:
    assert own("run", "small.toml", "--out", "o").returncode == 0
    (own.cwd / f"x.{kind}").symlink_to("/dev/full")
    assert "no space is left" in refused(own, "plot", "o", "goodput", "--to", f"x.{kind}", status=1)


def test_a_key_that_is_no_choice_has_the_choices(own: Cli, tiny: Path) -> None:
    text = TINY["experiments.toml"].replace("quick = 1", "quyck = 1")
    (tiny / "experiments.toml").write_text(text)
    assert "there is no such choice; there are quick, full" in refused(own, "reproduce", "tiny", "--out", "o")


def test_what_is_not_of_the_program_stays_in_its_folder(own: Cli) -> None:
    kept = ["notes.old", "film.next", "a.tar.partial", "backup/site.old/index", "backup/x.next/y", "chunks/mine.old/z"]
    for name in kept:
        (own.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (own.cwd / name).write_text("kept")
    (own.cwd / "empty").mkdir()
    (own.cwd / "links.parquet.next").write_text("half")
    for _ in range(2):
        assert own("run", "small.toml", "--out", ".").returncode == 0
    assert all((own.cwd / name).read_text() == "kept" for name in kept) and (own.cwd / "empty").is_dir()
    assert not (own.cwd / "links.parquet.next").exists()


def test_a_figure_of_a_bundle_leaves_the_bundle_as_it_is(own: Cli, tiny: Path) -> None:
    assert own("reproduce", "tiny", "--out", "o").returncode == 0
    before = (own.cwd / "o/runs/manifest.json").read_bytes()
    assert "has 0 figures here" in refused(own, "plot", "o", "E1", "--to", "x.svg")
    assert (own.cwd / "o/runs/manifest.json").read_bytes() == before
    assert own("verify", "o").returncode == 0


def test_a_copy_that_would_fill_the_disk_is_not_begun(own: Cli, tiny: Path) -> None:
    assert own("reproduce", "tiny", "--out", "o").returncode == 0
    sparse(own.cwd / "o/runs/more", 1 << 43)
    assert "set TMPDIR to a folder with more room" in refused(own, "verify", "o", "--sample", "1")
    for target in ("/dev/full", "nothing"):
        (own.cwd / "o/runs/more").unlink()
        (own.cwd / "o/runs/more").symlink_to(target)
        assert "runs/more is no regular file; copy the bundle anew" in refused(own, "verify", "o", "--sample", "1")


def test_what_is_no_archive_is_not_unpacked_to_see(own: Cli) -> None:
    sparse(own.cwd / "none.zip")
    began = time.process_time()
    assert "neither a folder nor packed with tar or zip" in refused(own, "verify", "none.zip")
    assert time.process_time() - began < 10


@pytest.mark.parametrize("text", ["a." * 100_000 + "b = 1\n", "x = {" + '"a" . ' * 100_000 + "b = 1}\n"])
def test_a_key_of_very_many_parts_is_refused(own: Cli, text: str) -> None:
    from tailback.core.text import toml

    with pytest.raises(ValueError, match=r"a key has more than 100 parts \(at line 2\)"):
        toml.loads("x = 1\n" + text)
    assert toml.loads("a.b.c = 1.5\n[d.e]\nf = 'g.h'\n")["d"] == {"e": {"f": "g.h"}}
    (own.cwd / "long.toml").write_text(text)
    for words in (["conform", "reno", "--lines", "long.toml"], ["sweep", "long.toml"]):
        assert "a key has more than 100 parts (at line 1)" in refused(own, *words)
    assert "a key has more than" not in refused(own, "check", "long.toml")


def test_an_interruption_that_python_drops_comes_again() -> None:
    code = """
import sys, time, weakref
import tailback.cli as cli

class Thing: ...

def dropped(_):
    raise KeyboardInterrupt

def slow(_):
    thing = Thing()
    ref = weakref.ref(thing, dropped)
    del thing
    time.sleep(20)
    return 0

cli._status = lambda args: slow(args)
cli.main([])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.returncode == 130 and "Traceback" not in done.stderr, done


def test_a_replay_with_a_queue_in_python_is_refused(own: Cli) -> None:
    (own.cwd / "own.py").write_text("class Half:\n    def enqueue(self, *a): ...\n    def dequeue(self, *a): ...\n")
    (own.cwd / "recording.txt").write_text("arrival 1000 0 0 0 0 0 60 1 0 0\n")
    words = ["live", "small.toml", "--set", "topology.queue=own.py:Half", "--replay", "recording.txt"]
    assert "Python class" in refused(own, *words)


def test_an_archive_that_python_cannot_unpack_is_told(own: Cli) -> None:
    with zipfile.ZipFile(own.cwd / "odd.zip", "w") as z:
        z.writestr("b/bundle.json", "{}")
    data = bytearray((own.cwd / "odd.zip").read_bytes())
    for sign, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(sign) + at] |= 0x20
    (own.cwd / "odd.zip").write_bytes(data)
    assert "cannot be unpacked (compressed patched data" in refused(own, "verify", "odd.zip")


def test_a_study_without_an_experiment_is_refused(own: Cli, tiny: Path) -> None:
    (tiny / "experiments.toml").write_text("")
    assert "has no experiment; add [[experiment]]" in refused(own, "reproduce", "tiny", "--out", "o")
    assert not (own.cwd / "o").exists()


def test_a_report_that_leads_nowhere_is_told(own: Cli) -> None:
    assert own("run", "small.toml", "--out", "o").returncode == 0
    (own.cwd / "o/report.html").symlink_to("a/b/c")
    assert "check the path and its folder" in refused(own, "report", "o")


def test_a_report_whose_scenario_is_damaged_draws_nothing(own: Cli) -> None:
    assert own("run", "small.toml", "--out", "o").returncode == 0
    (own.cwd / "o/scenario.toml").write_text(SMALL.replace('"1ms"', '"0x7ms"'))
    assert "= help: write a number" in refused(own, "report", "o")
    assert not (own.cwd / "o/figures").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["capture", "small.toml", "--out", "pipe"],
        ["trace", "small.toml", "--flow", "bulk.0", "--out", "pipe"],
        ["export", "o", "flows", "--to", "pipe.csv"],
    ],
    ids=lambda words: words[0],
)
def test_a_pipe_that_nobody_reads_can_be_left(own: Cli, words: list[str]) -> None:
    assert own("run", "small.toml", "--out", "o").returncode == 0
    os.mkfifo(own.cwd / words[-1])
    process = subprocess.Popen(
        [sys.executable, "-m", "tailback", *words], cwd=own.cwd, stderr=subprocess.PIPE, text=True
    )
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130 and "interrupted" in said and "Traceback" not in said


def test_an_archive_of_very_many_empty_files_is_refused(own: Cli) -> None:
    with tarfile.open(own.cwd / "many.tar.gz", "w:gz") as t:
        for i in range(20_000):
            t.addfile(tarfile.TarInfo(f"b{i}/bundle.json"), io.BytesIO(b""))
    assert "would unpack to more than" in refused(own, "verify", "many.tar.gz")


def test_a_text_that_may_take_more_than_there_is_is_refused(own: Cli) -> None:
    (own.cwd / "long.toml").write_text("".join(f"k{i} = 1\n" for i in range(200_000)))
    free.give(10_000_000)
    try:
        with pytest.raises(free.MemoryRefusal, match=r"long\.toml may take .* give a shorter text"):
            tb.load_scenario(own.cwd / "long.toml")
        with pytest.raises(free.MemoryRefusal, match="give a shorter text"):
            tb.load_sweep(own.cwd / "long.toml")
    finally:
        free.give(None)


def test_a_demo_that_was_killed_is_begun_again(tmp_path: Path) -> None:
    from tailback.apps.demo.make import Occupied, _check

    folder = tmp_path / "queue"
    folder.mkdir()
    (folder / "manifest.json.partial").write_text("{")
    with pytest.raises(Occupied):
        _check(tmp_path)
    # Only what stores runs has a lock.
    (folder / "lock").write_text("1")
    _check(tmp_path)


# ------------------------------------------------------------------------------------------- folders of results


@pytest.mark.parametrize("name", ["flows.parquet", "manifest.json", "times.jsonl", "lock"])
def test_a_pipe_in_a_folder_of_results_is_no_wait(own: Cli, name: str) -> None:
    words = ["run", "small.toml", "--out", "o"]
    assert own(*words).returncode == 0
    (own.cwd / "o" / name).unlink(missing_ok=True)
    os.mkfifo(own.cwd / "o" / name)
    for line in (words, ["status", "o"], ["export", "o", "flows", "--to", "x.csv"], [*words, "--seed", "5"]):
        r = own(*line, timeout=60)
        assert "Traceback" not in r.stderr and r.returncode in (0, 1, 2), r.stderr


def test_a_table_without_its_marks_is_named_and_damaged(own: Cli) -> None:
    assert own("run", "small.toml", "--out", "o").returncode == 0
    for data in (b"", b"PAR1" + b"\x15" * 40 + b"\x20\0\0\0PAR1"):
        (own.cwd / "o" / "links.parquet").write_bytes(data)
        text = refused(own, "plot", "o", "links.utilisation", "--as", "cdf", "--to", "x.png", status=1)
        assert "links.parquet" in text and "damaged" in text
    (own.cwd / "o" / "links.parquet").unlink()
    assert "run again what made it" in refused(own, "report", "o", status=1)


def test_costs_without_a_line_end_are_left(own: Cli) -> None:
    assert own("run", "small.toml", "--out", "o").returncode == 0
    sparse(own.cwd / "o" / "times.jsonl")
    assert own("run", "small.toml", "--seed", "9", "--out", "o", timeout=60).returncode == 0


def little() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1_000_000_000, 1_000_000_000))


@pytest.mark.parametrize(("key", "line"), [("mahimahi", "1\n"), ("trace", "1,5\n")])
def test_a_trace_beyond_the_memory_is_refused(own: Cli, key: str, line: str) -> None:
    with (own.cwd / "long.trace").open("w") as f:
        f.write("time_s,rate_bps\n" if key == "trace" else "")
        for _ in range(100):
            f.write(line * 600_000)
    words = ["check", "small.toml", "--set", f'change.c={{link="bottleneck",{key}="long.trace"}}']

    r = own(*words, preexec_fn=little)
    assert r.returncode == 2 and "memory for" in r.stderr and "help: cut the trace" in r.stderr, r


def test_filters_beyond_the_memory_are_refused_as_they_are_checked(own: Cli) -> None:
    bloom = '{kind="drr", mapper="bloom", queues=8, groups=10000, filter_bits=800000}'
    r = own("check", "small.toml", "--set", f"topology.queue={bloom}", preexec_fn=little)
    assert r.returncode == 2 and "the filters take 953 MB, more than there is memory for" in r.stderr, r
