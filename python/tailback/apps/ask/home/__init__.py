"""Finds what helps on a home line: compares the modem alone with shapers at home, while the line is idle, with a
download, with an upload, and with both.

    found = tb.home_line(down="100Mbps", up="20Mbps", rtt="30ms")
    print(found.text())
    found.write_page("out/home")

`line.py` is the question, `phases.py` and `traffic.py` what happens on the line, `variation.py` how its rate varies,
`spoken.py`, `people.py`, `measured.py` and `routers.py` read what people say, `candidates.py`, `mine.py` and
`follow.py` are what stands in front of the line, `measures.py` and `grade.py` what is looked at, `worth.py` what a
share is worth; `fit.py` finds the modem that was measured, and `answer.py` runs it all; the room `linux` makes the
lines to paste; `summary.py`, `words.py`, `text.py` and `page.py` show the answer.
"""

from __future__ import annotations

from tailback.apps.ask.home.answer import home_line
from tailback.apps.ask.home.compared import HomeComparison
from tailback.apps.ask.home.line import HomeLine

__all__ = ["HomeComparison", "HomeLine", "home_line"]
