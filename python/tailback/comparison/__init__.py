"""Which queue for my link: disciplines side by side on one link, ranked where a difference is one.

    found = tb.compare_queues(rate="50Mbps", rtt="40ms", flows=16)
    print(found.text())
    found.write_page("out/compare")

`link.py` is the question, `candidates.py` what each discipline is given and why, `traffic.py` the scenario,
`measures.py` what is looked at, `ranking.py` what counts as better, `answer.py` runs it all; `text.py` and `page.py`
show it.
"""

from __future__ import annotations

from tailback.ask.given import LinkError
from tailback.comparison.answer import compare_queues
from tailback.comparison.compared import Comparison
from tailback.comparison.link import Link, link

__all__ = ["Comparison", "Link", "LinkError", "compare_queues", "link"]
