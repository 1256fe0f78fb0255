"""The old import path of `tailback.runs.campaign.memory`."""

import sys

from tailback.runs.campaign.memory import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.runs.campaign.memory"]
