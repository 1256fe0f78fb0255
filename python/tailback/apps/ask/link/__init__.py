"""Which queue for my link? Compares disciplines on one link, and ranks them by significant differences.

    found = tb.compare_queues(rate="50Mbps", rtt="40ms", flows=16)
    print(found.text())
    found.write_page("out/compare")

`link.py` has the question. `candidates.py` has the settings of each discipline with the reasons, `traffic.py` the
scenario, and `measures.py` the measures. `ranking.py` decides which differences count. `answer.py` runs everything.
`text.py` and `page.py` show the answer.
"""

from __future__ import annotations

from tailback.apps.ask.given import LinkError
from tailback.apps.ask.link.answer import compare_queues
from tailback.apps.ask.link.compared import Comparison
from tailback.apps.ask.link.link import Link, link

__all__ = ["Comparison", "Link", "LinkError", "compare_queues", "link"]
