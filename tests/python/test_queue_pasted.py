"""`--queue` with a pasted line of `tc`, a file or standard input, in `run`, `check`, `compare` and the lab."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SHAPER = """\
RATE=4mbit
tc qdisc add dev eth0 root handle 1: htb default 10
tc class add dev eth0 parent 1: classid 1:10 htb rate $RATE burst 3000 cburst 3000
tc qdisc add dev eth0 parent 1:10 codel limit 50 noecn
"""
QUEUE = (
    '{ kind = "htb", rate = "4Mbps", burst = "3000B", overhead = "14B", '
    'queue = { kind = "codel", buffer = "50 packets", ecn = false } }'
)
RED = '{ kind = "red", buffer = "40 packets" }'
BOTH = """\
tc qdisc add dev eth0 root cake bandwidth 1mbit
tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: matchall action mirred egress redirect dev ifb0
tc qdisc add dev ifb0 root cake bandwidth 3mbit
"""


@pytest.fixture
def plain(small: str) -> Path:
    """The small scenario without what it records of RED."""
    path = Path(small)
    path.write_text(path.read_text().split("[record")[0])
    return path


def out(r) -> str:
    assert r.returncode == 0 and "Traceback" not in r.stderr, r.stderr
    return r.stdout


def test_a_paste_is_the_queue_of_the_bottleneck(cli, plain: Path, tmp_path: Path) -> None:
    sets = ["--set", f"link.bottleneck.queue={QUEUE}", "--set", f"link.bottleneck.reverse_queue={RED}"]
    wanted = out(cli("run", plain, *sets))
    r = cli("run", plain, "--queue", SHAPER)
    assert out(r) == wanted and "eth0 is bottleneck: queue codel, a shaper of 4 Mbps" in r.stderr
    (tmp_path / "shaper.sh").write_text(SHAPER)
    assert out(cli("run", plain, "--queue", tmp_path / "shaper.sh")) == wanted
    assert out(cli("run", plain, "--queue", "-", input=SHAPER)) == wanted
    assert out(cli("check", plain, "--queue", SHAPER)) == "ok\n"
    assert out(cli("check", plain, "--queue", "fq_codel")) == "ok\n"


def test_netem_is_the_impairment_of_that_name(cli, plain: Path) -> None:
    line = "tc qdisc add dev eth0 root netem delay 30ms 5ms 25% dist normal loss 1% 25% reorder 2% gap 5 limit 500"
    netem = 'kind = "netem", limit = 500, delay = "30ms", jitter = "5ms", delay_correlation = 0.25, loss = 0.01'
    netem += ', distribution = "normal", loss_correlation = 0.25, reorder = 0.02, gap = 5'
    words = ["--set", f"link.bottleneck.impair=[{{ {netem} }}]"]
    r = cli("run", plain, "--queue", line)
    assert out(r) == out(cli("run", plain, *words)) and "left out" not in r.stderr
    assert "eth0 is bottleneck: netem" in r.stderr.replace("\n", " ")


def test_netem_with_a_rate_needs_no_shaper(cli, plain: Path) -> None:
    """On an Ethernet device the rate counts the header of 14 B, too."""
    line = "tc qdisc add dev eth0 root netem rate 3mbit 20 48 5 limit 40"
    netem = 'kind = "netem", rate = "3Mbps", overhead = "34B", cell_size = "48B", cell_overhead = "5B", limit = 40'
    words = ["--set", f"link.bottleneck.impair=[{{ {netem} }}]"]
    assert out(cli("run", plain, "--queue", line)) == out(cli("run", plain, *words))


def test_a_peak_rate_is_a_second_bucket_around_the_first(cli, plain: Path) -> None:
    tbf = "tc qdisc add dev eth0 root tbf rate 3mbit burst 60000 peakrate 5mbit mtu 1540 limit 90000"
    whole = '{ kind = "htb", rate = "5Mbps", burst = "1540B", overhead = "14B", queue = { kind = "htb", '
    whole += 'rate = "3Mbps", burst = "60000B", overhead = "14B", queue = { kind = "droptail", buffer = "90000B" } } }'
    words = ["--set", f"link.bottleneck.queue={whole}", "--set", f"link.bottleneck.reverse_queue={RED}"]
    r = cli("run", plain, "--queue", tbf)
    assert out(r) == out(cli("run", plain, *words)) and "left out" not in r.stderr
    r = cli("run", plain, "--queue", tbf.replace(" mtu 1540", ""))
    assert r.returncode == 2 and "peakrate without mtu" in r.stderr.replace("\n", " ")


def test_both_directions_are_the_way_and_the_way_back(cli, plain: Path) -> None:
    down, up = ('{ kind = "cake", rate = "3Mbps" }', '{ kind = "cake", rate = "1Mbps" }')
    words = ["--set", f"link.bottleneck.queue={down}", "--set", f"link.bottleneck.reverse_queue={up}"]
    r = cli("run", plain, "--queue", BOTH)
    assert out(r) == out(cli("run", plain, *words))
    assert "ifb0 is bottleneck" in r.stderr and "eth0 is the way back of bottleneck" in r.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--queue", "an odd line"], "files of this kind cannot be read here"),
        (
            ["--queue", "tc qdisc add dev eth0 root hfsc"],
            "hfsc is not simulated: its service curves have no counterpart",
        ),
        (["--queue", '{ kind = "codel" }'], "a table goes with --set link.NAME.queue={...}"),
        (["--queue", "no-such-file"], "there is no file no-such-file; name one, or paste a line of tc"),
    ],
)
def test_what_is_no_queue_gets_one_message(cli, plain: Path, words: list[str], said: str) -> None:
    r = cli("run", plain, *words)
    assert r.returncode == 2 and said in r.stderr.replace("\n", " ") and "Traceback" not in r.stderr


def test_standard_input_is_read_once(cli) -> None:
    r = cli("run", "-", "--queue", "-", input="")
    assert r.returncode == 2 and "standard input is read once" in r.stderr


@pytest.mark.slow
def test_compare_has_it_beside_others(cli) -> None:
    link = ["--rate", "5Mbps", "--rtt", "40ms", "--traffic", "bulk", "--duration", "2s", "--replications", "1"]
    link += ["--flows", "2", "--json"]
    alone = cli("compare", *link, "--queue", SHAPER)
    found = {row["queue"]: row for row in json.loads(out(alone))["ranking"]}
    assert set(found) == {"droptail", "pasted codel"}
    assert found["pasted codel"]["parameters"]["queue"] == {"kind": "codel", "buffer": "50 packets", "ecn": False}
    # What is printed for it is what was pasted; on an Ethernet device htb counts the header by itself.
    lines = found["pasted codel"]["tc_production"]
    assert "htb rate 4mbit ceil 4mbit burst 3000 cburst 3000 quantum 1514 overhead 0 linklayer ethernet" in lines[1]
    assert lines[2].endswith("parent 1:1 codel limit 50 noecn")
    # The buffer of the experiment is in the line of what was tried, and not in the one to paste.
    assert found["droptail"]["tc"].startswith("pfifo limit") and found["droptail"]["tc_production"][-1].endswith(
        "pfifo"
    )
    two = cli("compare", *link, "--queue", "codel", "--queue", BOTH)
    assert {row["queue"] for row in json.loads(out(two))["ranking"]} == {"codel", "pasted cake up", "pasted cake down"}
    # A line without the words before the kind, and what belongs to the path.
    r = cli("compare", *link, "--queue", "codel,pie", "--queue", "fq_codel limit 100")
    assert {row["queue"] for row in json.loads(out(r))["ranking"]} == {"codel", "pie", "pasted fq-codel"}
    r = cli("compare", *link, "--queue", "tc qdisc add dev eth0 root netem delay 10ms rate 4mbit limit 20")
    assert r.returncode == 2 and "give --rtt and --rate, or tailback run" in r.stderr.replace("\n", " ")
    both = "tc qdisc add dev eth0 root handle 1: netem delay 10ms; tc qdisc add dev eth0 parent 1: fq_codel"
    r = cli("compare", *link, "--queue", both)
    assert "netem on eth0 (delay 10ms) belongs to the path and is not compared; give --rtt" in r.stderr.replace(
        "\n", " "
    )
    assert {row["queue"] for row in json.loads(out(r))["ranking"]} == {"droptail", "pasted fq-codel"}


def test_the_lab_begins_with_it() -> None:
    from tailback.cli import pasted
    from tailback.cli.scenarios.lab import _start, state_of

    made = pasted.overrides(_start(), (), SHAPER)
    state = state_of(None, tuple(made), None)
    queue = state.document["link"]["bottleneck"]["queue"]
    assert (queue["kind"], queue["rate"], queue["queue"]["kind"]) == ("htb", "4Mbps", "codel")


def test_read_repeats_it(cli, tmp_path: Path) -> None:
    found = json.loads(out(cli("read", "-", "--json", input=SHAPER)))
    assert found["kind"] == "tc" and found["left_out"] == []
    assert {"what": "class 1:10", "value": "rate 4Mbps, burst 3000 B, cburst 3000 B", "line": 3} in found["understood"]
    written = out(cli("read", "-", "--write", "-", input=SHAPER))
    assert 'queue = { kind = "htb", rate = "4Mbps"' in written
