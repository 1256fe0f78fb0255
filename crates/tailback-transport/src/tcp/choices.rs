//! Words that a scenario may give and that [`Config`](super::Config) holds in another form.

tailback_base::choice! {
    pub enum Variant { Tahoe = "tahoe", Reno = "reno", NewReno = "newreno", Sack = "sack" }

    /// How the amount in the network (`pipe`) is estimated.
    pub enum SackForm { Rfc6675 = "rfc6675", Pipe = "pipe", PipeEager = "pipe-eager" }

    /// What indicates a loss.
    pub enum LossSign { Dupthresh = "dupthresh", Rack = "rack" }

    /// The smallest window that a reduction leaves.
    pub enum LeastWindow { Segment = "segment", None = "none" }

    pub enum TimeoutWindow { Segment = "segment", Pipe = "pipe" }

    /// What a second timeout of the same segment does to the threshold.
    pub enum RepeatedTimeout { Keep = "keep", Lower = "lower" }

    pub enum SynLossWindow { Segment = "segment", SegmentAfterTwo = "segment_after_two", Initial = "initial" }

    pub enum LimitedTransmitForm { Rfc3042 = "rfc3042", PerDuplicate = "per_duplicate" }

    /// What a timeout does with the duplicates counted so far.
    pub enum TimeoutDuplicates { Forget = "forget", Keep = "keep" }

    /// Where the excess of a partial ACK is taken from.
    pub enum PartialAckExcess { Inflation = "inflation", Window = "window" }

    /// Where the inflation by duplicates is counted.
    pub enum Inflation { Apart = "apart", Window = "window" }

    pub enum PartialAckTimer { Impatient = "impatient", SlowButSteady = "slow_but_steady" }

    pub enum ExitWindow { Ssthresh = "ssthresh", Flight = "flight" }

    /// What the handshake does with the backoff of a lost SYN.
    pub enum SynBackoff { Clear = "clear", Keep = "keep" }

    pub enum BackoffEnds { Sample = "sample", Ack = "ack" }

    /// What is counted to decide when an ACK is due.
    pub enum DelayedAckCount { Segments = "segments", Bytes = "bytes" }

    /// What starts the timer of a delayed ACK.
    pub enum DelayedAckClock { Segment = "segment", Grid = "grid" }

    pub enum AckRule { Rfc5681 = "rfc5681", Sink = "sink" }

    /// Which signs of congestion belong to one event.
    pub enum EchoEvents { Rfc3168 = "rfc3168", LastCut = "last_cut" }

    pub enum CwrAfter { AnyReduction = "any_reduction", Echo = "echo" }

    pub enum ConnectionForm { OneWay = "one-way", TwoWay = "two-way" }

    pub enum AcksRide { InOrder = "in_order", Always = "always" }

    pub enum Fin { WithData = "with_data", Apart = "apart" }
}
