"""Sliders that run packet simulations: the command `lab`, the widget of a notebook, and a file that needs no server.

`state.py` has what a page shows: a scenario and a second discipline. The crate `tailback-lab` makes its runs, its
picture and its controls. `runs.py` runs them and stops those that are outdated. `conversation.py` answers a page,
whatever carries its messages: `server.py` (a socket) or `notebook.py` (a widget). `export.py` writes a file that needs
neither, because the engine stands in it. The page itself is in `static/`, one script that `page.py` puts together.
"""

from __future__ import annotations

__all__: list[str] = []
