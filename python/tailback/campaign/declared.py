"""The old import path of `tailback.core.declared`."""

import sys

from tailback.core.declared import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.declared"]
