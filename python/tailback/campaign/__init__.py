"""Passes on `tailback.runs.campaign`, whose path of before this is."""

from tailback.runs.campaign import *  # noqa: F403
