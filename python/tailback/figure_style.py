"""The old import path of `tailback.core.figure_style`."""

import sys

from tailback.core.figure_style import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.figure_style"]
