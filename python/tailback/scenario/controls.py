"""The old import path of `tailback.core.scenario.controls`."""

import sys

from tailback.core.scenario.controls import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.scenario.controls"]
