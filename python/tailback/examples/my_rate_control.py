"""A rate control of media in Python: the rate follows the queueing delay.

Below `limit` seconds of queue the rate grows by 8 % a second. Above it a report takes away 15 % of the rate, and with
more than a tenth of its packets lost half of that share. What a reduction does is awaited before the next one.
"""


class Calm:
    probes = {"queueing": "s"}
    report_every = 0.05

    def __init__(self, terms, *, limit: float = 0.02):
        self.terms, self.limit = terms, limit
        self.target = terms.start  # bit/s on the wire
        self.base = float("inf")  # the least one-way delay, seconds
        self.queueing = 0.0
        self.last = self.reduced = None

    def on_feedback(self, feedback):
        arrived = [p for p in feedback.packets if p.received is not None]
        if not arrived:
            return
        delays = [p.received - p.sent for p in arrived]
        self.base = min(self.base, *delays)
        self.queueing += 0.5 * (min(delays) - self.base - self.queueing)
        step = 0.0 if self.last is None else min(0.5, feedback.now - self.last)
        self.last = feedback.now
        lost = 1 - len(arrived) / len(feedback.packets)
        if lost > 0.1:
            self.reduce(feedback, 1 - lost / 2)
        elif self.queueing > self.limit:
            self.reduce(feedback, 0.85)
        else:
            self.target = min(self.target * 1.08**step, self.terms.max)

    def reduce(self, feedback, share):
        if self.reduced is None or feedback.now > self.reduced + feedback.rtt + 0.2:
            self.reduced = feedback.now
            self.target = max(self.target * share, self.terms.min)
