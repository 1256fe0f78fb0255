//! The reasons for which packets are dropped or marked, and the places of drops. These are closed sets: results,
//! captures and pages use these words.

/// The place of a packet when it was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Place {
    /// On arrival, before the packet was stored.
    Arriving,
    /// While the packet was stored: its bytes were written to memory and never sent.
    Queued,
    /// When the packet was taken out to be sent.
    Dequeued,
}

/// Why a packet was dropped.
///
/// ```
/// use tailback_base::DropReason;
///
/// // The word is what results and pages show.
/// assert_eq!(DropReason::Overflow.name(), "overflow");
/// assert_eq!(DropReason::ALL.len(), 12);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum DropReason {
    /// The buffer was full.
    Overflow,
    /// A probabilistic early drop.
    Early,
    /// A certain drop, because the average or the probability exceeds its limit.
    Forced,
    /// CHOKe: the packet matched a packet drawn from the queue.
    Match,
    /// The packet belongs to a penalised flow.
    Penalty,
    /// The flow or bin has more stored than its cap.
    Percap,
    /// The packet's sojourn time stayed above target.
    Sojourn,
    /// The discipline shed load in bulk.
    Overload,
    /// The queue was longer than its dynamic threshold, or closed.
    Refused,
    /// The packet exceeded the rate that its edge lets through.
    Profile,
    /// An impairment of the link dropped it, not a queue.
    Impairment,
    /// An ACK that a later one of its flow makes redundant.
    Filtered,
}

/// Why a packet was marked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum MarkReason {
    Early,
    /// An explicit request, from an AQM that signals by marking.
    Request,
    Forced,
    /// A step threshold (DCTCP style).
    Step,
    Coupled,
    Sojourn,
    /// The conversation holds, or requests, more than its fair share (DECbit, fair queueing with the congestion bit).
    Share,
    /// An impairment of the link marked it, not a queue.
    Impairment,
}

impl Place {
    pub const ALL: [Place; 3] = [Place::Arriving, Place::Queued, Place::Dequeued];

    pub const fn name(self) -> &'static str {
        match self {
            Place::Arriving => "arriving",
            Place::Queued => "queued",
            Place::Dequeued => "dequeued",
        }
    }
}

impl DropReason {
    pub const ALL: [DropReason; 12] = [
        DropReason::Overflow,
        DropReason::Early,
        DropReason::Forced,
        DropReason::Match,
        DropReason::Penalty,
        DropReason::Percap,
        DropReason::Sojourn,
        DropReason::Overload,
        DropReason::Refused,
        DropReason::Profile,
        DropReason::Impairment,
        DropReason::Filtered,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            DropReason::Overflow => "overflow",
            DropReason::Early => "early",
            DropReason::Forced => "forced",
            DropReason::Match => "match",
            DropReason::Penalty => "penalty",
            DropReason::Percap => "percap",
            DropReason::Sojourn => "sojourn",
            DropReason::Overload => "overload",
            DropReason::Refused => "refused",
            DropReason::Profile => "profile",
            DropReason::Impairment => "impairment",
            DropReason::Filtered => "filtered",
        }
    }
}

impl MarkReason {
    pub const ALL: [MarkReason; 8] = [
        MarkReason::Early,
        MarkReason::Request,
        MarkReason::Forced,
        MarkReason::Step,
        MarkReason::Coupled,
        MarkReason::Sojourn,
        MarkReason::Share,
        MarkReason::Impairment,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            MarkReason::Early => "early",
            MarkReason::Request => "request",
            MarkReason::Forced => "forced",
            MarkReason::Step => "step",
            MarkReason::Coupled => "coupled",
            MarkReason::Sojourn => "sojourn",
            MarkReason::Share => "share",
            MarkReason::Impairment => "impairment",
        }
    }
}
