"""Passes on `tailback.runs.campaign.sweep`, whose path of before this is."""

import sys

from tailback.runs.campaign.sweep import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.runs.campaign.sweep"]
