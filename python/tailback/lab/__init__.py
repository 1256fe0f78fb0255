"""Passes on `tailback.apps.lab`, whose path of before this is."""

from tailback.apps.lab import *  # noqa: F403
from tailback.apps.lab import __all__ as __all__
