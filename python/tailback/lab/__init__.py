"""Sliders over real packets: the command `lab`, the widget of a notebook, and a file that needs no server.

`state.py` has what a page shows: a scenario and a second discipline. `asked.py` makes the scenarios that are run of it,
`runs.py` runs them and stops those that are outdated, `frames.py` packs what is drawn. `conversation.py` answers a page
whatever carries its messages: `server.py` (a socket), `widget.py` (a notebook) or `export.py` (runs made beforehand, in
one file). The page itself is in `static/`, one script that `page.py` puts together.
"""

from __future__ import annotations

__all__: list[str] = []
