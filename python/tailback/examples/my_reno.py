"""TCP Reno in Python (RFC 5681 section 3), with the windows of the built-in `reno` ACK by ACK.

Left out: HyStart++, whole segments as in Linux and ns-3 (`congestion_form`), `ecn_decrease`, and routers' requests.
"""


class Reno:
    def __init__(self, rules, *, kept: float = 0.5):
        self.rules, self.kept = rules, kept
        self.cwnd, self.ssthresh = rules.initial_window, rules.initial_ssthresh

    def on_ack(self, ack):
        rules, segment = self.rules, self.rules.segment
        used = ack.window_limited or rules.grow_when_unused
        if ack.acked == 0 or ack.phase == "recovery" or ack.ecn_echo or not used:
            return
        if self.cwnd < self.ssthresh:  # slow start
            most = 1 if rules.byte_counting == 0 or ack.phase == "loss" else rules.byte_counting
            by_count = rules.byte_counting == 0 and rules.grow_when_unused
            self.cwnd += segment if by_count else min(ack.acked, most * segment)
        else:  # congestion avoidance: a segment a round trip
            self.cwnd += segment * (min(ack.acked, self.cwnd) if rules.byte_counting else segment) / self.cwnd

    def on_congestion(self, sign):
        rules, segment = self.rules, self.rules.segment
        timeout = sign.what in ("timeout", "lost-syn")
        if timeout:
            self.cwnd = max(self.cwnd, segment) if sign.what == "timeout" else segment
        if not sign.again:
            halved = min(self.cwnd, rules.cap) if rules.halve == "cwnd" else sign.flight
            if sign.what == "mark":
                halved = min(self.cwnd, halved)
            left = halved * self.kept
            self.ssthresh = max(left // segment * segment if rules.whole_ssthresh else left, 2 * segment)
            self.cwnd = max(left, rules.least) if rules.whole_ssthresh or sign.what == "mark" else self.ssthresh
        if timeout:
            self.cwnd = self.ssthresh if rules.timeout_reaction == "halve" else segment
