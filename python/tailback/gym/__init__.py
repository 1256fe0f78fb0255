"""Passes on `tailback.apps.gym`, whose path of before this is."""

from tailback.apps.gym import *  # noqa: F403
from tailback.apps.gym import __all__ as __all__
