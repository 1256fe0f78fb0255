"""Passes on `tailback.show.plots.published`, whose path of before this is."""

import sys

from tailback.show.plots.published import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.show.plots.published"]
