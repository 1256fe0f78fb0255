"""Finds what helps on a home line: compares the modem alone with shapers at home, while the line is idle, with a
download, with an upload, and with both.

    found = tb.home_line(down="100Mbps", up="20Mbps", rtt="30ms")
    print(found.text())
    found.write_page("out/home")

`line.py` has the question. `phases.py` and `traffic.py` define the traffic, and `variation.py` the variation of the
line's rate. `spoken.py`, `people.py`, `measured.py` and `routers.py` read the options that are given in plain words.
`candidates.py`, `mine.py` and `follow.py` define the queues in front of the line. `measures.py` and `grade.py` define
the measures, and `worth.py` chooses the shaper's share. `fit.py` fits the buffers of the modem to a speed test, and
`answer.py` runs everything. The package `tailback.linux` makes the lines to paste. `summary.py`, `words.py`, `text.py`
and `page.py` show the answer.
"""

from __future__ import annotations

from tailback.apps.ask.home.answer import home_line
from tailback.apps.ask.home.compared import HomeComparison
from tailback.apps.ask.home.line import HomeLine

__all__ = ["HomeComparison", "HomeLine", "home_line"]
