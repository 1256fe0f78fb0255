"""The old import path of `tailback.core.store.paths`."""

import sys

from tailback.core.store.paths import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.store.paths"]
