//! Bursts with pauses: a source sends some data over its one connection, waits until all of it is acknowledged, thinks
//! for a while, and does so again.
//!
//! The model is that of Kantawala and Turner, WUCSE-2005-11, chapter 3, where 256 packets and a mean pause of 2 s
//! represent short transfers. The time of a burst runs from the instant at which its data is written to the connection
//! to the acknowledgement of its last byte. The connection decides the size of the window after the pause (`idle_after`
//! of tcp).
//!
//! State: whether a burst is in progress and since when. A burst costs one wake. The pauses are drawn from the flow's
//! own stream, so another discipline does not change the lengths of the pauses, though it changes their instants.

use super::application::{AppInput, Application, Net, Side};
use super::conflict::Conflict;
use super::entry::{Entry, Facts, Offer, Output};
use super::laws::Distribution;
use crate::declare::kinds::TIME;
use tailback_base::{Duration, Key, Kind, Model, Per, Settings, Size, Time, choice, params};
use tailback_transport::{Amount, AppEvent};

pub static MODEL: Model = Model {
    name: "bursts",
    family: "traffic",
    title: "Bursts with pauses",
    summary: "Sends `size` over its one connection, waits until all of it is acknowledged, thinks for a while, and \
              does so again. The time of a burst is from the moment at which its first byte is given to the transport \
              until its last byte is acknowledged.",
    source: "W-BURST of the multi-queue buffer study, after Kantawala and Turner 2005, chapter 3",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    SIZE: Vec<Size> = Key::new("size", Kind::Each(Per::Flow, &Kind::Size), "256 packets",
        "How much each flow sends in a burst: a number of full segments, or of bytes of payload.",
        "256 packets: Kantawala and Turner 2005");
    MEAN_THINK: Duration = Key::new("mean_think", TIME, "2s",
        "The mean pause between a burst and the next.", "Kantawala and Turner 2005");
    DISTRIBUTION: Distribution = Key::choice("distribution", "exponential",
        "How the pauses are distributed.", "Kantawala and Turner 2005");
    FIRST: First = Key::choice("first", "burst", "Whether each flow begins with a burst or with a pause.", "");
}

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, context| {
        let size = match s.turn(&SIZE, context.index) {
            Size::Packets(n) => n.saturating_mul(u64::from(context.segment)),
            Size::Bytes(n) => n,
            // An unlimited size is refused.
            Size::Unlimited => u64::MAX,
        };
        let bursts = Bursts::new(size, s.get(&MEAN_THINK), s.get(&DISTRIBUTION));
        Box::new(bursts.beginning_with(s.get(&FIRST)))
    },
    check: finite,
    offer: |s, packet| Offer::Portions {
        bytes: match s.turn(&SIZE, 0) {
            Size::Bytes(_) => s.number(SIZE.name),
            _ => s.number(SIZE.name).map(|packets| packets * packet),
        }
        .unwrap_or(f64::INFINITY),
        pause: s.get(&MEAN_THINK).seconds(),
        once: false,
    },
    facts: Facts {
        output: Output::Stream,
        listens: true,
        own_address: false,
    },
};

fn finite(s: &Settings) -> Result<(), Conflict> {
    if !s.get(&SIZE).contains(&Size::Unlimited) {
        return Ok(());
    }
    Err(Conflict {
        param: SIZE.name,
        value: Some("unlimited".into()),
        problem: "a burst without end has no pause after it".into(),
        remedy: "give a size such as \"256 packets\" or \"384kB\", or traffic = \"bulk\"",
    })
}

/// The bursts of one flow that ended in the measured time.
#[derive(Clone, Debug, Default)]
pub struct BurstStats {
    pub count: u64,
    /// Payload, bytes.
    pub payload: u64,
    /// Sum of their times, seconds.
    pub seconds: f64,
    pub longest: Duration,
}

impl BurstStats {
    pub fn add(&mut self, payload: u64, took: Duration) {
        self.count += 1;
        self.payload += payload;
        self.seconds += took.seconds();
        self.longest = self.longest.max(took);
    }

    pub fn merge(&mut self, other: &BurstStats) {
        self.count += other.count;
        self.payload += other.payload;
        self.seconds += other.seconds;
        self.longest = self.longest.max(other.longest);
    }

    /// Mean time of a burst, seconds; NaN before the first has ended.
    pub fn mean_seconds(&self) -> f64 {
        if self.count > 0 {
            self.seconds / self.count as f64
        } else {
            f64::NAN
        }
    }

    /// The longest burst, seconds; NaN before the first has ended.
    pub fn longest_seconds(&self) -> f64 {
        if self.count > 0 {
            self.longest.seconds()
        } else {
            f64::NAN
        }
    }

    /// Payload divided by the time that the bursts took, bit/s; NaN before the first has ended.
    pub fn active_bps(&self) -> f64 {
        if self.seconds > 0.0 {
            self.payload as f64 * 8.0 / self.seconds
        } else {
            f64::NAN
        }
    }
}

choice! {
    /// The behaviour at the beginning of a flow.
    pub enum First {
        Burst = "burst",
        Pause = "pause",
    }
}

/// The source of one flow.
pub struct Bursts {
    /// Payload of a burst, bytes.
    size: u64,
    think: Duration,
    distribution: Distribution,
    first: First,
    since: Option<Time>,
    stopped: bool,
}

impl Bursts {
    /// `think`: the mean pause. The source begins with a burst.
    pub fn new(size: u64, think: Duration, distribution: Distribution) -> Bursts {
        Bursts {
            size,
            think,
            distribution,
            first: First::Burst,
            since: None,
            stopped: false,
        }
    }

    pub fn beginning_with(self, first: First) -> Bursts {
        Bursts { first, ..self }
    }

    fn begin(&mut self, net: &mut dyn Net) {
        let Some(flow) = net.own_flow() else { return };
        self.since = Some(net.now());
        net.write(flow, Side::Source, Amount::Bytes(self.size));
    }

    fn end(&mut self, net: &mut dyn Net) {
        let (Some(since), Some(flow)) = (self.since.take(), net.own_flow()) else {
            return;
        };
        net.burst_over(flow, self.size, net.now() - since);
        if !self.stopped {
            self.pause(net);
        }
    }

    fn pause(&self, net: &mut dyn Net) {
        let pause = self.distribution.draw(self.think, net.rng());
        net.wake(net.now() + pause);
    }
}

impl Application for Bursts {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        match e {
            AppInput::Start => match self.first {
                First::Burst => self.begin(net),
                First::Pause => self.pause(net),
            },
            AppInput::Wake if !self.stopped => self.begin(net),
            AppInput::Transport {
                side: Side::Source,
                event: AppEvent::AllAcknowledged,
                ..
            } => self.end(net),
            AppInput::Stop => {
                // The burst in progress is still delivered.
                self.stopped = true;
                if let Some(flow) = net.own_flow() {
                    net.close(flow, Side::Source);
                }
            }
            _ => {}
        }
    }
}
