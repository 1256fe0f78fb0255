"""The command line as a process: output, exit statuses, and what it says about bad input."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
from conftest import SMALL

import tailback as tb
from tailback.cli.errors import Stopped, running


def test_help_lists_the_commands(cli) -> None:
    r = cli("--help")
    assert r.returncode == 0 and r.stderr == ""
    for name in ("run", "reproduce", "predict", "report", "describe", "schema"):
        assert f"  {name}" in r.stdout
    assert cli("--version").stdout.startswith("tailback 0.")
    assert cli("run", "--help").returncode == 0


def test_json_is_one_document_and_nothing_else(cli, small) -> None:
    r = cli("run", small, "--json")
    assert r.returncode == 0 and r.stderr == ""
    d = json.loads(r.stdout, parse_constant=pytest.fail)
    assert (d["scenario"], d["seed"], d["duration_s"]) == ("small", 1, 6.0) and d["version"]
    assert [f["id"] for f in d["flows"]] == [f"bulk.{i}" for i in range(4)]
    for f in d["flows"]:
        assert f["group"] == "bulk" and isinstance(f["sent_packets"], int)
        for key in (
            "goodput_bps",
            "goodput_wire_bps",
            "retransmitted_packets",
            "timeouts",
            "dropped_packets",
            "marked_packets",
            "delay_mean_s",
        ):
            assert isinstance(f[key], (int, float)), key
    link = d["links"][0]
    assert link["name"] == "bottleneck" and 0 < link["utilisation"] <= 1
    assert sum(link["drops_by_reason"].values()) == link["dropped_packets"] > 0
    assert link["marks_by_reason"] == {} and link["mean_queue_packets"] > 0
    assert d["engine"]["packet_hops"] > 0 and d["engine"]["cpu_s"] > 0 and d["engine"]["peak_rss_bytes"] > 1e6
    assert "replications" not in d
    idle = cli("run", small, "--json", "--set", "flows.bulk.start=5.99s")
    # What is not a number is null.
    assert json.loads(idle.stdout)["groups"][0]["jain_index"] is None


def test_replications_have_means_and_intervals(cli, small) -> None:
    d = json.loads(cli("run", small, "--json", "--replications", 3, "--seed", 7).stdout)
    assert [r["seed"] for r in d["replications"]] == [7, 8, 9] and d["seed"] == 7
    for kind, key in (("groups", "goodput_bps_sum"), ("links", "utilisation")):
        values = [r[kind][0][key] for r in d["replications"]]
        assert d[kind][0][key] == pytest.approx(sum(values) / 3)
        assert d[kind][0][f"{key}_ci95"] >= 0
    one = json.loads(cli("run", small, "--json", "--seed", 8).stdout)
    assert one["flows"] == d["replications"][1]["flows"]


def test_people_get_80_columns_with_units(cli, small) -> None:
    for n in (1, 3):
        r = cli("run", small, "--replications", n)
        assert r.returncode == 0 and r.stderr == ""
        assert all(len(line) <= 80 for line in r.stdout.splitlines()), r.stdout
        assert "bulk" in r.stdout and "Mbps" in r.stdout and "bottleneck" in r.stdout
        assert ("\u00b1" in r.stdout) == (n > 1)
        # Intervals make the columns wide, but none is left out.
        assert all(f" {title}" in r.stdout for title in ("timeouts", "wait p99", "drops", "marks")), r.stdout


def test_tiny_numbers_take_no_room_beside_large_ones() -> None:
    from tailback.core.results.summary import scale

    unit, show = scale("s", [0.01427, 1.2e-10, 0.0])
    assert unit == "ms"
    assert [show(0.01427, 0.0002), show(1.2e-10, 4e-11), show(0.0, 0.0)] == [
        ("14.27", "0.20"),
        ("0.0000", "0.0000"),
        ("0", ""),
    ]
    unit, show = scale("packets", [3.2850071, 0.000003])
    assert [show(3.2850071, math.nan).mean, show(0.000003, math.nan).mean] == ["3.285", "0.00000"]
    assert scale("%", [9.0e-4])[1](9.0e-4, 4.6e-5).joined() == "0.0900 \u00b10.0046"


def test_replications_of_what_is_not_random_are_said_to_be_alike(cli, tmp_path: Path) -> None:
    quiet = SMALL.replace('kind = "red"', 'kind = "droptail"').replace(', "average"', "")
    (tmp_path / "quiet.toml").write_text(quiet)
    r = cli("run", "quiet.toml", "--replications", 2)
    assert "all alike" in r.stdout and "\u00b1" not in r.stdout
    # What the note advises helps.
    advice = re.search(r"--set '(flows\.NAME\.start=.*?)'", r.stdout)
    assert advice is not None
    r = cli("run", "quiet.toml", "--replications", 2, "--set", advice[1].replace("NAME", "bulk"))
    assert "all alike" not in r.stdout and "\u00b1" in r.stdout


def test_runs_that_would_be_replaced_are_named_first(cli, small, tmp_path: Path) -> None:
    def err(*args: object) -> str:
        r = cli("run", small, "--out", "o", *args)
        assert r.returncode == 0
        return r.stderr

    assert err("--replications", 3) == "" and err("--replications", 4) == ""
    assert "o holds 3 runs that are not among these" in err()
    assert "o holds 1 run that is not among these" in err("--seed", 7)
    (tmp_path / "o" / "runs.parquet").write_text("damaged")
    assert "runs.parquet is damaged" in err("--seed", 8)
    assert "damaged" not in err("--seed", 8)


def test_out_has_tables_scenario_and_manifest(cli, small, tmp_path: Path) -> None:
    r = cli("run", small, "--out", "o", "--replications", 2, "--set", "link.bottleneck.rate=4Mbps")
    assert r.returncode == 0 and "stored in o" in r.stdout
    out = tmp_path / "o"
    names = {p.name for p in out.iterdir()}
    # A table of transfers is there where there are sessions.
    tables = (
        "runs",
        "flows",
        "groups",
        "links",
        "losses",
        "intervals",
        "group_intervals",
        "link_intervals",
        "series",
        "log",
        "delays",
    )
    assert len(tb.load_result(out).transfers) == 0
    assert names == {f"{t}.parquet" for t in tables} | {"scenario.toml", "manifest.json"}
    m = json.loads((out / "manifest.json").read_text())
    assert m["seeds"] == [1, 2] and m["status"] == "done" and m["command"][:2] == ["tailback", "run"]
    assert m["build"] and m["scenario_digest"] and m["machine"]["cores"] and m["runs"][0]["cpu_s"] > 0
    again = cli("run", out / "scenario.toml", "--replications", 2, "--json", "--out", "o")
    d = json.loads(again.stdout)
    assert d["digest"] == m["scenario_digest"] and d["links"][0]["rate_bps"] == 4e6
    # Everything was stored.
    assert d["engine"]["cpu_s"] == 0


def test_an_example_is_found_in_every_folder_and_a_file_of_that_name_comes_first(cli, small, tmp_path: Path) -> None:
    name = "examples/first-run.toml"
    r = cli("check", name)
    assert r.returncode == 0 and str(Path(tb.__file__).parent / "examples") in r.stderr
    assert "there is no file" in cli("check", "examples/no-such.toml").stderr
    assert cli("check", f"other/{name}").returncode == 2
    (tmp_path / "examples").mkdir()
    small.rename(tmp_path / name)
    r = cli("run", name, "--json")
    assert (r.stderr, json.loads(r.stdout)["scenario"]) == ("", "small")


def test_bad_input_is_status_2_with_a_word_of_help(cli, small, tmp_path: Path) -> None:
    def written(name: str, content: bytes) -> Path:
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    files = {
        tmp_path: "is a directory",
        tmp_path / "missing.toml": "there is no file",
        written("empty.toml", b""): "empty",
        written("latin.toml", b'name = "caf\xe9"\n'): "not UTF-8",
        written("cut.toml", SMALL[:130].encode()): "error",
        written("zero.toml", b"\0" * 100): "error",
        written("key.toml", SMALL.replace("warmup", "warmpu").encode()): 'did you mean "warmup"',
        written("cut.json", b'{"duration": "1s",'): "error",
    }
    for path, says in files.items():
        r = cli("run", path)
        assert r.returncode == 2 and r.stdout == "" and "Traceback" not in r.stderr, (path, r.stderr)
        assert says in r.stderr and "help" in r.stderr, r.stderr
    for args, says in (
        (("run", small, "--set", "link.bottleneck.rate"), "has no ="),
        (("run", small, "--set", "link.bottlneck.rate=5Mbps"), "bottleneck"),
        (("run", small, "--replications", 0), "replications"),
        (("run", small, "--seed", "x"), "seed"),
        (("run",), "FILE"),
        (("rnu", small), "'run'"),
        (("run", small, "--jason"), "--json"),
        (("describe", "dropptail"), "droptail"),
    ):
        r = cli(*args)
        assert r.returncode == 2 and r.stdout == "" and says in r.stderr and "Traceback" not in r.stderr, r.stderr


def test_unwritable_out_is_status_1(cli, small, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    r = cli("run", small, "--out", "file")
    assert r.returncode == 2 and r.stdout == "" and "file is a file; give the name of a folder" in r.stderr
    for out in ("file/below", "/proc/nowhere"):
        r = cli("run", small, "--out", out)
        assert r.returncode == 1 and r.stdout == "" and "cannot be stored" in r.stderr and "Traceback" not in r.stderr
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_standard_output_is_status_1(cli, small) -> None:
    with open("/dev/full", "w") as full:
        r = cli("run", small, "--json", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert r.returncode == 1 and "cannot be written" in r.stderr and "Traceback" not in r.stderr


def test_a_reader_that_goes_away_is_no_news(cli) -> None:
    p = cli.start("schema")
    p.stdout.close()
    assert p.stderr.read() == ""
    p.wait()


def test_describe_and_schema(cli) -> None:
    assert "droptail" in cli("describe").stdout
    assert "max_p" in cli("describe", "red").stdout
    assert json.loads(cli("describe", "red", "--json").stdout)[0]["family"] == "queue"
    assert isinstance(json.loads(cli("describe", "--json").stdout), list)
    assert json.loads(cli("schema").stdout)["$defs"]
    assert cli("describe", "--markdown").stdout.startswith("# ")


def test_what_is_said_of_kept_runs_is_counted(cli, small, tmp_path) -> None:
    from tailback.cli.errors import kept

    assert kept(None) == kept(str(tmp_path / "nowhere")) == "; nothing is stored"
    (tmp_path / "empty").mkdir()
    assert kept(str(tmp_path / "empty")).startswith("; no run was finished")
    for runs, says in ((1, "one finished run is kept"), (3, "3 finished runs are kept")):
        out = tmp_path / str(runs)
        assert cli("run", small, "--replications", runs, "--out", out).returncode == 0
        assert says in kept(str(out))


def test_an_interruption_that_python_drops_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python cannot raise out of the callback of a weak reference; the command stops all the same, and a later Ctrl-C
    is Python's own again."""
    dropped = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: dropped.append(what.exc_type))
    held = {1}
    reference = weakref.ref(held, lambda _: signal.raise_signal(signal.SIGINT))
    # Where the tests run in the background SIGINT may be ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(Stopped, match="interrupted"), running(None):
            del held
        assert dropped == [KeyboardInterrupt] and reference() is None
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
