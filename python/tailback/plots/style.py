"""Passes on `tailback.show.plots.style`, whose path of before this is."""

import sys

from tailback.show.plots.style import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.show.plots.style"]
