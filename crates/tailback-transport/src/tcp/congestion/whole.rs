//! Windows in whole segments, as Linux counts them.
//!
//! A window is a number of segments, and acknowledged segments count towards the next one. In slow start each
//! acknowledged segment adds one segment. Beyond the threshold the control says how many acknowledged segments add one
//! segment (a whole window for Reno). Fractions are not lost, because the remainder counts next time.
//!
//! The state is the counts so far, 16 bytes.

use super::AckEvent;
use super::window::real;

#[derive(Clone, Debug, Default)]
pub struct WholeSegments {
    /// Segments acknowledged so far towards the next segment of the window.
    counted: f64,
    /// The acknowledged part of the next segment, bytes.
    rest: f64,
}

impl WholeSegments {
    /// Whole segments that have arrived by now.
    pub fn delivered(&mut self, a: &AckEvent<'_>, segment: f64) -> f64 {
        self.whole(real(a.rate.map_or(a.acked, |r| r.newly)), segment)
    }

    /// Whole segments that the ACK number has passed by now.
    pub fn acknowledged(&mut self, a: &AckEvent<'_>, segment: f64) -> f64 {
        self.whole(real(a.acked), segment)
    }

    fn whole(&mut self, bytes: f64, segment: f64) -> f64 {
        let bytes = self.rest + bytes;
        let whole_segments = libm::floor(bytes / segment);
        self.rest = bytes - whole_segments * segment;
        whole_segments
    }

    /// Like [`Self::count`], but the window grows by at most one segment per ACK.
    pub fn count_one(&mut self, acked: f64, each: f64) -> f64 {
        self.counted += acked;
        let grows = self.counted >= each;
        self.counted -= if grows { each } else { 0.0 };
        f64::from(u8::from(grows))
    }

    /// Count `acked` more segments, of which `each` add one to the window. Returns the number of segments by which the
    /// window grows.
    pub fn count(&mut self, acked: f64, each: f64) -> f64 {
        let mut grown = 0.0;
        if self.counted >= each {
            self.counted = 0.0;
            grown = 1.0;
        }
        self.counted += acked;
        if self.counted >= each {
            let segments = libm::floor(self.counted / each);
            self.counted -= segments * each;
            grown += segments;
        }
        grown
    }

    /// The window was reduced, so counting begins anew.
    pub fn restart(&mut self) {
        self.counted = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::acked;

    #[test]
    fn a_windows_worth_of_acknowledged_segments_adds_one() {
        let mut w = WholeSegments::default();
        let grown: f64 = (0..100).map(|_| w.count(1.0, 10.0)).sum();
        assert_eq!(grown, 10.0);
        assert_eq!(w.count(25.0, 10.0), 2.0);
        assert_eq!(w.count(5.0, 10.0), 1.0, "five were left over");
        // The window has shrunk below the present count, so it grows by one segment, and the count restarts.
        assert_eq!(
            (w.count(8.0, 10.0), w.count(1.0, 4.0), w.count(2.0, 4.0)),
            (0.0, 1.0, 0.0)
        );
    }

    #[test]
    fn an_ack_adds_at_most_one_and_the_rest_counts_next_time() {
        let mut w = WholeSegments::default();
        let grown: Vec<f64> = [25.0, 1.0, 1.0, 8.0, 1.0].map(|n| w.count_one(n, 10.0)).into();
        assert_eq!(grown, [1.0, 1.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn parts_of_segments_are_not_lost() {
        let mut w = WholeSegments::default();
        let whole: f64 = (0..10).map(|_| w.delivered(&acked(700), 1000.0)).sum();
        assert_eq!(whole, 7.0);
    }
}
