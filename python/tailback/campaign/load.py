"""Passes on `tailback.runs.campaign.load`, whose path of before this is."""

import sys

from tailback.runs.campaign.load import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.runs.campaign.load"]
