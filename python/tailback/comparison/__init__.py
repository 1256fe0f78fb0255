"""The old import path of `tailback.apps.ask.link`."""

from tailback.apps.ask.link import *  # noqa: F403
from tailback.apps.ask.link import __all__ as __all__
