"""Passes on `tailback.core.scenario.controls`, whose path of before this is."""

import sys

from tailback.core.scenario.controls import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.scenario.controls"]
