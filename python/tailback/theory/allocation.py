"""The old import path of `tailback.core.theory.allocation`."""

import sys

from tailback.core.theory.allocation import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.theory.allocation"]
