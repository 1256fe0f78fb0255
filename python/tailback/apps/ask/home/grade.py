"""The grade of a line: DSLReports' table of bufferbloat grades, by how much latency a load adds."""

from __future__ import annotations

#: Each grade, with the largest latency that a load adds, in seconds.
GRADES = (("A+", 0.005), ("A", 0.030), ("B", 0.060), ("C", 0.200), ("D", 0.400))
WORST = "F"


def grade(added_s: float) -> str:
    """The grade of a mean added latency.

    >>> grade(0.004), grade(0.12), grade(0.5)
    ('A+', 'C', 'F')
    """
    return next((name for name, below in GRADES if added_s < below), WORST)
