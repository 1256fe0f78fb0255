//! The names of columns of results. A quantity has one long and one short word in all tables; a column is a quantity,
//! or a statistic of one.

/// Whether a larger or a smaller value is better, if that is undisputed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Better {
    More,
    Less,
}

/// A measured quantity.
#[derive(Debug)]
pub struct Quantity {
    /// The word in sentences, on axes and in pages.
    pub title: &'static str,
    /// The word at the head of a column in a terminal.
    pub short: &'static str,
    /// A share of a whole, which people read in per cent.
    pub share: bool,
    pub better: Option<Better>,
}

/// A statistic of the values of a quantity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stat {
    Mean,
    /// Standard deviation.
    Sd,
    Sum,
    P50,
    P95,
    P99,
    P999,
    Max,
    /// The maximum of a length or a duration.
    Longest,
    Min,
}

impl Stat {
    fn title(self, of: &str) -> String {
        match self {
            Stat::Mean => format!("mean {of}"),
            Stat::Sd => format!("{of}, standard deviation"),
            Stat::Sum => format!("total {of}"),
            Stat::P50 => format!("median {of}"),
            Stat::P95 => format!("{of}, 95th percentile"),
            Stat::P99 => format!("{of}, 99th percentile"),
            Stat::P999 => format!("{of}, 99.9th percentile"),
            Stat::Max => format!("largest {of}"),
            Stat::Longest => format!("longest {of}"),
            Stat::Min => format!("smallest {of}"),
        }
    }

    /// A short word without a statistic means the mean.
    fn short(self, of: &str) -> String {
        match self {
            Stat::Mean => of.into(),
            Stat::Sd => format!("{of} sd"),
            Stat::Sum => format!("{of} sum"),
            Stat::P50 => format!("{of} p50"),
            Stat::P95 => format!("{of} p95"),
            Stat::P99 => format!("{of} p99"),
            Stat::P999 => format!("{of} p99.9"),
            Stat::Max | Stat::Longest => format!("{of} max"),
            Stat::Min => format!("{of} min"),
        }
    }
}

impl Quantity {
    const fn new(title: &'static str, short: &'static str) -> Quantity {
        Quantity {
            title,
            short,
            share: false,
            better: None,
        }
    }

    const fn share(self) -> Quantity {
        Quantity { share: true, ..self }
    }

    const fn more(self) -> Quantity {
        let better = Some(Better::More);
        Quantity { better, ..self }
    }

    const fn less(self) -> Quantity {
        let better = Some(Better::Less);
        Quantity { better, ..self }
    }

    /// The title of the quantity, or of a statistic of it.
    pub fn title_of(&self, stat: Option<Stat>) -> String {
        stat.map_or(self.title.into(), |s| s.title(self.title))
    }

    /// The short word of the same quantity.
    pub fn short_of(&self, stat: Option<Stat>) -> String {
        stat.map_or(self.short.into(), |s| s.short(self.short))
    }
}

// The columns that identify a row.
pub static LINK: Quantity = Quantity::new("link", "link");
pub static LAYER: Quantity = Quantity::new("layer", "layer");
pub static FLOW: Quantity = Quantity::new("flow", "flow");
pub static WHAT: Quantity = Quantity::new("times of", "times of");

// Quantities of a link.
pub static UTILISATION: Quantity = Quantity::new("utilisation", "used").share().more();
pub static RATE: Quantity = Quantity::new("rate", "rate");
pub static THROUGHPUT: Quantity = Quantity::new("throughput", "throughput").more();
pub static LOSS: Quantity = Quantity::new("loss", "loss").share().less();
pub static QUEUE: Quantity = Quantity::new("queue", "queue").less();
pub static SOJOURN: Quantity = Quantity::new("time in the queue", "wait").less();
pub static WASTED: Quantity = Quantity::new("wasted", "wasted").share().less();
pub static DROPPED: Quantity = Quantity::new("dropped packets", "drops").less();
pub static MARKED: Quantity = Quantity::new("marked packets", "marks");
pub static MARK_RATE: Quantity = Quantity::new("marked share", "marked").share();
pub static PORTS: Quantity = Quantity::new("ports", "ports");
pub static PACKETS: Quantity = Quantity::new("packets", "packets");

