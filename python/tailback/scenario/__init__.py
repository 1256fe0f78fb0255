"""Passes on `tailback.core.scenario`, whose path of before this is."""

from tailback.core.scenario import *  # noqa: F403
