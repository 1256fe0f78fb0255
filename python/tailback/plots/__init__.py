"""The old import path of `tailback.show.plots`."""

from tailback.show.plots import *  # noqa: F403
from tailback.show.plots import __all__ as __all__
