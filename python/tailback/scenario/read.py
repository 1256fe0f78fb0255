"""The old import path of `tailback.core.scenario.read`."""

import sys

from tailback.core.scenario.read import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.scenario.read"]
