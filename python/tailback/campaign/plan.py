"""The old import path of `tailback.runs.campaign.plan`."""

import sys

from tailback.runs.campaign.plan import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.runs.campaign.plan"]
