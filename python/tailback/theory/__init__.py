"""Passes on `tailback.core.theory`, whose path of before this is."""

from tailback.core.theory import *  # noqa: F403
