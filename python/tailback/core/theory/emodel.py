"""The quality of a call from its delay and loss: the E-model of ITU-T G.107.

R runs from 0 to 100. Above 80 most users are satisfied, below 60 nearly all are dissatisfied (ITU-T G.109). With the
default values of G.107 a call without delay and loss has 93.2; delay and loss are subtracted from this.

* Delay: Cole and Rosenbluth, "Voice over IP performance monitoring", ACM CCR 31(2), 2001, fit the delay impairment of
  G.107 by two lines.
* Loss: G.107 equation 7-29 with random losses, and G.711 with packet loss concealment (G.113 appendix I: Ie = 0,
  Bpl = 25.1).
"""

from __future__ import annotations

#: R without delay and loss (G.107, default values).
BEST = 93.2
#: From here on a delay disturbs a conversation, s (Cole and Rosenbluth 2001).
NOTICED_S = 0.1773
#: Robustness of G.711 with concealment against random losses, in percent (G.113 appendix I).
ROBUSTNESS = 25.1


def delay_impairment(one_way_s: float) -> float:
    """What R loses by a delay from mouth to ear.

    >>> round(delay_impairment(0.1), 3)
    2.4
    """
    ms = 1e3 * one_way_s
    return 0.024 * ms + 0.11 * max(0.0, ms - 1e3 * NOTICED_S)


def loss_impairment(share: float) -> float:
    """What R loses by packets that are lost at random.

    >>> round(loss_impairment(0.01), 2)
    3.64
    """
    percent = 100 * share
    return 95 * percent / (percent + ROBUSTNESS)


def rating(one_way_s: float, loss: float) -> float:
    """R of a call with this delay from mouth to ear and this share of lost packets; 0 at least.

    >>> round(rating(0.05, 0.0), 1)
    92.0
    """
    return max(0.0, BEST - delay_impairment(one_way_s) - loss_impairment(loss))
