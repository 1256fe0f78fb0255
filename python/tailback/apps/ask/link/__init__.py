"""Which queue for my link? Compares disciplines on one link, and ranks them by significant differences.

    found = tb.compare_queues(rate="50Mbps", rtt="40ms", flows=16)
    print(found.text())
    found.write_page("out/compare")

`link.py` is the question, `candidates.py` what each discipline is given and why, `traffic.py` the scenario,
`measures.py` what is looked at, `ranking.py` what counts as better, `answer.py` runs it all; `text.py` and `page.py`
show it.
"""

from __future__ import annotations

from tailback.apps.ask.given import LinkError
from tailback.apps.ask.link.answer import compare_queues
from tailback.apps.ask.link.compared import Comparison
from tailback.apps.ask.link.link import Link, link

__all__ = ["Comparison", "Link", "LinkError", "compare_queues", "link"]
