//! Values of scenarios that [`Config`](super::Config) stores in another form.

use super::config::EcnMode;
use super::congestion::Marks;

tailback_base::choice! {
    pub enum Pacing { Control = "control", Window = "window" }

    pub enum Variant { Tahoe = "tahoe", Reno = "reno", NewReno = "newreno", Sack = "sack" }

    /// How the amount in the network (`pipe`) is estimated.
    pub enum SackForm { Rfc6675 = "rfc6675", Pipe = "pipe", PipeEager = "pipe-eager" }

    /// The sign from which a loss is inferred.
    pub enum LossSign { Dupthresh = "dupthresh", Rack = "rack" }

    /// The smallest window that a reduction leaves.
    pub enum LeastWindow { Segment = "segment", None = "none" }

    pub enum TimeoutWindow { Segment = "segment", Pipe = "pipe" }

    /// The effect of a second timeout of the same segment on the threshold.
    pub enum RepeatedTimeout { Keep = "keep", Lower = "lower" }

    pub enum SynLossWindow { Segment = "segment", SegmentAfterTwo = "segment_after_two", Initial = "initial" }

    pub enum LimitedTransmitForm { Rfc3042 = "rfc3042", PerDuplicate = "per_duplicate" }

    /// The effect of a timeout on the duplicates counted so far.
    pub enum TimeoutDuplicates { Forget = "forget", Keep = "keep" }

    /// The quantity from which the excess of a partial ACK is subtracted.
    pub enum PartialAckExcess { Inflation = "inflation", Window = "window" }

    /// The variable in which the inflation by duplicates is counted.
    pub enum Inflation { Apart = "apart", Window = "window" }

    pub enum PartialAckTimer { Impatient = "impatient", SlowButSteady = "slow_but_steady" }

    pub enum ExitWindow { Ssthresh = "ssthresh", Flight = "flight" }

    /// The effect of the handshake on the backoff of a lost SYN.
    pub enum SynBackoff { Clear = "clear", Keep = "keep" }

    pub enum BackoffEnds { Sample = "sample", Ack = "ack" }

    /// The quantity that decides when an ACK is due.
    pub enum DelayedAckCount { Segments = "segments", Bytes = "bytes" }

    /// The event that starts the timer of a delayed ACK.
    pub enum DelayedAckClock { Segment = "segment", Grid = "grid" }

    pub enum AckRule { Rfc5681 = "rfc5681", Sink = "sink" }

    /// Whether a connection uses ECN.
    pub enum EcnUse {
        /// The connection uses ECN unless the congestion control ignores marks.
        WhereAnswered = "where_answered",
        /// The connection uses ECN if the congestion control needs marks.
        WhereNeeded = "where_needed",
        On = "on",
        Off = "off",
        Ignore = "ignore",
        NoEcho = "no_echo",
    }

    /// The counts that both ends send, if the ends agree on accurate ECN.
    pub enum AccurateEcnUse { Off = "off", Ace = "ace", Option = "option" }

    /// Which packets without new data are ECN-capable, if the connection uses ECN.
    pub enum EctOnControl {
        /// SYN, SYN-ACK and RST are ECN-capable if the congestion control needs marks.
        HandshakeWhereNeeded = "handshake_where_needed",
        /// All packets without new data are ECN-capable if the congestion control needs marks.
        AllWhereNeeded = "all_where_needed",
        Handshake = "handshake",
        All = "all",
        Off = "off",
    }

    /// Which signs of congestion belong to one event.
    pub enum EchoEvents { Rfc3168 = "rfc3168", LastCut = "last_cut" }

    pub enum CwrAfter { AnyReduction = "any_reduction", Echo = "echo" }

    pub enum ConnectionForm { OneWay = "one-way", TwoWay = "two-way" }

    pub enum AcksRide { InOrder = "in_order", Always = "always" }

    pub enum Fin { WithData = "with_data", Apart = "apart" }
}

impl EcnUse {
    /// The use of ECN with a control that responds to marks in this way.
    pub fn with(self, marks: Marks) -> EcnMode {
        let is_on = match self {
            EcnUse::WhereAnswered => marks != Marks::Ignores,
            EcnUse::WhereNeeded => marks == Marks::Needs,
            EcnUse::On => true,
            EcnUse::Off => false,
            EcnUse::Ignore => return EcnMode::Ignore,
            EcnUse::NoEcho => return EcnMode::NoEcho,
        };
        if is_on { EcnMode::On } else { EcnMode::Off }
    }
}

impl EctOnControl {
    /// Whether the handshake is ECN-capable, and whether all other packets without new data are ECN-capable.
    pub fn with(self, marks: Marks) -> (bool, bool) {
        let needed = marks == Marks::Needs;
        match self {
            EctOnControl::HandshakeWhereNeeded => (needed, false),
            EctOnControl::AllWhereNeeded => (needed, needed),
            EctOnControl::Handshake => (true, false),
            EctOnControl::All => (true, true),
            EctOnControl::Off => (false, false),
        }
    }
}
