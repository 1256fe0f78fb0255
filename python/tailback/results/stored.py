"""The old import path of `tailback.core.results.stored`."""

import sys

from tailback.core.results.stored import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.results.stored"]
