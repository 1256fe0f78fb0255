"""The old import path of `tailback.runs.campaign`."""

from tailback.runs.campaign import *  # noqa: F403
