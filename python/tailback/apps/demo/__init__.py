"""The command `demo`, which shows the program in three figures.

`pictures.py` has the pictures: which scenario and disciplines each needs, how it is drawn, and what is said of it.
`make.py` runs them and writes the folder, `page.py` the page.
"""

from __future__ import annotations

from tailback.apps.demo.make import DemoOrder, Occupied, demonstrate

__all__ = ["DemoOrder", "Occupied", "demonstrate"]
