"""Folders of results from outside: status, locks, damage, places that cannot be written, and names from strangers."""

from __future__ import annotations

import csv
import json
import os
import stat
import time
from pathlib import Path

import pytest
from conftest import SMALL

import tailback as tb
from tailback import _core
from tailback.core.store.paths import cell, file_name, table_file, write_csv
from tailback.core.store.sources import Answers


def status(cli, dir: Path) -> dict:
    r = cli("status", dir, "--json")
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)


def bytes_of(dir: Path) -> dict[str, bytes]:
    return {str(p.relative_to(dir)): p.read_bytes() for p in dir.rglob("*") if p.is_file()}


def test_status_says_what_is_stored_and_what_was_kept_and_changes_nothing(cli, small, tmp_path: Path) -> None:
    out = tmp_path / "o"
    assert cli("run", small, "--replications", 3, "--out", out).returncode == 0
    found = status(cli, out)
    assert found["status"] == "done" and found["in_use_by"] is None and found["damaged"] == []
    assert [(r["stored"], r["kept"], r["seed"]) for r in found["runs"]] == [(True, False, s) for s in (1, 2, 3)]
    assert all(r["cpu_s"] > 0 for r in found["runs"])
    assert cli("run", small, "--replications", 4, "--out", out).returncode == 0
    before = bytes_of(out)
    assert [r["kept"] for r in status(cli, out)["runs"]] == [True, True, True, False]
    assert "4 of 4 runs stored" in cli("status", out).stdout and bytes_of(out) == before
    (out / "links.parquet").write_bytes(before["links.parquet"][:-1])
    found = status(cli, out)
    assert not any(r["stored"] for r in found["runs"]) and found["damaged"] == [str(out / "links.parquet")]
    with pytest.raises(OSError, match=r"links\.parquet cannot be read: the file is damaged"):
        _ = tb.load_result(out).links
    r = cli("run", small, "--replications", 4, "--out", out)
    assert r.returncode == 0 and "links.parquet is damaged" in r.stderr
    assert (out / "links.parquet").read_bytes() == before["links.parquet"]
    assert cli("status", tmp_path / "nowhere").returncode == 2
    (tmp_path / "empty").mkdir()
    assert "holds no results" in cli("status", tmp_path / "empty").stderr


def test_a_killed_plan_of_short_runs_goes_on_where_it_was(cli, small, tmp_path: Path) -> None:
    """A kill comes when a chunk is stored; what was stored is kept, and the bytes are the same."""
    args = ("run", small, "--set", "duration=20s", "--replications", 150, "--jobs", 2)
    assert cli(*args, "--out", tmp_path / "whole").returncode == 0
    met = 0
    for attempt in range(5):
        out = tmp_path / f"killed-{attempt}"
        p = cli.start(*args, "--out", out)
        while p.poll() is None and all(c.suffix for c in out.glob("chunks/*")):
            time.sleep(0.001)
        time.sleep(0.01 * attempt)
        p.kill()
        p.communicate()
        before = {r["key"] for r in status(cli, out)["runs"] if r["stored"]} if out.is_dir() else set()
        met += 0 < len(before) < 150
        assert cli(*args, "--out", out).returncode == 0
        kept = {r["key"] for r in status(cli, out)["runs"] if r["kept"]}
        assert kept >= before
        one, other = bytes_of(tmp_path / "whole"), bytes_of(out)
        assert one.keys() == other.keys()
        assert all(one[n] == other[n] for n in one if n != "manifest.json")
        if met >= 2:
            break
    assert met > 0, "no kill met a stored run: this proves nothing"


def test_two_processes_do_not_write_into_one_folder(cli, small, tmp_path: Path) -> None:
    args = ("run", small, "--set", "duration=300s", "--replications", 200, "--out", tmp_path / "o")
    p = cli.start(*args)
    for _ in range(200):
        if (tmp_path / "o" / "manifest.json").is_file():
            break
        time.sleep(0.02)
    try:
        r = cli(*args)
        assert r.returncode == 1 and f"in use by process {p.pid}" in r.stderr and "Traceback" not in r.stderr
        assert status(cli, tmp_path / "o")["in_use_by"] == p.pid
    finally:
        p.kill()
        p.communicate()
    assert status(cli, tmp_path / "o")["status"] == "killed"


