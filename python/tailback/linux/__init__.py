"""Linux's `tc`: disciplines in its words and back, its units, shapers of home routers, SQM of OpenWrt, and the laws by
which parameters follow from a link.

No other package has words of `tc`. This package imports no application; comparison, home lines and live runs use it.
"""

from __future__ import annotations

from tailback.linux.reading import read
from tailback.linux.units import TcError
from tailback.linux.words import write

__all__ = ["TcError", "read", "write"]
