"""The old import path of `tailback.show.plots.style`."""

import sys

from tailback.show.plots.style import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.show.plots.style"]
