"""Passes on `tailback.core.scenario.amounts`, whose path of before this is."""

import sys

from tailback.core.scenario.amounts import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.scenario.amounts"]
