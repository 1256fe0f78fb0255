"""The old import path of `tailback.runs.campaign.load`."""

import sys

from tailback.runs.campaign.load import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.runs.campaign.load"]
