"""Passes on `tailback.show.plots`, whose path of before this is."""

from tailback.show.plots import *  # noqa: F403
from tailback.show.plots import __all__ as __all__
