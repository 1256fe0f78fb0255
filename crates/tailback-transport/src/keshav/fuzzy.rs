//! The estimator of a packet-pair source: an exponential average of the gaps. Its weight depends on how well the
//! average predicts the next gap.
//!
//! The source is Keshav's thesis, chapter 6, and his papers of 1991 and 1994 on packet-pair flow control. The weight of
//! the past is high while predictions are good, and falls when the error is large. A single spike is ignored. The
//! papers give these rules in words. The equations and membership points are our choice, and the points are parameters
//! (`docs/decisions/keshav-sources.md`).
//!
//! ```text
//! e  = min(1, |g - G| / g)         proportional error of the estimate G against the new gap g
//! d  = |e - e of the last gap|     its change
//! h  = filter(d);  E = h E + (1 - h) e       smoothed error
//! a  = alpha(E);   G = a G + (1 - a) g
//! ```
//!
//! An isolated spike makes d large. The error filter then keeps its value, so E stays low, a stays high, and G hardly
//! changes. If the next gap agrees with the jump, d is near 0, E follows e, a falls, and G converges geometrically.
//!
//! The state is four numbers. A gap costs some twenty operations.

/// A controller with one input and three rules. The sets low, middle and high are triangles that peak at three points
/// and sum to one everywhere. The output is the mean of three values, weighted by membership.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rules {
    /// Rising.
    pub peaks: [f64; 3],
    pub outputs: [f64; 3],
}

impl Rules {
    /// The output for the input `x`. Only two neighbouring sets overlap at any point, so the weighted mean is a
    /// straight line from rule to rule.
    pub fn apply(&self, x: f64) -> f64 {
        let ([c0, c1, c2], [low, middle, high]) = (self.peaks, self.outputs);
        let between = |a: f64, b: f64, from: f64, to: f64| from + (to - from) * (x - a) / (b - a);
        if x <= c0 {
            low
        } else if x < c1 {
            between(c0, c1, low, middle)
        } else if x < c2 {
            between(c1, c2, middle, high)
        } else {
            high
        }
    }
}

#[derive(Clone, Debug)]
pub struct GapEstimator {
    alpha_rules: Rules,
    filter_rules: Rules,
    /// Estimate, seconds.
    gap: f64,
    /// Weight of the past at the last gap.
    alpha: f64,
    error: f64,
    smoothed_error: f64,
}

impl GapEstimator {
    /// Start with the first gap, in seconds, which is above 0.
    pub fn new(alpha: Rules, filter: Rules, gap: f64) -> GapEstimator {
        GapEstimator {
            alpha_rules: alpha,
            filter_rules: filter,
            gap,
            alpha: alpha.apply(0.0),
            error: 0.0,
            smoothed_error: 0.0,
        }
    }

    /// Take a new gap, in seconds, which is above 0.
    pub fn update(&mut self, g: f64) {
        let e = ((g - self.gap).abs() / g).min(1.0);
        let h = self.filter_rules.apply((e - self.error).abs());
        self.smoothed_error = h * self.smoothed_error + (1.0 - h) * e;
        self.alpha = self.alpha_rules.apply(self.smoothed_error);
        self.gap = self.alpha * self.gap + (1.0 - self.alpha) * g;
        self.error = e;
    }

    pub fn gap(&self) -> f64 {
        self.gap
    }

    pub fn alpha(&self) -> f64 {
        self.alpha
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALPHA: Rules = Rules {
        peaks: [0.0, 0.3, 0.6],
        outputs: [0.9, 0.5, 0.1],
    };
    const FILTER: Rules = Rules {
        peaks: [0.0, 0.2, 0.4],
        outputs: [0.1, 0.5, 0.9],
    };

    fn settled() -> GapEstimator {
        let mut g = GapEstimator::new(ALPHA, FILTER, 0.3);
        (0..20).for_each(|_| g.update(0.3));
        g
    }

    #[test]
    fn three_sets_sum_to_one() {
        let alpha_at = |x: f64| (ALPHA.apply(x) * 100.0).round() / 100.0;
        let x = [-1.0, 0.0, 0.15, 0.3, 0.45, 0.6, 5.0];
        assert_eq!(x.map(alpha_at), [0.9, 0.9, 0.7, 0.5, 0.3, 0.1, 0.1]);
    }

    /// One gap of 0.6 s among gaps of 0.3 s.
    #[test]
    fn a_single_spike_is_ignored() {
        let mut fuzzy = settled();
        assert_eq!(fuzzy.gap(), 0.3);
        fuzzy.update(0.6);
        let mut most_gap = fuzzy.gap();
        for _ in 0..20 {
            fuzzy.update(0.3);
            most_gap = most_gap.max(fuzzy.gap());
        }
        assert!(most_gap <= 0.36, "{most_gap}");
        assert!((fuzzy.gap() - 0.3).abs() < 0.01, "{}", fuzzy.gap());
    }

    /// A permanent change from 0.3 s to 0.6 s: estimate and weight after each gap, computed separately from the
    /// equations.
    #[test]
    fn a_lasting_step_is_followed() {
        let mut fuzzy = settled();
        let outcomes: Vec<(f64, f64)> = (0..6)
            .map(|_| {
                fuzzy.update(0.6);
                ((fuzzy.gap() * 1e3).round() / 1e3, (fuzzy.alpha() * 1e2).round() / 1e2)
            })
            .collect();
        let expected = [
            (0.350, 0.83),
            (0.481, 0.47),
            (0.535, 0.55),
            (0.554, 0.70),
            (0.564, 0.78),
            (0.571, 0.82),
        ];
        assert_eq!(outcomes, expected);
    }
}
