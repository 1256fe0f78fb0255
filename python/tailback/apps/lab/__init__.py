"""Sliders that run packet simulations: the command `lab`, the widget of a notebook, and a file that needs no server.

`state.py` has the state that a page shows: a scenario and a second discipline. The crate `tailback-lab` makes the runs,
the picture and the controls of a state. `runs.py` starts the runs and stops outdated ones. `conversation.py` answers
the messages of a page, which `server.py` (a socket) or `notebook.py` (a widget) carries. `export.py` writes a file that
needs neither of these two, because the file contains the engine. The page itself is in `static/`, one script that
`page.py` puts together.
"""

from __future__ import annotations

__all__: list[str] = []
