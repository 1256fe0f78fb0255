"""Passes on `tailback.core.figure_style`, whose path of before this is."""

import sys

from tailback.core.figure_style import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.figure_style"]
