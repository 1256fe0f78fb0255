//! The quality of a call from its delay and loss: the E-model of ITU-T G.107, in its short form.
//!
//! ```text
//!   R = 93.2 - Id - Ie,eff
//!   Id = 0.024 d + 0.11 (d - 177.3) [d > 177.3]                  d: from mouth to ear, ms
//!   Ie,eff = 95 P / (P / B + 25.1)                               P: lost packets, per cent
//!   MOS = 1 + 0.035 R + 7e-6 R (R - 60) (100 - R)
//! ```
//!
//! R runs from 0 to 100. Above 80 most users are satisfied, below 60 nearly all are dissatisfied (G.109). A call with
//! the default values of G.107, free of delay and loss, has R = 93.2. Id is the fit of Cole and Rosenbluth, "Voice over
//! IP performance monitoring", ACM CCR 31(2), 2001. Ie,eff is equation 7-29 of G.107 for G.711 with packet loss
//! concealment (G.113 appendix I: Ie = 0, Bpl = 25.1). The burst ratio B is the mean length of a run of losses, divided
//! by that of random losses of the same share, 1 / (1 - P / 100); random losses have B = 1.

/// R without delay and loss (G.107, default values).
const BEST: f64 = 93.2;
/// The delay in seconds from which a conversation is disturbed.
const NOTICED: f64 = 0.1773;
/// Robustness of G.711 with concealment against random losses, per cent.
const ROBUSTNESS: f64 = 25.1;

/// The reduction of R by a delay from mouth to ear in seconds.
pub fn delay_impairment(one_way: f64) -> f64 {
    1e3 * (0.024 * one_way + 0.11 * (one_way - NOTICED).max(0.0))
}

/// The reduction of R by this share of lost packets, with this burst ratio.
pub fn loss_impairment(share: f64, burst_ratio: f64) -> f64 {
    let percent = 100.0 * share;
    95.0 * percent / (percent / burst_ratio + ROBUSTNESS)
}

/// R, which is at least 0.
pub fn rating(one_way: f64, share: f64, burst_ratio: f64) -> f64 {
    let rating = BEST - delay_impairment(one_way) - loss_impairment(share, burst_ratio);
    // `max` would turn NaN into a number.
    if rating < 0.0 { 0.0 } else { rating }
}

/// The mean opinion score for R, from 1 to 4.5 (G.107 annex B).
pub fn opinion(rating: f64) -> f64 {
    let r = rating.clamp(0.0, 100.0);
    let score = 1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r);
    if score < 1.0 { 1.0 } else { score }
}

/// The burst ratio of losses whose runs have this mean length.
pub fn burst_ratio(mean_run: f64, share: f64) -> f64 {
    mean_run * (1.0 - share)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calculated by hand from the formulas: delay in ms, loss in per cent, R and MOS.
    #[test]
    fn ratings_are_those_of_the_formulas() {
        for (ms, percent, r, mos) in [
            (0.0, 0.0, "93.20", "4.41"),
            (100.0, 0.0, "90.80", "4.36"),
            (150.0, 1.0, "85.96", "4.23"),
            (300.0, 0.0, "72.50", "3.71"),
            (200.0, 2.0, "78.89", "3.98"),
            (100.0, 5.0, "75.02", "3.82"),
        ] {
            let rating = rating(ms / 1e3, percent / 100.0, 1.0);
            assert_eq!(
                (format!("{rating:.2}"), format!("{:.2}", opinion(rating))),
                (r.into(), mos.into())
            );
        }
    }

    /// With losses in runs that are twice as long as random ones, the reduction is 95 5 / (5 / 2 + 25.1) = 17.21
    /// instead of 15.78.
    #[test]
    fn runs_of_losses_are_worse_than_single_ones() {
        assert!((loss_impairment(0.05, 1.0) - 15.781).abs() < 1e-3);
        assert!((loss_impairment(0.05, 2.0) - 17.210).abs() < 1e-3);
        assert!((burst_ratio(1.0 / (1.0 - 0.05), 0.05) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_scales_have_ends() {
        assert_eq!((rating(2.0, 0.0, 1.0), opinion(0.0), opinion(100.0)), (0.0, 1.0, 4.5));
        assert!(rating(f64::NAN, 0.0, 1.0).is_nan() && (0..100).all(|r| opinion(f64::from(r)) >= 1.0));
    }
}
