//! Numbers that several tables use.

use crate::measure::histogram::Histogram;
use crate::sim::flow::Snapshot;
use tailback_transport::SenderReport;

/// `a / b`; NaN unless `b` is positive.
pub fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { f64::NAN }
}

/// The mean; NaN without values.
pub fn mean(values: &[f64]) -> f64 {
    ratio(values.iter().sum(), values.len() as f64)
}

/// The q-quantile of sorted values, interpolated between two of them (type 7 of Hyndman and Fan 1996, as in most
/// software); NaN without values.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let rank = q * last as f64;
    let below = rank as usize;
    let above = (below + 1).min(last);
    sorted[below] + (rank - below as f64) * (sorted[above] - sorted[below])
}

/// Mean and sample standard deviation.
pub fn mean_sd(x: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    if x.is_empty() {
        return (f64::NAN, f64::NAN);
    }
    let mean = x.iter().sum::<f64>() / n;
    let var = if x.len() > 1 {
        x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0)
    } else {
        0.0
    };
    (mean, libm::sqrt(var))
}

/// Jain's fairness index, (sum x)^2 / (n sum x^2); NaN for no flows or no traffic.
pub fn jain(x: &[f64]) -> f64 {
    let sum: f64 = x.iter().sum();
    let squares: f64 = x.iter().map(|v| v * v).sum();
    if squares > 0.0 {
        sum * sum / (x.len() as f64 * squares)
    } else {
        f64::NAN
    }
}

/// A distribution in a few numbers; NaN without samples.
#[derive(Clone, Copy)]
pub struct Spread {
    pub mean: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

impl Spread {
    pub fn of(h: Option<&Histogram>) -> Spread {
        let read = |what: fn(&Histogram) -> f64| h.map_or(f64::NAN, what);
        Spread {
            mean: read(Histogram::mean),
            p50: read(|h| h.quantile(0.5)),
            p95: read(|h| h.quantile(0.95)),
            p99: read(|h| h.quantile(0.99)),
            max: read(Histogram::max),
        }
    }
}

/// Payload that arrived, each byte once, bit/s.
pub fn goodput(s: &Snapshot, seconds: f64) -> f64 {
    s.arrived as f64 * 8.0 / seconds
}

/// Bytes of whole packets divided by their payload, over the packets that arrived.
pub fn wire_ratio(s: &Snapshot) -> f64 {
    let payload = s.data.received_payload_bytes;
    if payload > 0 {
        s.data.received_wire_bytes as f64 / payload as f64
    } else {
        1.0
    }
}

/// Mean of the round-trip samples, seconds.
pub fn rtt_mean(r: &SenderReport) -> f64 {
    if r.rtt_samples > 0 {
        r.rtt_sum / r.rtt_samples as f64
    } else {
        f64::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_the_sorted_values() {
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        for (q, expected) in [(0.0, 1.0), (0.5, 5.5), (0.95, 9.55), (0.99, 9.91), (1.0, 10.0)] {
            assert!((quantile(&ten, q) - expected).abs() < 1e-12, "{q}");
        }
        assert_eq!(quantile(&[3.0], 0.99), 3.0);
        assert!(quantile(&[], 0.5).is_nan() && mean(&[]).is_nan());
    }
}
