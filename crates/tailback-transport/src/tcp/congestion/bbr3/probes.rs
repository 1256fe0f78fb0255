//! Values of BBRv3 that can be recorded.

use super::Bbr3;
use tailback_base::model::Probe;

pub(super) const READ: [Probe<Bbr3>; 10] = [
    Probe::new(
        "bottleneck_rate",
        "bit/s",
        "greatest delivery rate of payload in this cycle and the previous cycle",
        |q: &Bbr3, _| q.path.max_bw() * 8.0,
    ),
    Probe::new(
        "bw",
        "bit/s",
        "bottleneck_rate, bounded after recent losses",
        |q: &Bbr3, _| q.bw * 8.0,
    ),
    Probe::new("min_rtt", "s", "least round trip in ten seconds", |q: &Bbr3, _| {
        q.trips.least.map_or(f64::NAN, |r| r.seconds())
    }),
    Probe::new(
        "pacing_gain",
        "1",
        "factor on the rate estimate, which gives the pacing rate",
        |q: &Bbr3, _| q.pacing_gain(),
    ),
    Probe::new(
        "mode",
        "1",
        "0 Startup, 1 Drain, 2 DOWN, 3 CRUISE, 4 REFILL, 5 UP, 6 ProbeRTT",
        |q: &Bbr3, _| q.state as u8 as f64,
    ),
    Probe::new("round", "1", "round trips so far", |q: &Bbr3, _| q.path.round as f64),
    Probe::new(
        "inflight_longterm",
        "segments",
        "limit on the data in flight from the last probe; infinite until a probe loses too much",
        |q: &Bbr3, _| q.bounds.inflight_longterm / q.rules.segment,
    ),
    Probe::new(
        "inflight_shortterm",
        "segments",
        "limit on the data in flight after losses outside of probes; infinite without such a loss in this cycle",
        |q: &Bbr3, _| q.bounds.inflight_shortterm / q.rules.segment,
    ),
    Probe::new(
        "extra_acked",
        "segments",
        "largest amount of data acknowledged beyond the estimated rate, in ten round trips",
        |q: &Bbr3, _| q.path.extra_acked() / q.rules.segment,
    ),
    Probe::new(
        "full_pipe",
        "1",
        "1 after the path was found to be full",
        |q: &Bbr3, _| f64::from(u8::from(q.full.reached)),
    ),
];
