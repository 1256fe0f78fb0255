//! A model of the rate of a TCP sender at a loss rate when losses cause timeouts, and the loss rates at which two round
//! trips have the same rate in this model.
//!
//! ```text
//! B(R, T0, p) = 1 / ( R sqrt(2 b p/3) + T0 min(1, 3 sqrt(3 b p/8)) p (1 + 32 p^2) )     packets per second
//! ```
//!
//! R is the round trip, T0 the first timeout, and b the number of packets per ACK. From: Padhye, Firoiu, Towsley and
//! Kurose, "Modeling TCP throughput", SIGCOMM 1998, equation 30, without the limit of the receiver's window; and Habib
//! et al. 2000, which proposes this equation instead of 1/(R sqrt p). The way in which it is used here is our choice.

use std::f64;

/// The number of packets that one ACK acknowledges; 1 stands for a receiver without delayed ACKs.
const PACKETS_AN_ACK: f64 = 1.0;

/// The rate at a loss rate, packets per second. Times are in seconds.
pub fn rate(round_trip: f64, timeout: f64, loss: f64) -> f64 {
    let b = PACKETS_AN_ACK;
    let repairs = round_trip * libm::sqrt(2.0 * b * loss / 3.0);
    let often = (3.0 * libm::sqrt(3.0 * b * loss / 8.0)).min(1.0);
    1.0 / (repairs + timeout * often * loss * (1.0 + 32.0 * loss * loss))
}

/// The first timeout for a round trip: twice the round trip, and at least a second (RFC 6298 section 2.4).
fn timeout(round_trip: f64) -> f64 {
    (2.0 * round_trip).max(1.0)
}

/// The loss at which a sender with the round trip `own` has the same rate as one with the round trip `least` at the
/// loss `at_least`. The result is a share of `at_least`, at most 1.
pub fn share(own: f64, least: f64, at_least: f64) -> f64 {
    let least_rate = rate(least, timeout(least), at_least);
    let (mut low, mut high) = (1e-6, 0.5);
    // 60 bisections reduce the error below the last bit.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if rate(own, timeout(own), middle) > least_rate {
            low = middle;
        } else {
            high = middle;
        }
    }
    (0.5 * (low + high) / at_least).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rate is computed by hand for R = 0.1 s, T0 = 1 s and p = 0.01.
    #[test]
    fn the_rate_is_that_of_the_formula() {
        let repairs = 0.1 * (0.02_f64 / 3.0).sqrt();
        let waits = 3.0 * (0.03_f64 / 8.0).sqrt() * 0.01 * 1.0032;
        assert!((rate(0.1, 1.0, 0.01) - 1.0 / (repairs + waits)).abs() < 1e-9);
        // Beyond 3 sqrt(3p/8) = 1, each loss is a timeout.
        let seconds = 0.1 * (0.8_f64 / 3.0).sqrt() + 0.4 * (1.0 + 32.0 * 0.16);
        assert!((rate(0.1, 1.0, 0.4) - 1.0 / seconds).abs() < 1e-9);
    }

    /// Without timeouts, the share is the square of the ratio of the round trips. Timeouts bring it nearer to one.
    #[test]
    fn timeouts_ask_for_less_contrast() {
        assert!((share(0.02, 0.02, 0.01) - 1.0).abs() < 1e-6);
        let (rare, often) = (share(0.1, 0.02, 1e-4), share(0.1, 0.02, 0.05));
        let square = (0.02_f64 / 0.1).powi(2);
        assert!(rare > square && rare < 2.0 * square, "{rare}");
        assert!(often > 0.3 && often < 1.0, "{often}");
        // At these losses both senders have the same rate.
        let p = 0.05 * often;
        assert!((rate(0.1, 1.0, p) / rate(0.02, 1.0, 0.05) - 1.0).abs() < 1e-6);
    }
}
