"""Passes on `tailback.core.results`, whose path of before this is."""

from tailback.core.results import *  # noqa: F403
