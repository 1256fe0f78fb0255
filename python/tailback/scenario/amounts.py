"""The old import path of `tailback.core.scenario.amounts`."""

import sys

from tailback.core.scenario.amounts import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.scenario.amounts"]
