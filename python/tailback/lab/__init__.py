"""Passes on `tailback.apps.lab`, whose path of before this is."""

from tailback.apps.lab import *  # noqa: F403
