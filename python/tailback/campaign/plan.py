"""Passes on `tailback.runs.campaign.plan`, whose path of before this is."""

import sys

from tailback.runs.campaign.plan import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.runs.campaign.plan"]
