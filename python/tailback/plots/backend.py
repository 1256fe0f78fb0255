"""matplotlib, whatever backend the environment names.

Figures here are written to files and shown by what asks for their bytes; neither needs a backend. So one that
matplotlib does not know is no reason to stop: it is left aside. This module is imported before any part of matplotlib.
"""

from __future__ import annotations

import contextlib
import os

_asked = os.environ.pop("MPLBACKEND", None)
try:
    import matplotlib
finally:
    if _asked is not None:
        os.environ["MPLBACKEND"] = _asked
if _asked:
    # What a notebook has asked for still serves the user's own figures.
    with contextlib.suppress(ValueError):
        matplotlib.rcParams["backend"] = _asked
