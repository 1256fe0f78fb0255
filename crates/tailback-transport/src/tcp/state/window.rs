//! The amount that a sender may have outstanding: the controller's window, the cap, and the temporary additions of
//! recovery.

use crate::tcp::congestion::CongestionControl;

pub(super) struct SendWindow {
    /// The controller's window when it was last read, bytes.
    pub cwnd: f64,
    /// How much may be outstanding, whole bytes.
    pub allowed: u64,
    /// Whether the cap or the advertised window, not the congestion window, limits the sender.
    pub capped: bool,
    /// Pacing rate, bytes per second; infinite if the sender sends as soon as the window allows.
    pub pace: f64,
    /// The rate if the controller sets none; infinite unless the host paces.
    pub unpaced: f64,
    /// The smaller of window cap and advertised window, bytes.
    pub limit: f64,
    /// Fast-recovery inflation, bytes. It stands for segments that have left the network.
    pub inflation: i64,
    /// Duplicate ACKs in a row.
    pub duplicates: u32,
    /// Whether limited transmit may send one segment.
    pub credit: bool,
    /// Bytes sent by limited transmit since the last new ACK.
    pub beyond: u64,
    /// The number of segments that may still leave after the present event.
    pub burst: u32,
    /// Whether the next segment leaves with an ACK that is due.
    pub forced: bool,
}

impl SendWindow {
    pub fn new(limit: f64, control: &dyn CongestionControl) -> SendWindow {
        let mut w = SendWindow {
            cwnd: 0.0,
            allowed: 0,
            capped: false,
            pace: f64::INFINITY,
            unpaced: f64::INFINITY,
            limit,
            inflation: 0,
            duplicates: 0,
            credit: false,
            beyond: 0,
            burst: u32::MAX,
            forced: false,
        };
        w.refresh(control);
        w
    }

    /// Read window and pace from the controller. This function is called after every event that may have changed the
    /// window. The send rule runs more often, and can then compare whole numbers.
    #[inline(always)]
    pub fn refresh(&mut self, control: &dyn CongestionControl) {
        self.cwnd = control.cwnd();
        let window = self.cwnd + self.inflation as f64;
        self.capped = self.limit < window;
        // The conversion saturates, so infinity becomes the largest number.
        self.allowed = (if self.capped { self.limit } else { window }).max(0.0) as i64 as u64;
        self.pace = control.pacing().map_or(self.unpaced, |r| r.bits_per_second() / 8.0);
    }

    /// Restart the count of duplicates.
    #[inline]
    pub fn forget_duplicates(&mut self) {
        self.duplicates = 0;
        self.end_credit();
    }

    /// Nothing sent by limited transmit is outstanding.
    #[inline]
    pub fn end_credit(&mut self) {
        self.credit = false;
        self.beyond = 0;
    }
}
