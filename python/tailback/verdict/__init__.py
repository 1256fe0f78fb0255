"""Passes on `tailback.core.verdict`, whose path of before this is."""

from tailback.core.verdict import *  # noqa: F403
