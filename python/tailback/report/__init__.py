"""Passes on `tailback.show.report`, whose path of before this is."""

from tailback.show.report import *  # noqa: F403
