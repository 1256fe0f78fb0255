"""Passes on `tailback.core.store.paths`, whose path of before this is."""

import sys

from tailback.core.store.paths import *  # noqa: F403

sys.modules[__name__] = sys.modules["tailback.core.store.paths"]
