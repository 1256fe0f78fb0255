"""Values that depend on the path, as commands, stored results and Python show them."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import tailback as tb
from tailback import _core
from tailback.core.scenario.settled import MOST_NAMED, sentences, written_out

SCENARIO = """
duration = "20 rtt"
topology = { kind = "dumbbell", rate = "10Mbps", delay = "5ms", queue = { kind = "codel", buffer = "1 bdp" } }
[flows.bulk]
count = 2
rtt = "30ms"
start = { kind = "uniform", to = "1 rtt" }
"""


def test_check_and_run_say_what_the_values_are(tmp_path: Path, cli: Any) -> None:
    (tmp_path / "lab.toml").write_text(SCENARIO)
    said = 'link.bottleneck.queue.buffer = "1 bdp" is 25 packets (1 x 10Mbps x 30ms = 37500B, in packets of 1500B)'
    checked = cli("check", "lab.toml", cwd=tmp_path)
    assert checked.returncode == 0 and checked.stdout == "ok\n" and f"note: {said}\n" in checked.stderr
    assert 'duration = "20 rtt" is 600ms (20 x 30ms)' in checked.stderr
    done = cli("run", "lab.toml", "--out", "out", "--json", cwd=tmp_path)
    assert done.returncode == 0 and f"note: {said}\n" in done.stderr
    shown = json.loads(done.stdout)
    assert shown["duration_s"] == 0.6
    assert {s["key"]: s["value"] for s in shown["settled"]}["link.bottleneck.queue.buffer"] == "25 packets"
    stored = (tmp_path / "out/scenario.toml").read_text()
    assert 'buffer = "1 bdp"' in stored and '#   link.bottleneck.queue.buffer = "25 packets"' in stored
    again = cli("check", "out/scenario.toml", "--set", "topology.rate=20Mbps", cwd=tmp_path)
    assert "is 50 packets" in again.stderr, again.stderr


def test_a_mistake_is_shown_with_line_value_and_remedy(tmp_path: Path, cli: Any) -> None:
    (tmp_path / "lab.toml").write_text(SCENARIO.replace('rtt = "30ms"', 'rtt = ["30ms", "90ms"]'))
    done = cli("check", "lab.toml", cwd=tmp_path)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "lab.toml:2:12, duration" in done.stderr and 'add bdp_rtt = "largest", "mean" or a time' in done.stderr
    assert done.stderr.count("bdp_rtt") == 1, done.stderr
    for rule, packets in (("largest", 75), ("mean", 50), ("60ms", 50)):
        made = tb.load_scenario(tmp_path / "lab.toml", {"bdp_rtt": rule})
        assert made.spec["links"][0]["buffer"] == f"{packets} packets"


def test_the_document_can_be_had_with_plain_quantities() -> None:
    scenario = tb.load_scenario(
        SCENARIO + 'stop = ["9 rtt", "1s"]\n[link.bottleneck]\nreverse_rate = "10 % of bottleneck"\n'
    )
    plain = written_out(tomllib.loads(scenario.toml), scenario)
    assert plain["topology"]["queue"]["buffer"] == "25 packets"
    assert plain["link"]["bottleneck"]["reverse_rate"] == "1Mbps"
    assert plain["flows"]["bulk"]["stop"] == ["270ms", "1s"] and plain["duration"] == "600ms"
    same = tb.load_scenario(plain)
    assert same.spec == {**scenario.spec, "name": same.spec["name"]} and same.settled == []


def test_many_values_are_counted() -> None:
    groups = "".join(f'[flows.g{i}]\nrtt = "30ms"\nstop = "10 rtt"\n' for i in range(MOST_NAMED))
    found = list(sentences(tb.load_scenario(SCENARIO + groups)))
    assert len(found) == MOST_NAMED + 1 and found[-1] == "3 more values depend on the path"


def test_the_schema_takes_what_the_reader_takes() -> None:
    top = json.loads(_core.schema_json())
    patterns = {
        "duration": ["2 rtt", "0.5RTT", "10s"],
        "rate": ["95 %", "95 % of bottleneck", "5% of up-link.reverse", "1Mbps"],
        "buffer": ["0.5 bdp", "1BDP", "100 packets", "unlimited"],
        "min_threshold": ["0.5 bdp", "20%", "5 packets"],
    }
    of = {
        "duration": top["properties"]["duration"],
        "rate": top["$defs"]["link"]["properties"]["rate"],
        "buffer": top["$defs"]["queue.red"]["properties"]["buffer"],
        "min_threshold": top["$defs"]["queue.red"]["properties"]["min_threshold"],
    }
    for key, texts in patterns.items():
        for text in texts:
            assert re.fullmatch(of[key]["pattern"], text), (key, text)
        assert not re.fullmatch(of[key]["pattern"], "5 parsec"), key
    assert "bdp_rtt" in top["properties"]


def test_a_discipline_s_description_names_them(cli: Any) -> None:
    said = " ".join(cli("describe", "htb").stdout.split())
    assert 'sizes as "0.5 bdp", rates as "95 %"' in said, said
    assert "bdp_rtt" in cli("describe", "scenario").stdout
