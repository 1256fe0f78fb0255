"""The old import path of `tailback.apps.gym`."""

from tailback.apps.gym import *  # noqa: F403
from tailback.apps.gym import __all__ as __all__
