"""The old import path of `tailback.core.extension`."""

import sys

from tailback.core.extension import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.extension"]
