"""The old import path of `tailback.show.report.shown_table`."""

import sys

from tailback.show.report.shown_table import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.show.report.shown_table"]
