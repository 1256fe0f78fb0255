//! What a sender may have outstanding: the controller's window, the cap, and what recovery adds for a while.

use crate::tcp::congestion::CongestionControl;

pub(super) struct SendWindow {
    /// The controller's window when it was last asked, bytes.
    pub cwnd: f64,
    /// What may be outstanding, whole bytes.
    pub allowed: u64,
    /// The cap or the advertised window, not the congestion window, is what holds back.
    pub capped: bool,
    /// Bytes per second to pace at; infinite sends as the window allows.
    pub pace: f64,
    /// The smaller of window cap and advertised window, bytes.
    pub limit: f64,
    /// Fast-recovery inflation, bytes; it stands for segments that have left the network.
    pub inflation: i64,
    /// Duplicate ACKs in a row.
    pub duplicates: u32,
    /// Limited transmit may send one segment.
    pub credit: bool,
    /// Sent by limited transmit since the last new ACK, bytes.
    pub beyond: u64,
    /// Segments that may still leave in answer to this event.
    pub burst: u32,
    /// The next segment leaves with an ACK that is due.
    pub forced: bool,
}

impl SendWindow {
    pub fn new(limit: f64, control: &dyn CongestionControl) -> SendWindow {
        let mut w = SendWindow {
            cwnd: 0.0,
            allowed: 0,
            capped: false,
            pace: f64::INFINITY,
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

    /// Take over what the controller says: after every event that may have moved the window, so that the send rule,
    /// which is asked more often, compares whole numbers.
    #[inline(always)]
    pub fn refresh(&mut self, control: &dyn CongestionControl) {
        self.cwnd = control.cwnd();
        let window = self.cwnd + self.inflation as f64;
        self.capped = self.limit < window;
        // The conversion saturates: infinity is the largest number.
        self.allowed = (if self.capped { self.limit } else { window }).max(0.0) as i64 as u64;
        self.pace = control.pacing().map_or(f64::INFINITY, |r| r.bits_per_second() / 8.0);
    }

    /// Duplicates are counted anew.
    #[inline]
    pub fn forget_duplicates(&mut self) {
        self.duplicates = 0;
        self.end_credit();
    }

    /// Nothing is out by limited transmit.
    #[inline]
    pub fn end_credit(&mut self) {
        self.credit = false;
        self.beyond = 0;
    }
}
