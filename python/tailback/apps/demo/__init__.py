"""The command `demo`, which shows the program in three figures.

`pictures.py` defines the pictures: the scenario, the disciplines, the drawing and the text of each. `make.py` runs the
scenarios and writes the folder. `page.py` writes the page.
"""

from __future__ import annotations

from tailback.apps.demo.make import DemoOrder, Occupied, demonstrate

__all__ = ["DemoOrder", "Occupied", "demonstrate"]
