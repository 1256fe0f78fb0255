//! Loss recovery: which segments are lost, and what goes out next.
//!
//! One file an algorithm. Each sees the same four events and may only use the steps [`ControlBlock`] offers, so that the files
//! read as the columns of one reaction table:
//!
//! | event | Tahoe | Reno | NewReno | SACK |
//! |---|---|---|---|---|
//! | third duplicate | window 1, go back | half, repair, inflate | same, once a window | half, scoreboard |
//! | further duplicate | - | inflate by one | same | pipe decides |
//! | partial ACK | ordinary | ends recovery | repair the next, deflate | stay |
//! | full ACK | - | window = ssthresh | same | same |
//! | timeout | window 1, go back | same | same | same, forget SACKs |

pub mod newreno;
pub mod pipe;
pub mod reno;
pub mod sack;
pub mod scoreboard;
pub mod tahoe;

use super::config::{Config, SackForm, Variant};
use super::state::{ControlBlock, NewAck, Piece};
use tailback_base::Time;

/// A duplicate acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Duplicate<'a> {
    pub now: Time,
    pub sack: &'a [(u64, u64)],
    /// RFC 5681's definition: no data, no SYN, data outstanding. With SACK, new information counts instead.
    pub classic: bool,
}

/// What a recovery algorithm answers to.
pub trait LossRecovery {
    /// `una` has moved; the algorithm grows or repairs, and handles the timer.
    fn on_ack(&mut self, c: &mut ControlBlock, a: &NewAck, sack: &[(u64, u64)]);
    fn on_duplicate(&mut self, c: &mut ControlBlock, d: &Duplicate);
    /// The timer expired with data outstanding. [`ControlBlock::timed_out`] has not been called yet.
    fn on_timeout(&mut self, c: &mut ControlBlock, now: Time);
    /// The next segment that may leave.
    fn next(&mut self, c: &mut ControlBlock) -> Option<Piece>;
    fn in_recovery(&self) -> bool;
}

pub enum Recovery {
    Tahoe(tahoe::TahoeRecovery),
    Reno(reno::RenoRecovery),
    NewReno(newreno::NewRenoRecovery),
    Sack(sack::SackRecovery),
    Pipe(pipe::PipeRecovery),
}

impl Recovery {
    pub fn new(c: &Config) -> Recovery {
        match (c.variant, c.sack_form) {
            (Variant::Tahoe, _) => Recovery::Tahoe(tahoe::TahoeRecovery),
            (Variant::Reno, _) => Recovery::Reno(reno::RenoRecovery::default()),
            (Variant::NewReno, _) => Recovery::NewReno(newreno::NewRenoRecovery::default()),
            (Variant::Sack, SackForm::Rfc6675) => Recovery::Sack(sack::SackRecovery::default()),
            (Variant::Sack, SackForm::Pipe) => Recovery::Pipe(pipe::PipeRecovery::default()),
        }
    }
}

/// A duplicate before the threshold: limited transmit (RFC 3042) lets one new segment go.
fn before_threshold(c: &mut ControlBlock) {
    c.credit = c.cfg.limited_transmit;
}

macro_rules! each {
    ($self:ident, $r:ident => $e:expr) => {
        match $self {
            Recovery::Tahoe($r) => $e,
            Recovery::Reno($r) => $e,
            Recovery::NewReno($r) => $e,
            Recovery::Sack($r) => $e,
            Recovery::Pipe($r) => $e,
        }
    };
}

impl LossRecovery for Recovery {
    fn on_ack(&mut self, c: &mut ControlBlock, a: &NewAck, sack: &[(u64, u64)]) {
        each!(self, r => r.on_ack(c, a, sack))
    }

    fn on_duplicate(&mut self, c: &mut ControlBlock, d: &Duplicate) {
        each!(self, r => r.on_duplicate(c, d))
    }

    fn on_timeout(&mut self, c: &mut ControlBlock, now: Time) {
        each!(self, r => r.on_timeout(c, now))
    }

    #[inline]
    fn next(&mut self, c: &mut ControlBlock) -> Option<Piece> {
        each!(self, r => r.next(c))
    }

    fn in_recovery(&self) -> bool {
        each!(self, r => r.in_recovery())
    }
}
