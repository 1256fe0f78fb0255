"""What `tc ... show` prints, as text and as JSON: settings and counters."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from test_linux_pastes import rows

from tailback.linux import dump, dump_json
from tailback.readers import tc
from tailback.readers.given import Given
from tailback.readers.recognise import read

OUTPUTS = tomllib.loads(Path(__file__).parents[1].joinpath("reference/tc/outputs.toml").read_text())["output"]


def counted(queues: Any) -> list[dict[str, Any]]:
    """Counters of each qdisc, class and tin, as the file has them."""
    found = []
    for q in queues:
        found.append({"of": f"{q.statement.kind} {q.statement.handle}", **q.counters})
        found += [{"of": name, **tin} for name, tin in q.tins.items()]
    return [{k: round(v, 9) if isinstance(v, float) else v for k, v in row.items()} for row in found]


def test_there_are_enough() -> None:
    assert len(OUTPUTS) >= 20 and sum("JSON" in o["about"] for o in OUTPUTS) >= 4


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda o: o["about"])
def test_settings_and_counters(output: dict[str, Any]) -> None:
    reading = read(Given("output", output["text"].encode()))
    assert reading.kind in (tc.SHOWN, tc.DOCUMENT)
    assert rows(reading) == output["queues"]
    assert counted(reading.data.counters) == output["counted"]
    assert [f"{x.line} {x.what}" for x in reading.left] == output.get("left", [])
    # Every number of the lines of counters is among them.
    said = {str(v) for row in output["counted"] for v in row.values()}
    for line in output["text"].splitlines():
        if line.startswith(" Sent"):
            assert {
                w for w in line.replace("(", " ").replace(")", " ").replace(",", " ").split() if w.isdigit()
            } <= said


def test_text_and_json_of_one_queue_are_one() -> None:
    text = (
        "qdisc fq_codel 8001: dev eth0 root refcnt 2 limit 600p flows 1024 quantum 300 target 5ms interval 100ms "
        "memory_limit 4Mb ecn drop_batch 64\n Sent 10 bytes 2 pkt (dropped 3, overlimits 4 requeues 5)\n"
        " backlog 6b 7p requeues 5\n"
    )
    options = {"limit": 600, "flows": 1024, "quantum": 300, "target": 4999, "interval": 99999}
    options |= {"memory_limit": 4194304, "ecn": True, "drop_batch": 64}
    document = [{"kind": "fq_codel", "handle": "8001:", "dev": "eth0", "root": True, "options": options, "bytes": 10}]
    document[0] |= {"packets": 2, "drops": 3, "overlimits": 4, "requeues": 5, "backlog": 6, "qlen": 7}
    a, b = (read(Given("one", t.encode())) for t in (text, json.dumps(document)))
    assert rows(a) == rows(b) and counted(a.data.counters) == counted(b.data.counters)


def test_what_is_no_output_is_none() -> None:
    assert not dump.looks_like("the qdisc is gone\nclass of 1999\n")
    assert not dump_json.is_document([{"kind": "cake"}]) and not dump_json.is_document({"a": 1})
    assert dump_json.is_document([{"kind": "cake", "handle": "1:", "root": True}])
