"""SEARCH in Python (draft-chung-ccwg-search-09): slow start ends when deliveries fall behind what was sent.

`Search` is a rule with the methods of the built-in ones, and `WatchedReno` a Reno that asks it. With `rule` "hystart",
"train" or "search" it asks a built-in rule instead.

Left out: the drain to the estimated product that follows. Between bins it interpolates backward, as the draft's authors
mean it.
"""

# Section 2: round trips, bins of it, bins that are kept, a share.
WINDOW, BINS, KEPT, THRESHOLD = 3.5, 10, 25, 0.26


class Search:
    def __init__(self):
        self.sent = self.delivered = 0  # bytes so far
        self.bin = None  # how long one is, seconds
        self.end = 0.0
        self.bins = []  # (sent, delivered) at the end of each bin, the newest last

    def judge(self, ack, *, cwnd, ssthresh, least=None):
        ends = ack.rtt is not None and ssthresh == float("inf") and self.looks(ack.now, ack.rtt)
        self.delivered += ack.acked
        return ends, None

    def looks(self, now, rtt):
        if self.bin is None:
            self.bin = WINDOW * rtt / BINS
        if not self.bins or now > self.end + BINS * self.bin:  # the first ACK, or too long without one: it begins
            self.bins, self.end = [(self.sent, self.delivered)], now + self.bin
        if now <= self.end:
            return False
        while self.end < now:
            self.bins.append((self.sent, self.delivered))
            self.end += self.bin
        del self.bins[:-KEPT]
        return self.missing(rtt / self.bin) >= THRESHOLD

    def missing(self, back):
        """The share of what was sent in ten bins that was not delivered in the ten bins that end `back` bins later."""
        if len(self.bins) < BINS + back + 2:
            return 0.0
        sent = self.sent_before(back) - self.sent_before(back + BINS)
        delivered = self.bins[-1][1] - self.bins[-1 - BINS][1]
        return (sent - delivered) / sent if sent > 0 else 0.0

    def sent_before(self, back):
        whole, share = int(back), back % 1
        return self.bins[-1 - whole][0] * (1 - share) + self.bins[-2 - whole][0] * share

    def on_sent(self, sent):
        self.sent += sent.bytes

    def restart(self):
        """A timeout: the slow start that follows has a threshold, and is not watched."""


class WatchedReno:
    def __init__(self, rules, *, rule: str = "own"):
        self.rules, self.start = rules, Search() if rule == "own" else rules.slow_start(rule)
        self.cwnd, self.ssthresh = rules.initial_window, rules.initial_ssthresh
        self.least = float("inf")

    def on_sent(self, sent):
        if self.cwnd < self.ssthresh:
            self.start.on_sent(sent)

    def on_ack(self, ack):
        segment, growth = self.rules.segment, None
        if ack.rtt is not None:
            self.least = min(self.least, ack.rtt)
        if self.cwnd < self.ssthresh and self.least < float("inf"):
            ends, growth = self.start.judge(ack, cwnd=self.cwnd, ssthresh=self.ssthresh, least=self.least)
            if ends:
                self.ssthresh = self.cwnd
                return
        if ack.acked == 0 or ack.phase == "recovery" or ack.ecn_echo or not ack.window_limited:
            return
        if growth is not None:
            self.cwnd += growth
        elif self.cwnd < self.ssthresh:
            self.cwnd += min(ack.acked, segment)
        else:
            self.cwnd += segment * min(ack.acked, self.cwnd) / self.cwnd

    def on_congestion(self, sign):
        segment = self.rules.segment
        if not sign.again:
            self.ssthresh = self.cwnd = max(sign.flight / 2, 2 * segment)
        if sign.what in ("timeout", "lost-syn"):
            self.cwnd = segment
            self.start.restart()
