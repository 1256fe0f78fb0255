"""The old import path of `tailback.apps.ask.home`."""

from tailback.apps.ask.home import *  # noqa: F403
from tailback.apps.ask.home import __all__ as __all__
