"""The old import path of `tailback.show.plots.published`."""

import sys

from tailback.show.plots.published import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.show.plots.published"]
