"""The old import path of `tailback.core.scenario.reference`."""

import sys

from tailback.core.scenario.reference import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.scenario.reference"]