def test_a_folder_that_cannot_be_written_can_still_be_read(cli, small, tmp_path: Path) -> None:
    out = tmp_path / "o"
    assert cli("run", small, "--out", out).returncode == 0
    before = bytes_of(out)
    out.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert status(cli, out)["runs"][0]["stored"] and len(tb.load_result(out).flows) == 4
        if os.geteuid() != 0:
            r = cli("run", small, "--seed", 9, "--out", out)
            assert r.returncode == 1 and "cannot be stored" in r.stderr
    finally:
        out.chmod(stat.S_IRWXU)
    assert bytes_of(out) == before


def test_another_plan_stays_beside(tmp_path: Path) -> None:
    one, other = tb.Plan([({}, SMALL)], 2), tb.Plan([({}, SMALL)], 3, seed=100)
    for plan in (one, other, one, other):
        plan.execute(tmp_path / "o")
    assert sum(r["stored"] for r in _core.status(tmp_path / "o")["runs"]) == 5
    assert one.execute(tmp_path / "o").report["reused"] == 2


def test_the_key_does_not_know_where_the_program_was_built() -> None:
    from tailback.core.store import fingerprint

    assert len(fingerprint.build()) == 32 and fingerprint.build() == _core.source
    assert str(Path(_core.__file__).parent) not in fingerprint.build()


def test_a_study_writes_only_into_its_folder(tmp_path: Path) -> None:
    assert [file_name(x) for x in ("../../etc/x", "/etc/x", "..", "fig-3.4", "a b")] == [
        "_.._etc_x",
        "_etc_x",
        "_",
        "fig-3.4",
        "a_b",
    ]
    assert table_file(tmp_path, "../up", 1).parent == tmp_path / "tables"


def test_no_cell_of_a_csv_file_is_a_formula(tmp_path: Path) -> None:
    assert [cell(x) for x in ("=1+1", "+x", "-x", "@x", "-1.5", "-", "a=b", -2)] == [
        "'=1+1",
        "'+x",
        "'-x",
        "'@x",
        "-1.5",
        "-",
        "a=b",
        -2,
    ]
    write_csv(tmp_path / "t" / "x.csv", [["=cmd()", 1], ["a", None]])
    assert list(csv.reader((tmp_path / "t" / "x.csv").open())) == [["'=cmd()", "1"], ["a", ""]]


def test_answers_without_packets_are_held_against_a_checksum(tmp_path: Path) -> None:
    a = Answers(tmp_path)
    a.add("k", "of", {"values": {"x": 0.1, "y": float("nan")}, "series": {"value": [1.0, 2.5]}}, 0.5)
    a.write()
    again = Answers(tmp_path)
    assert "k" in again and not again.damaged and again.get("k").values["x"] == 0.1
    assert again.get("k").columns("series")["value"].tolist() == [1.0, 2.5] and again.costs() == {"of": 0.5}
    again.path.write_text(again.path.read_text().replace("2.5", "2.6"))
    assert Answers(tmp_path).damaged and "k" not in Answers(tmp_path)


def test_a_table_that_most_scenarios_cannot_fill_has_a_file_only_where_it_has_rows(tmp_path: Path) -> None:
    sessions = Path(__file__).parents[2] / "python/tailback/examples/sessions.toml"
    out = tmp_path / "o"
    full = tb.run(sessions, duration="5s", warmup="0s", out=out)
    assert len(full.transfers) > 0 and (out / "transfers.parquet").is_file()
    plain = tb.run(SMALL, out=out)
    assert not (out / "transfers.parquet").exists()
    assert list(plain.transfers.columns) == list(full.transfers.columns) and len(plain.transfers) == 0
    assert _core.status(out)["damaged"] == []
