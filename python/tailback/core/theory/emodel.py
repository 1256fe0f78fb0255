"""The quality of a call from its delay and loss: the E-model of ITU-T G.107.

The formulas and their sources are those of the table of playout (`crates/tailback-sim/src/measure/e_model.rs`). R runs
from 0 to 100. Above 80 most users are satisfied, below 60 nearly all are dissatisfied (ITU-T G.109).
"""

from __future__ import annotations

from tailback import _core


def delay_impairment(one_way_s: float) -> float:
    """The reduction of R by a delay from mouth to ear.

    >>> round(delay_impairment(0.1), 3)
    2.4
    """
    return _core.e_model(one_way_s, 0.0)[0]


def loss_impairment(share: float) -> float:
    """The reduction of R by random packet loss.

    >>> round(loss_impairment(0.01), 2)
    3.64
    """
    return _core.e_model(0.0, share)[1]


def rating(one_way_s: float, loss: float) -> float:
    """R of a call with this delay from mouth to ear and this share of lost packets; at least 0.

    >>> round(rating(0.05, 0.0), 1)
    92.0
    """
    return _core.e_model(one_way_s, loss)[2]


def opinion(one_way_s: float, loss: float) -> float:
    """The mean opinion score of the same call, from 1 to 4.5.

    >>> round(opinion(0.15, 0.01), 2)
    4.23
    """
    return _core.e_model(one_way_s, loss)[3]
