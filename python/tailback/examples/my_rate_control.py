"""A rate control of media in Python: the rate follows the queueing delay.

Below `target` ms of queue the rate grows by 8 % a second, above it a report takes away up to 15 % of what arrives. More
than a tenth of packets lost takes away half of that share.
"""


class Calm:
    probes = {"queueing": "s"}
    report_every = 0.05

    def __init__(self, terms, *, target: float = 0.02):
        self.limit = target
        self.target = terms.start  # bit/s on the wire; the sender holds it between terms.min and terms.max
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
            self.target *= 1.08**step

    def reduce(self, feedback, share):
        # What a reduction does shows a round trip and a report later.
        if self.reduced is None or feedback.now > self.reduced + feedback.rtt + 0.2:
            self.reduced = feedback.now
            self.target *= share
