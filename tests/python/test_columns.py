"""One word a column: the heads of one run in the terminal, on its page, on an axis, in `compare` and in the lab."""

from __future__ import annotations

import json
import re
from pathlib import Path

import tailback as tb
from tailback.apps.ask.link.measures import MEASURES
from tailback.apps.lab import frames
from tailback.apps.lab.runs import LabOrder, made_of
from tailback.apps.lab.state import State
from tailback.core.results.columns import column, for_people, tables
from tailback.core.results.expression import parse, words
from tailback.core.results.quantities import label
from tailback.show.report import run_tables

SNAPSHOT = Path(__file__).parent / "snapshots" / "columns.txt"
#: A scenario whose tables all have rows.
SCENARIO = """
duration = "4s"
[topology]
kind = "star"
hosts = 2
rate = "2Mbps"
delay = "10ms"
queue = { kind = "codel", buffer = "30 packets" }
host_queue = { kind = "codel", buffer = "30 packets" }
[flows.bulk]
from = "host1"
to = "host2"
[flows.echoed]
from = "host1"
to = "host2"
traffic = { kind = "cbr", rate = "100kbps" }
udp = { echo = true }
packet_size = "200B"
[flows.film]
from = "host1"
to = "host2"
traffic = { kind = "video", rate = "1Mbps" }
deadline = "150ms"
playout = "fixed"
[flows.call]
from = "host1"
to = "host2"
traffic = "voice"
playout = "fixed"
[flows.files]
from = "host1"
to = "host2"
traffic = { kind = "transfer", size = "20kB" }
[workload.web]
sizes = { kind = "constant", mean = "5kB" }
mean_gap = "500ms"
"""


def test_each_column_has_one_long_and_one_short_word() -> None:
    result = tb.run(SCENARIO, replications=2)
    terminal = result.summary(width=400)
    pages = {t.caption: [head for head, _ in t.heads] for t in run_tables.means(result.results, [])}
    lines = []
    for table in for_people():
        assert len(getattr(result.results, table.name)), table.name
        for c in table.on_pages:
            title = c.title[0].upper() + c.title[1:]
            assert title in pages[table.title], (table.name, c.name)
            assert words(parse(f"{table.name}.{c.name}")) == c.title
            if c.shown == "everywhere":
                assert re.search(rf"  {re.escape(c.short)}(?=  |$)", terminal, re.M), (table.name, c.short, terminal)
            else:
                assert not re.search(
                    rf"^{table.columns[table.keys[0]].short} .*  {re.escape(c.short)}  ", terminal, re.M
                )
            lines.append(f"{table.name}.{c.name}: {label(c.title, c.shown_unit)} | {c.short}")
    assert lines == SNAPSHOT.read_text().splitlines()
    of_link, of_call = tables()["links"].columns, tables()["datagrams"].columns
    by_name = {m.name: m for m in MEASURES}
    for measure, c in (
        ("utilisation", of_link["utilisation"]),
        ("delay_p50_s", of_link["sojourn_p50_s"]),
        ("delay_p99_s", of_link["sojourn_p99_s"]),
        ("loss_rate", of_link["loss_rate"]),
        ("mean_queue_packets", of_link["mean_queue_packets"]),
    ):
        assert (by_name[measure].title, by_name[measure].head) == (c.title, c.short)
    assert by_name["call_p99_s"].head == f"call {of_call['delay_p99_s'].short}"
    header, _ = frames.unpack(
        made_of(LabOrder(1, State(json.loads(tb.load_scenario(SCENARIO).json)), "coarse", 100)) or b""
    )
    shown = {tuple(m["at"]): m["title"] for m in header["measures"]}
    assert all(shown["link", c.name] == c.title for c in tables()["links"].on_pages)


def test_a_quantity_has_the_same_word_in_every_table() -> None:
    named: dict[str, set[tuple[str, str]]] = {}
    for table in tables().values():
        for c in table.columns.values():
            if not c.key:
                named.setdefault(c.name, set()).add((c.title, c.short))
    # A frame is delayed from its time to its last packet; a datagram's delay is its own.
    several = {name for name, words_of in named.items() if len(words_of) > 1}
    assert several <= {"delay_mean_s", "delay_p50_s", "delay_p95_s", "delay_p99_s", "delay_max_s"}, several


def test_a_column_that_is_not_declared_is_called_by_its_name() -> None:
    assert column("links", "own_meter").title == "own meter"
    assert column("mine", "x").short == "x"
