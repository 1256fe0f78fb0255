"""Passes on `tailback.core.store.sources`, whose path of before this is."""

import sys

from tailback.core.store.sources import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.store.sources"]
