"""Passes on `tailback.runs.live`, whose path of before this is."""

from tailback.runs.live import *  # noqa: F403
