"""Passes on `tailback.apps.ask.home`, whose path of before this is."""

from tailback.apps.ask.home import *  # noqa: F403
from tailback.apps.ask.home import __all__ as __all__
