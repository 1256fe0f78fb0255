//! The counts that an agent gets for each ACK.

use tailback_base::Duration;
use tailback_transport::tcp::congestion::RateSample;

/// One ACK, with the values that are counted.
#[derive(Clone, Copy)]
pub struct CountedAck {
    /// Delivered since the connection began, bytes; `None` from an ACK that delivers nothing.
    pub delivered: Option<u64>,
    /// The delivery rate that this ACK samples, bytes a second, and the length of the sample, seconds.
    pub sample: Option<(f64, f64)>,
    pub lost: u64,
    pub echo: bool,
    pub rtt: Option<Duration>,
}

impl CountedAck {
    /// `rate` is the sample that the connection's records give for this ACK.
    pub fn new(rate: Option<&RateSample>, lost: u64, echo: bool, rtt: Option<Duration>) -> CountedAck {
        let over = |r: &RateSample| (r.interval > Duration::ZERO).then(|| r.interval.seconds());
        CountedAck {
            delivered: rate.map(|r| r.total),
            sample: rate.and_then(|r| over(r).map(|s| (r.delivered as f64 / s, s))),
            lost,
            echo,
            rtt,
        }
    }
}
