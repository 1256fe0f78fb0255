"""Passes on `tailback.core.scenario.reference`, whose path of before this is."""

import sys

from tailback.core.scenario.reference import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.scenario.reference"]
