"""Passes on `tailback.apps.demo`, whose path of before this is."""

from tailback.apps.demo import *  # noqa: F403
from tailback.apps.demo import __all__ as __all__
