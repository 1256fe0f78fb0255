"""Passes on `tailback.runs.campaign.memory`, whose path of before this is."""

import sys

from tailback.runs.campaign.memory import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.runs.campaign.memory"]
