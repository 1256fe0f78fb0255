"""Passes on `tailback.apps.ask.link`, whose path of before this is."""

from tailback.apps.ask.link import *  # noqa: F403
from tailback.apps.ask.link import __all__ as __all__
