"""What a user names is bounded, and what is written is whole: pipes, damaged and hostile files, memory, a full disk."""

from __future__ import annotations

import io
import json
import os
import tarfile
import zipfile

import numpy as np
import pytest

import tailback as tb
from tailback import _core
from tailback.core.scenario.read import read
from tailback.core.text import room as free
from tailback.runs.campaign import memory
from tailback.show import plots

SMALL = """
duration = "100ms"
topology = { kind = "dumbbell", rate = "5Mbps", delay = "1ms", queue = "codel" }
[flows.bulk]
count = 2
[record.q]
link = "bottleneck"
probes = ["queue"]
every = "10ms"
"""
STATE = {
    "duration": "2s",
    "warmup": "1s",
    "link": {"line": {"from": "a", "to": "b", "rate": "10Mbps", "delay": "10ms", "queue": {"kind": "droptail"}}},
    "flows": {"bulk": {"count": 2}},
}


@pytest.fixture
def own(cli):
    (cli.cwd / "small.toml").write_text(SMALL)
    return cli


@pytest.fixture
def little():
    free.give(2_000_000)
    yield
    free.give(None)


def refused(r, word: str, status: int = 2) -> None:
    assert r.returncode == status and word in r.stderr and "Traceback" not in r.stderr, (r.returncode, r.stderr)


def test_a_full_run_of_the_lab_has_the_warm_up_of_the_scenario() -> None:
    from tailback.apps.lab.state import State

    (full,), (coarse,) = (State(STATE).asked(mode) for mode in ("full", "coarse"))
    assert full.scenario.warmup_s == 1.0 and coarse.scenario.warmup_s <= coarse.seconds / 5


def test_packets_of_a_fast_line_are_a_window_around_the_instant(little) -> None:
    from tailback.apps.lab.frames import unpack
    from tailback.apps.lab.packets import Packets
    from tailback.apps.lab.state import State

    fast = json.loads(json.dumps(STATE))
    fast["link"]["line"]["rate"] = "10Gbps"
    fast["flows"] = {"f": {"transport": "udp", "packet_size": "300B", "traffic": {"kind": "cbr", "rate": "9Gbps"}}}
    with pytest.raises(free.MemoryRefusal, match="may take"):
        Packets().at(State(fast), 0, 1.5, _core.Stop())
    free.give(None)
    fast["duration"] = "500ms"
    fast.pop("warmup")
    packets = Packets()
    found = packets.at(State(fast), 0, 0.4, _core.Stop())
    assert found is not None and unpack(found)[0]["log"][-1][0] <= 0.4
    # The window is around the instant: what is near it needs no run, what is far away does.
    stop = _core.Stop()
    stop.set()
    assert packets.at(State(fast), 0, 0.401, stop) is not None
    assert packets.at(State(fast), 0, 0.001, stop) is None


@pytest.mark.parametrize("key", ["trace", "mahimahi"])
def test_a_trace_that_is_a_pipe_is_refused(own, key: str) -> None:
    os.mkfifo(own.cwd / "pipe")
    r = own("check", "small.toml", "--set", f'change.c={{link="bottleneck",{key}="pipe"}}', timeout=20)
    refused(r, "is a pipe or a device, not a file")


def test_a_pipe_without_a_writer_can_be_interrupted(own) -> None:
    import signal
    import subprocess
    import sys
    import time

    os.mkfifo(own.cwd / "pipe.toml")
    for command in ("check", "run"):
        process = subprocess.Popen(
            [sys.executable, "-m", "tailback", command, "pipe.toml"], cwd=own.cwd, stderr=subprocess.PIPE, text=True
        )
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
        assert process.returncode == 130 and "interrupted" in said and "Traceback" not in said


def test_bloom_filters_are_promised() -> None:
    bloom = {"kind": "drr", "mapper": "bloom", "queues": 8, "groups": 10000, "filter_bits": 800000}
    parts = read(tb.dumbbell(queue=bloom).set(duration="1s")).memory
    assert memory.total(parts) > 1e9


