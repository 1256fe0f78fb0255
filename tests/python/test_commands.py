"""`check`, `run -`, `plot DIR` and `report A B`, as a user calls them."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path

import click
import pytest
from conftest import SMALL

import tailback as tb
from tailback.cli import cli as commands
from tailback.core import stats
from tailback.core.results.difference import CompareError, compare
from tailback.core.results.difference import text as text_of

PLAIN = SMALL.split("[record")[0]
START = 'flows.bulk.start={ kind = "uniform", to = "1s" }'


def test_check_says_ok_or_what_is_wrong(cli, small, tmp_path: Path) -> None:
    r = cli("check", small)
    assert (r.returncode, r.stdout, r.stderr) == (0, "ok\n", "")
    r = cli("check", small, "--set", "flows.bulk.count=-1")
    assert r.returncode == 2 and r.stdout == "" and "count" in r.stderr and "help:" in r.stderr
    r = cli("check", small, "--set", "flows.bulk.start=9s")
    assert r.returncode == 0 and r.stdout == "ok\n" and r.stderr.startswith("warning: ")
    assert cli("check", tmp_path / "nothere.toml").returncode == 2


def test_a_scenario_comes_in_on_standard_input(cli, small) -> None:
    wanted = cli("run", small).stdout
    assert cli("run", "-", input=SMALL).stdout == wanted
    as_json = tb.load_scenario(small).json
    assert cli("run", "-", input=as_json).stdout == wanted
    r = cli("check", "-", input=SMALL.replace("5Mbps", "5Mbpt"))
    assert r.returncode == 2 and "standard input:6" in r.stderr
    r = cli("run", "-", input="\xff", encoding="latin-1")
    assert r.returncode == 2 and "not UTF-8" in r.stderr and "Traceback" not in r.stderr


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero")
def test_a_file_without_an_end_is_refused_and_little_memory_is_said(cli, small) -> None:
    import resource

    def most() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    for words, status in (
        (["run", "/dev/zero"], 2),
        (["sweep", "/dev/zero"], 2),
        (["live", small, "--replay", "/dev/zero"], 2),
    ):
        r = cli(*words, preexec_fn=most)
        assert r.returncode == status and "Traceback" not in r.stderr, r.stderr
        assert "longer than 64 MB" in r.stderr or "longer than 536 MB" in r.stderr
        assert "help:" in r.stderr or "; name a file" in r.stderr


def test_a_pipe_is_read_once(cli, tmp_path: Path) -> None:
    import os
    import threading

    os.mkfifo(tmp_path / "pipe.toml")
    write = threading.Thread(target=lambda: (tmp_path / "pipe.toml").write_text("duration = 1\n"), daemon=True)
    write.start()
    r = cli("run", "pipe.toml", timeout=20)
    assert r.returncode == 2 and "duration" in r.stderr


@pytest.mark.slow
def test_stored_results_are_drawn(cli, small, tmp_path: Path) -> None:
    cli("run", small, "--out", "o")
    r = cli("plot", "o")
    assert r.returncode == 0, r.stderr
    files = [tmp_path / line for line in r.stdout.splitlines()]
    assert [f.name for f in files] == ["queue.png", "queue.pdf", "queue.svg"] and all(f.is_file() for f in files)
    assert cli("plot", "o", "goodput", "--to", "g.svg").stdout == "g.svg\n"
    assert "goodput (Mb/s)" in (tmp_path / "g.svg").read_text()
    for wrong, word in (
        (["o", "cwnd"], "recorded: average, queue"),
        (["o", "--to", "g.doc"], ".png"),
        (["o", "--where", "buffer"], "LABEL=VALUE"),
        (["o", "--where", "buffer=1"], 'no label "buffer"'),
        (["nothere"], "is not there"),
    ):
        r = cli("plot", *wrong)
        assert r.returncode == 2 and word in r.stderr and "Traceback" not in r.stderr, (wrong, r.stderr)
    tb.Plan.product(PLAIN, {"rate": ("topology.rate", ["5Mbps", "6Mbps"])}).execute(tmp_path / "p")
    r = cli("plot", "p", "--where", "rate=6Mbps", "--to", "p.png")
    assert r.returncode == 0 and (tmp_path / "p.png").is_file()


def test_two_results_are_compared_pair_by_pair(cli, tmp_path: Path) -> None:
    a = tb.run(PLAIN, replications=6, overrides=[START], out=tmp_path / "a")
    # The seeds of b are 3 to 8: four are shared.
    b = tb.run(PLAIN, replications=6, seed=3, overrides=[START, "topology.queue.kind=droptail"], out=tmp_path / "b")
    d = next(d for d in compare(a, b) if (d.table, d.row, d.column) == ("links", "bottleneck", "sojourn_mean_s"))
    mine = [float(x["sojourn_mean_s"]) for r in (a, b) for x in r.links.where(name="bottleneck", seed=[3, 4, 5, 6])]
    pairs = [y - x for x, y in zip(mine[:4], mine[4:], strict=True)]
    assert d.seeds == 4 and math.isclose(d.difference, statistics.fmean(pairs))
    assert math.isclose(d.ci95, stats.t_quantile(0.975, 3) * statistics.stdev(pairs) / 2)
    assert math.isclose(d.a, statistics.fmean(mine[:4])) and d.clear == (abs(d.difference) > d.ci95)
    r = cli("report", "a", "b")
    assert r.returncode == 0 and "links: bottleneck" in r.stdout and "over 4 seeds" in r.stdout
    assert max(map(len, r.stdout.splitlines())) <= 100
    document = json.loads(
        cli("report", "a", "b", "--json", "--column", "utilisation").stdout, parse_constant=pytest.fail
    )
    assert {x["column"] for x in document["differences"]} == {"utilisation"}
    assert {"a", "b", "difference", "ci95", "seeds", "clear", "unit"} <= set(document["differences"][0])
    quiet = [tb.run(PLAIN.replace("red", kind), replications=3) for kind in ("droptail", "front-drop")]
    alike = compare(*quiet)
    assert alike and not any(d.clear for d in alike) and "all replications are equal" in text_of(alike, "a", "b")
    assert cli("report", "a", "a").stdout == "every run of the two has the same numbers\n"


def test_losses_that_one_of_two_does_not_have_are_zero() -> None:
    a = tb.run(PLAIN, replications=3, overrides=[START])
    b = tb.run(PLAIN, replications=3, overrides=[START, "topology.queue.kind=droptail"])
    early = [d for d in compare(a, b, ["packets"]) if "early" in d.row]
    assert early and all(d.b == 0 and d.a > 0 for d in early)


def test_what_cannot_be_compared_is_said(cli, small) -> None:
    cli("run", small, "--out", "a")
    cli("run", small, "--out", "b", "--seed", "100")
    for args, word in (
        (["a", "b"], "same --seed"),
        (["a", "a", "--column", "utilization"], "no column utilization"),
        (["a", "nothere"], "is not there"),
        (["a", "--json"], "name another folder"),
    ):
        r = cli("report", *args)
        assert r.returncode == 2 and word in r.stderr and "Traceback" not in r.stderr, (args, r.stderr)
    plan = tb.Plan.product(PLAIN, {"queue": ("topology.queue.kind", ["red", "codel"])})
    with pytest.raises(CompareError, match="a varies nothing, but b varies queue"):
        compare(tb.run(PLAIN), plan.execute())


def test_describe_knows_families_and_profiles(cli) -> None:
    assert "\nProfiles\n  rfc\n" in cli("describe", "tcp").stdout
    r = cli("describe", "ns2")
    assert r.returncode == 0 and r.stdout.startswith("ns2 (profile of tcp)") and "min_rto = 200ms" in r.stdout
    assert {m["name"] for m in tb.describe("aqm")} >= {"red", "codel", "blue"}
    assert [m["family"] for m in tb.describe("traffic.poisson")] == ["traffic"]
    assert tb.describe("ns2")[0]["values"]["variant"] == "newreno"
    r = cli("describe", "congestoin")
    assert r.returncode == 2 and 'did you mean "congestion"?' in r.stderr


def test_the_schema_tells_tables_apart_by_their_kind() -> None:
    queue = tb.schema()["$defs"]["queue"]
    names, tables = queue["anyOf"]
    assert "droptail" in names["enum"]
    assert tables["discriminator"]["propertyName"] == "kind" and tables["required"] == ["kind"]
    assert set(tables["discriminator"]["mapping"].values()) == {x["$ref"] for x in tables["oneOf"]}


def test_options_that_several_commands_have_are_the_same_everywhere() -> None:
    """They are declared in `cli/options.py`: name, range and kind do not depend on the command."""
    top = click.Context(commands)
    found: dict[str, list[tuple[str, object]]] = {}
    for name in commands.list_commands(top):
        command = commands.get_command(top, name)
        assert command is not None
        for option in command.params:
            for flag in option.opts:
                found.setdefault(flag, []).append((name, (option.name, option.type.to_info_dict(), option.multiple)))
    for flag in ("--set", "--json", "--seed", "--replications", "--jobs", "--shard", "--memory"):
        declared = {repr(what) for _, what in found[flag]}
        assert len(found[flag]) > 1 and len(declared) == 1, (flag, found[flag])