// Quantities of flows and groups of flows.
pub static FLOWS: Quantity = Quantity::new("flows", "flows");
pub static GOODPUT: Quantity = Quantity::new("goodput", "goodput").more();
pub static GOODPUT_WIRE: Quantity = Quantity::new("goodput of whole packets", "wire goodput").more();
pub static JAIN: Quantity = Quantity::new("Jain's index", "Jain").more();
pub static ONE_WAY_DELAY: Quantity = Quantity::new("one-way delay", "delay").less();
pub static ROUND_TRIP: Quantity = Quantity::new("round-trip time", "RTT").less();
pub static SENT: Quantity = Quantity::new("sent packets", "sent");
pub static RECEIVED: Quantity = Quantity::new("received packets", "received");
pub static RETRANSMITTED: Quantity = Quantity::new("retransmitted packets", "resent").less();
pub static TIMEOUTS: Quantity = Quantity::new("timeouts", "timeouts").less();
pub static LIMITED_NETWORK: Quantity = Quantity::new("limited by the network", "network").share();
pub static LIMITED_WINDOW_CAP: Quantity = Quantity::new("limited by the window cap", "window cap").share();
pub static LIMITED_APPLICATION: Quantity = Quantity::new("limited by the application", "application").share();
pub static BURST_TIME: Quantity = Quantity::new("time of a burst", "burst").less();
pub static BURST_GOODPUT_WIRE: Quantity = Quantity::new("goodput during bursts", "burst goodput").more();
pub static REVERSE_GOODPUT: Quantity = Quantity::new("goodput in the reverse direction", "reverse goodput").more();
pub static REVERSE_DELAY: Quantity = Quantity::new("one-way delay in the reverse direction", "reverse delay").less();

// Quantities of requests: transfers and pages.
pub static ASKED_FOR: Quantity = Quantity::new("asked for", "asked for");
pub static UNFINISHED: Quantity = Quantity::new("unfinished", "unfinished").less();
pub static COMPLETION_TIME: Quantity = Quantity::new("completion time", "time").less();
pub static ACKED_COMPLETION_TIME: Quantity = Quantity::new("time until acknowledged", "acked").less();
pub static SLOWDOWN: Quantity = Quantity::new("slowdown", "slowdown").less();
pub static SLOWDOWN_IDEAL: Quantity = Quantity::new("slowdown compared with the ideal", "beside ideal").less();
pub static SLOWDOWN_ALONE: Quantity = Quantity::new("slowdown compared with the sender alone", "beside alone").less();
pub static SIZE: Quantity = Quantity::new("size", "size");
pub static LARGER_THAN: Quantity = Quantity::new("larger than", "over");
pub static NO_LARGER_THAN: Quantity = Quantity::new("no larger than", "up to");

// Quantities of datagrams and their answers.
pub static LOST: Quantity = Quantity::new("lost packets", "lost").less();
pub static LOSS_RUN: Quantity = Quantity::new("run of losses", "run").less();
pub static LATE: Quantity = Quantity::new("late datagrams", "late").share().less();
pub static LATE_PACKETS: Quantity = Quantity::new("late packets", "late packets").less();
pub static JITTER: Quantity = Quantity::new("jitter", "jitter").less();
pub static ANSWERED: Quantity = Quantity::new("answered packets", "answered").more();
pub static LOST_ANSWERS: Quantity = Quantity::new("lost answers", "answers lost").less();

// Quantities of frames of video.
pub static FRAMES: Quantity = Quantity::new("frames", "frames");
pub static FRAMES_NOT_SHOWN: Quantity = Quantity::new("frames not shown", "failed").share().less();
pub static FREEZES: Quantity = Quantity::new("freezes", "freezes").less();
pub static FREEZE: Quantity = Quantity::new("freeze", "freeze").less();
pub static FRAME_DELAY: Quantity = Quantity::new("delay of a frame", "frame delay").less();

// Quantities of playout.
pub static MISSING: Quantity = Quantity::new("missing at playout", "missing").share().less();
pub static PLAYOUT_DELAY: Quantity = Quantity::new("delay until playout", "play delay").less();
pub static RATING: Quantity = Quantity::new("R of the E-model", "R").more();
pub static OPINION: Quantity = Quantity::new("mean opinion score", "MOS").more();
pub static SHOWN_RATE: Quantity = Quantity::new("rate of the frames shown", "shown").more();
pub static W3C_FREEZES: Quantity = Quantity::new("freezes (W3C)", "W3C freezes").less();
pub static W3C_FREEZE: Quantity = Quantity::new("freeze (W3C)", "W3C freeze").less();
pub static FROZEN: Quantity = Quantity::new("frozen share of the time (W3C)", "frozen").share().less();
