"""Passes on `tailback.apps.ask`, whose path of before this is."""

from tailback.apps.ask import *  # noqa: F403
