//! The reports of a discipline: where and why packets were dropped or marked, and the backlog.

pub use tailback_base::{DropReason, MarkReason, Place};
use tailback_base::{Ecn, Packet, Request};

/// The stored packets and bytes, without the packet on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    pub packets: u64,
    pub bytes: u64,
}

/// The index of a probe of a discipline.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ProbeId(pub u16);

/// The receiver of the reports of a discipline. The driver counts, records and delivers them.
pub trait Out<P> {
    /// `p` is dropped here.
    fn dropped(&mut self, p: P, place: Place, why: DropReason);
    /// `p` was marked (its CE is already set) and stays in the queue or is sent.
    fn marked(&mut self, p: &P, why: MarkReason);
    /// Send a control packet back to the source of `about`.
    fn request(&mut self, about: &P, r: Request);
    /// The new value of a probe for which every change is recorded (victims, modes, intervals).
    fn note(&mut self, probe: ProbeId, index: u32, value: f64);
}

/// The router's part of ECN (RFC 3168 §5): mark an ECN-capable packet if `ecn` is on. Returns false if the packet
/// cannot be marked; the caller then drops it.
///
/// ```
/// use tailback_base::{Ecn, MarkReason};
/// use tailback_queue::contract::report::signal;
/// use tailback_queue::testing::{Log, TestPacket};
///
/// let mut log = Log::default();
/// let mut p = TestPacket::new(1, 0, 1500).capable();
/// assert!(signal(&mut p, true, MarkReason::Early, &mut log));
/// assert_eq!(p.ecn, Ecn::Ce);
/// // A packet that cannot be marked does not survive.
/// let mut plain = TestPacket::new(2, 0, 1500);
/// assert!(!signal(&mut plain, true, MarkReason::Early, &mut log));
/// ```
pub fn signal<P: Packet>(p: &mut P, ecn: bool, why: MarkReason, out: &mut dyn Out<P>) -> bool {
    if ecn && p.ecn() != Ecn::NotEct {
        p.set_ce();
        out.marked(p, why);
        return true;
    }
    false
}
