"""The old import path of `tailback.apps.demo`."""

from tailback.apps.demo import *  # noqa: F403
from tailback.apps.demo import __all__ as __all__
