"""Passes on `tailback.core.text`, whose path of before this is."""

from tailback.core.text import *  # noqa: F403
