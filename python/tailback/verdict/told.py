"""The old import path of `tailback.core.verdict.told`."""

import sys

from tailback.core.verdict.told import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.verdict.told"]
