"""The old import path of `tailback.runs.campaign.sweep`."""

import sys

from tailback.runs.campaign.sweep import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.runs.campaign.sweep"]
