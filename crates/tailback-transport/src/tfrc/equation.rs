//! The rate that TCP Reno would have (RFC 5348 section 3.1), and its inverse.

/// The inputs of the equation from the path, in addition to the loss event rate.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Segment size, bytes.
    pub segment: f64,
    /// Round trip, seconds.
    pub rtt: f64,
    /// The least retransmission timeout of the equation, seconds. The equation assumes four round trips, but at least
    /// this time.
    pub least_rto: f64,
}

impl Path {
    /// The rate at loss event rate `p`, bytes/s, with one acknowledgement per packet. Infinite without losses.
    pub fn rate(&self, p: f64) -> f64 {
        let rto = (4.0 * self.rtt).max(self.least_rto);
        let halvings = self.rtt * libm::sqrt(2.0 * p / 3.0);
        let timeouts = rto * 3.0 * libm::sqrt(3.0 * p / 8.0) * p * (1.0 + 32.0 * p * p);
        self.segment / (halvings + timeouts)
    }

    /// The loss event rate at which [`Path::rate`] is `rate`; 1 for rates below `Path::rate(1)`.
    pub fn loss_event_rate(&self, rate: f64) -> f64 {
        // The rate falls with p over many orders of magnitude, so the bisection is on a logarithmic scale.
        let (mut low, mut high) = (1e-12, 1.0);
        for _ in 0..60 {
            let middle = libm::sqrt(low * high);
            if self.rate(middle) > rate {
                low = middle;
            } else {
                high = middle;
            }
        }
        libm::sqrt(low * high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path = Path {
        segment: 1460.0,
        rtt: 0.1,
        least_rto: 0.0,
    };

    #[test]
    fn rates_of_the_equation() {
        for (p, megabits) in [(0.001, 4.483), (0.01, 1.312), (0.1, 0.207)] {
            let rate = PATH.rate(p) * 8e-6;
            assert!((rate - megabits).abs() < 0.0005, "{p}: {rate}");
        }
        assert_eq!(PATH.rate(0.0), f64::INFINITY);
    }

    #[test]
    fn the_inverse_gives_the_loss_event_rate_back() {
        for p in [1e-9, 1e-4, 0.01, 0.5] {
            let inverted = PATH.loss_event_rate(PATH.rate(p));
            assert!((inverted / p - 1.0).abs() < 1e-9, "{p}: {inverted}");
        }
        assert!(PATH.loss_event_rate(1.0) > 0.999_999);
    }

    /// At one loss in ten packets the second term dominates. With a timeout of a second this term grows by the ratio of
    /// the timeouts.
    #[test]
    fn a_floor_of_the_timeout_lowers_the_rate() {
        let floor = Path { least_rto: 1.0, ..PATH };
        let rate = floor.rate(0.1) * 8e-6;
        assert!((rate - 0.1139).abs() < 0.0001, "{rate}");
        let second = |path: &Path| path.segment / path.rate(0.1) - 0.1 * (0.2_f64 / 3.0).sqrt();
        assert!((second(&floor) / second(&PATH) - 2.5).abs() < 1e-9);
    }
}
