//! The state of a connection under the names of Linux's `tcp_info` (include/uapi/linux/tcp.h).
//!
//! Windows and amounts are in whole segments, rounded down if the sender has fractions. Times are in microseconds.
//! While a reduction is spread (RFC 9937), Linux's window is the amount in the network plus the amount that the last
//! acknowledgement releases. The value `snd_cwnd` here is the same. A segment that a probe repeats while nothing is
//! lost does not count as lost.
//!
//! Nothing is stored for these values, because every value is computed when it is read. The buffers of sockets, the
//! delayed-ACK timer and the path's MTU are not shown, because no sender here has these.

use super::connection::State;
use super::recovery::LossRecovery;
use super::sender::Sender;
use tailback_base::Duration;

/// The number that stands for a threshold without limit (`TCP_INFINITE_SSTHRESH`).
const UNLIMITED: u64 = 0x7fff_ffff;

/// `ca_state`: the phase of a recovery in Linux's congestion control (`enum tcp_ca_state`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaState {
    Open = 0,
    /// There are duplicates or reports, but no segment is judged lost.
    Disorder = 1,
    /// The window is reduced for an ECN echo.
    Cwr = 2,
    Recovery = 3,
    Loss = 4,
}

/// A value with its name, without the prefix `tcpi_`.
pub type Shown = (&'static str, u64);

/// `tcpi_state` for a state of a connection (include/net/tcp_states.h).
pub(super) fn state_number(s: State) -> u64 {
    match s {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived { .. } => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait { .. } => 6,
        State::Idle | State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

impl Sender {
    /// The phase of the sender's recovery.
    pub fn ca_state(&self) -> CaState {
        let (c, recovery) = (self.seen(), self.recovery());
        if recovery.in_recovery() {
            CaState::Recovery
        } else if c.phase() == super::congestion::Phase::Loss {
            CaState::Loss
        } else if c.is_spreading() {
            CaState::Cwr
        } else if c.duplicates() > 0 || recovery.sacked(c) > 0 {
            CaState::Disorder
        } else {
            CaState::Open
        }
    }

    /// All values.
    pub fn info(&self) -> Vec<Shown> {
        let (c, cfg, rto) = (self.seen(), self.seen().cfg(), self.seen().rto());
        let payload = u64::from(cfg.payload);
        let segments = |bytes: u64| bytes.div_ceil(payload);
        let micros = |d: Duration| d.0 / 1_000;
        let state = self.ca_state();
        let repairing = matches!(state, CaState::Recovery | CaState::Loss);
        let counts = c.seen_records().map(|list| list.counts());
        let (unacked, sacked, waiting, resent) = match counts {
            Some(n) => (n.outstanding, n.sacked, n.lost, n.again),
            // Without SACK, duplicates stand for segments that have arrived.
            None if !cfg.sack => (segments(c.outstanding()), u64::from(c.duplicates()), 0, 0),
            None => (segments(c.outstanding()), segments(self.recovery().sacked(c)), 0, 0),
        };
        let window = c.spread_window().map_or(self.cwnd(), |w| w as f64);
        let threshold = self.ssthresh() / cfg.segment();
        let report = c.report_so_far();
        let (reordering, reordered) = self.recovery().reordering(c);
        let rtt = |seconds: f64| (seconds * 1e6) as u64;
        let mut entries = vec![
            ("ca_state", state as u64),
            ("snd_cwnd", ((window + 0.5) as u64) / payload),
            (
                "snd_ssthresh",
                if threshold < UNLIMITED as f64 {
                    threshold as u64
                } else {
                    UNLIMITED
                },
            ),
            ("unacked", unacked),
            ("sacked", sacked),
            ("lost", waiting + if repairing { resent } else { 0 }),
            ("retrans", resent),
            ("reordering", u64::from(reordering)),
            ("reord_seen", u64::from(reordered)),
            ("total_retrans", report.retransmitted_packets),
            ("total_rto", report.timeouts),
            ("backoff", u64::from(rto.backoff()).max(1).ilog2().into()),
            ("rto", micros(rto.timeout(cfg))),
            ("rtt", rto.srtt().map_or(0, micros)),
            ("rttvar", rtt(rto.rttvar(cfg).max(0.0))),
            ("snd_mss", payload),
            ("advmss", payload),
        ];
        if report.rtt_samples > 0 {
            entries.push(("min_rtt", rtt(report.rtt.least)));
        }
        if let Some(counts) = c.seen_counts() {
            let bytes = counts.bytes().map(u64::from);
            entries.push(("delivered_ce", u64::from(counts.marked())));
            entries.extend(
                ["delivered_e1_bytes", "delivered_ce_bytes", "delivered_e0_bytes"]
                    .into_iter()
                    .zip(bytes),
            );
        }
        if let Some(list) = c.seen_records() {
            entries.push(("delivered", list.delivered() / payload));
        }
        entries
    }
}
