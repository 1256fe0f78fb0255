"""Passes on `tailback.core.store`, whose path of before this is."""

from tailback.core.store import *  # noqa: F403
