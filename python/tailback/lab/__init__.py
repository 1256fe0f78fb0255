"""The old import path of `tailback.apps.lab`."""

from tailback.apps.lab import *  # noqa: F403
from tailback.apps.lab import __all__ as __all__
