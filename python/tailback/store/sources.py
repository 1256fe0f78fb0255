"""The old import path of `tailback.core.store.sources`."""

import sys

from tailback.core.store.sources import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.store.sources"]
