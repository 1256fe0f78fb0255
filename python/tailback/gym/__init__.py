"""Passes on `tailback.apps.gym`, whose path of before this is."""

from tailback.apps.gym import *  # noqa: F403