def test_a_document_is_written_in_parts_and_promised(monkeypatch) -> None:
    from tailback.core.results import document
    from tailback.core.results.document import bytes_of, parts
    from tailback.core.text.json_text import json_text

    # A document tells the most memory that the process had until now, which grows as documents are made.
    monkeypatch.setattr(document._core, "peak_rss_bytes", lambda: 123_456_789)
    one, several = (tb.run(SMALL, replications=n) for n in (1, 3))
    # The engine writes small numbers in another form.
    assert json.loads("".join(parts(one))) == json.loads(json_text(one.to_dict()))
    assert "".join(parts(several)) == json_text(several.to_dict())
    assert bytes_of(several.results) > 2 * bytes_of(one.results)
    free.give(10_000)
    try:
        with pytest.raises(free.MemoryRefusal, match=r"the document may take .* help: another"):
            free.promise_bytes(bytes_of(several.results), "the document", "another")
    finally:
        free.give(None)


def test_archives_are_bounded(own) -> None:
    with zipfile.ZipFile(own.cwd / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("bundle.json", b"\0" * 300_000_000)
    refused(own("verify", "bomb.zip"), "would unpack to more than")
    with tarfile.open(own.cwd / "bomb.tar.gz", "w:gz") as t:
        info = tarfile.TarInfo("bundle.json")
        info.size = 300_000_000
        t.addfile(info, io.BytesIO(b"\0" * info.size))
    refused(own("verify", "bomb.tar.gz"), "would unpack to more than")
    whole = (own.cwd / "bomb.tar.gz").read_bytes()
    for cut in (len(whole) // 2, 40):
        (own.cwd / "cut.tar.gz").write_bytes(whole[:cut])
        refused(own("verify", "cut.tar.gz"), "cut.tar.gz")
    os.mkfifo(own.cwd / "pipe.zip")
    refused(own("verify", "pipe.zip", timeout=20), "is a pipe or a device")


def test_what_a_page_asks_for_is_answered_or_stopped() -> None:
    from tailback.apps.lab.conversation import Conversation
    from tailback.apps.lab.figures import figure
    from tailback.apps.lab.state import State

    stop = _core.Stop()
    stop.set()
    assert figure(State(STATE), "queue", "svg", stop) is None
    answers: list[bytes] = []
    page = Conversation(answers.append)
    for text in (
        '{"do":"state","input":1e999,"state":{}}',
        '{"do":"packets","side":1e999,"at":0,"state":{"document":{}}}',
        '{"do":"figure","what":"queue","kind":"svg"}',
        '{"do":["state"]}',
        "[" * 100_000,
        "\ud800",
    ):
        before = len(answers)
        page.take(text)
        for _ in range(100):
            if len(answers) > before:
                break
            _core.Stop()
            __import__("time").sleep(0.05)
        assert len(answers) > before and b"refused" in answers[-1], text[:60]
    page.close()


def test_many_flows_are_one_shape() -> None:
    from matplotlib.patches import StepPatch

    values = np.linspace(1, 2, 10_000)
    axes = plots.goodput_bars([("codel", "", values)], 1.5).axes[0]
    shapes = [p for p in axes.patches if isinstance(p, StepPatch)]
    assert len(axes.patches) == 1 and len(shapes[0].get_data().values) == 2000


def test_small_things_wrong_are_one_message(own) -> None:
    line = 'source="x"\ntitle="x"\n[[line]]\nid="a"\nsection="1"\nsays="x"\nto=["reno"]\ndialogue="""\n0ms >\n"""\n'
    (own.cwd / "lines.toml").write_text(line)
    r = own("conform", "reno", "--lines", "lines.toml")
    assert r.returncode == 2 and "Traceback" not in r.stderr
    (own.cwd / "sweep.toml").write_text(
        'scenario = "small.toml"\nseed = -1\n[axis.q]\npaths = ["topology.queue"]\nvalues = ["codel"]\n'
    )
    refused(own("sweep", "sweep.toml"), "seed = -1; write a whole number from 0")
    assert own("run", "small.toml", "--out", "o").returncode == 0
    manifest = own.cwd / "o" / "manifest.json"
    made = json.loads(manifest.read_text())
    for key, wrong in (("scenarios", 5), ("points", 5), ("sweep", [1]), ("points", [5])):
        manifest.write_text(json.dumps({**made, key: wrong}))
        for words in (["report", "o"], ["plot", "o"], ["export", "flows", "o"]):
            assert "Traceback" not in own(*words).stderr, (key, words)
    refused(own("reproduce", "keshav-1991", "--quick", "--full"), "exclude one another")
    refused(own("gateway", "a", "b", "--seconds", "nan"), "no number of seconds")


def test_results_along_a_trace_are_drawn_without_it(own) -> None:
    (own.cwd / "line.trace").write_text("1\n1\n5\n")
    r = own("run", "small.toml", "--set", 'change.c={link="bottleneck",mahimahi="line.trace"}', "--out", "o")
    assert r.returncode == 0, r.stderr
    (own.cwd / "line.trace").unlink()
    r = own("plot", "o", "queue", "--to", "q.png")
    assert r.returncode == 0, r.stderr


def test_a_dry_run_promises_what_runs_add_to_a_folder(own) -> None:
    (own.cwd / "sweep.toml").write_text(
        'scenario = "small.toml"\nreplications = 300\n[axis.q]\npaths = ["topology.queue"]\nvalues = ["codel"]\n'
    )
    said = json.loads(own("sweep", "sweep.toml", "--dry-run", "--json").stdout)
    assert own("sweep", "sweep.toml", "--out", "o").returncode == 0
    size = sum(p.stat().st_size for p in (own.cwd / "o").glob("*.parquet"))
    assert 0.7 < said["bytes"] / size < 1.4


@pytest.mark.parametrize(
    "words",
    [
        ["plot", "o", "queue", "--to", "kept.png"],
        ["export", "o", "flows", "--to", "kept.csv"],
        ["capture", "small.toml", "--link", "bottleneck", "--out", "kept.pcapng"],
        ["trace", "small.toml", "--flow", "bulk.0", "--out", "kept.txt"],
        ["lab", "small.toml", "--axis", "seed=1,2", "--export", "kept.html"],
    ],
    ids=lambda words: words[0],
)
def test_a_failed_write_leaves_what_was_there(own, words: list[str]) -> None:
    """The folder takes no new file: nothing is written, and the old file stays."""
    own("run", "small.toml", "--out", "o")
    folder = own.cwd / "kept"
    folder.mkdir()
    place = folder / words[-1]
    place.write_text("what was there")
    (folder / f"{place.name}.partial").mkdir()
    r = own(*words[:-1], str(place))
    assert r.returncode != 0 and "Traceback" not in r.stderr and ".partial" not in r.stderr, r.stderr
    assert place.read_text() == "what was there"
    (folder / f"{place.name}.partial").rmdir()
    assert own(*words[:-1], str(place)).returncode == 0 and place.read_bytes() != b"what was there"


def test_a_file_without_its_mark_is_damaged_and_a_newer_manifest_is_left_alone(own) -> None:
    own("run", "small.toml", "--out", "o")
    file = own.cwd / "o" / "flows.parquet"
    good = file.read_bytes()
    file.write_bytes(good.replace(b"tailback-contents:", b"tailbacc-contents:"))
    with pytest.raises(OSError, match="damaged"):
        tb.read_results(own.cwd / "o").flows  # noqa: B018
    file.write_bytes(good)
    manifest = own.cwd / "o" / "manifest.json"
    newer = manifest.read_text().replace('"format": 1', '"format": 2')
    manifest.write_text(newer)
    r = own("run", "small.toml", "--out", "o", "--seed", "5")
    assert r.returncode == 1 and "is of a newer version of tailback (format 2" in r.stderr
    assert manifest.read_text() == newer


def test_threads_are_promised_address_space() -> None:
    room = free.Room(2e8, "the limit of the process, ulimit -v", free.THREAD)
    parts = [{"key": "run", "bytes": 1e6, "kept": 1e4}]
    assert "help: --jobs 2" in (memory.too_much([(parts, 100)], 64, True, room) or "")
    assert memory.too_much([(parts, 100)], 1, True, room) is None


def test_a_table_in_markdown_has_no_markup() -> None:
    from tailback.core.results.written import _marked

    assert _marked("<b>a*b`c`[x](y)|") == "&lt;b&gt;a\\*b\\`c\\`\\[x\\](y)\\|"
