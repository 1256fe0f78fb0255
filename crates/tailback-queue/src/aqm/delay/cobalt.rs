//! COBALT: CoDel for flows that respond to signals, combined with BLUE for flows that do not.
//!
//! CoDel's rate of drops grows slowly, so a flow that ignores drops keeps its queue full. CoDel also resets its count
//! as soon as the delay is below the target once. COBALT instead decreases CoDel's count by one per control step. If
//! the buffer overflows nevertheless, COBALT raises a drop probability as BLUE does. Packets, ECN-capable or not, are
//! dropped with this probability until the queue is empty. Measure: the sojourn time at dequeue, overflows, emptiness.
//! Function: CoDel's control law, and BLUE's probability. Action: a drop (sojourn), or with `ecn` a mark; BLUE drops
//! (overload); a full buffer drops the arriving packet (overflow).
//!
//! ```text
//! dequeue:  above the threshold: dropping, the first action an interval later; count at least 1
//!           due and dropping: act, count + 1        due and not dropping: count - 1, once a control step
//!           then, with the probability of BLUE, drop
//! overflow: BLUE up, unless it has moved within a target; dropping, with an action due now
//! empty:    BLUE down, unless it has moved within a target; not dropping, and one step down if that is due
//! ```
//!
//! The threshold is `target`, but at least the time of four packets of `mtu` on the line, because on a slow line a
//! packet waits for the one in service although there is no queue. With `blue_threshold` a longer sojourn also raises
//! the probability.
//!
//! From: J. Palmei et al., "Design and evaluation of COBALT queue discipline", LANMAN 2019; T. Høiland-Jørgensen, D.
//! Täht, J. Morton, "Piece of CAKE", LANMAN 2018. The threshold in packets is that of Linux cake, `blue_threshold` that
//! of ns-3.
//!
//! State: `count`; `drop_next`, the time when the next step is due; `dropping`; BLUE's [`Probability`]. The state is
//! kept during idle times, but the count continues to fall.
//!
//! Cost of a packet: a stamp at enqueue, a few comparisons at dequeue; a random draw if BLUE's probability is not 0.

use crate::aqm::delay::codel::{INTERVAL, control_step};
use crate::aqm::load::blue::Probability;
use crate::contract::admission::{Admission, Decision, PacketSource, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::{DropReason, Line, MarkReason, Out, ProbeId, signal};
use crate::entry::{Configured, Entry, Facts, Law, Marks};
use crate::linux::{self, Linux};
use crate::params::{self, BEFORE, CE_THRESHOLD, ecn_key};
use tailback_base::model::{Alias, Probe};
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Duration, Key, Kind, Model, Packet, ProbeDef, Settings, Size, Stream, Time, params};

/// Values that can be recorded.
const READ: [Probe<Cobalt>; 4] = [
    Probe::new("count", "", "Actions in the count of the control law", |q, _| {
        q.control.count as f64
    }),
    Probe::new("dropping", "", "1 in the dropping state, else 0", |q, _| {
        f64::from(u8::from(q.control.dropping))
    }),
    Probe::new("probability", "", "BLUE's probability of a drop", |q, _| {
        q.control.blue.value()
    }),
    Probe::new(
        "sojourn",
        "s",
        "Waiting time of the last packet that was taken from the queue",
        |q, _| q.sojourn.seconds(),
    ),
];

pub static MODEL: Model = Model {
    name: "cobalt",
    family: "queue",
    title: "COBALT (CoDel and BLUE alternate)",
    summary: "CoDel whose count decreases step by step when the delay is good, and BLUE for flows that do not respond. \
              Measure: the sojourn time at dequeue, overflows, and whether the queue is empty. Function: CoDel's \
              control law, and a probability that overflows raise and an empty queue lowers. Action: drop (sojourn); \
              with ecn, mark ECN-capable packets instead; BLUE drops any packet (overload).",
    source: "Palmei et al., LANMAN 2019; Høiland-Jørgensen, Täht, Morton, LANMAN 2018",
    params: PARAMS,
    probes: &PROBES,
};

params! {
    const PARAMS;

    BUFFER: Size = params::BUFFER.with_default("1000 packets", "as codel");
    /// The target delay of the disciplines that use COBALT.
    pub TARGET: Duration = Key::new("target", Kind::Time { min: 0.0, max: 100.0 }, "5ms",
        "Standing delay that is acceptable; also the least time between two changes of the probability.",
        "RFC 8289 section 4.4");
    INTERVAL;
    MTU: u64 = Key::new("mtu", Kind::Bytes { min: 0, max: 1_000_000 }, "1514B",
        "The delay is also acceptable while it is below the time that four packets of this size take on the line. \
         With 0B only target counts.",
        "Linux cake; ns-3 has none");
    /// The step by which BLUE raises its probability.
    pub P_UP: f64 = Key::new("p_up", Kind::Real { min: 0.0, max: 1.0 }, "0.00390625",
        "How much an overflow adds to the probability of drops.", "1/256: Linux cake, ns-3");
    /// The step by which BLUE lowers its probability.
    pub P_DOWN: f64 = Key::new("p_down", Kind::Real { min: 0.0, max: 1.0 }, "0.000244140625",
        "How much an empty queue lowers the probability of drops.", "1/4096: Linux cake, ns-3");
    /// The delay above which BLUE raises its probability without an overflow.
    pub BLUE_THRESHOLD: Option<Duration> = Key::new("blue_threshold", Kind::Time { min: 0.0, max: 100.0 }, "none",
        "A sojourn time above this raises the probability as an overflow does.", "ns-3 has 400 ms");
    OWN_ECN: Option<bool> = ecn_key!(
        "Mark ECN-capable packets where CoDel would drop them. BLUE also drops ECN-capable packets.", "Linux cake");
    CE_THRESHOLD;
    BEFORE;
}

/// The probes of a COBALT.
pub const PROBES: [ProbeDef; 4] = Probe::defs(&READ);

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Cobalt>(
        &MODEL,
        Facts {
            also: const { &[Alias::ns3("CobaltQueueDisc")] },
            marks: Marks::WithEcn,
            waits: &["target", "blue_threshold", "ce_threshold"],
            law: Some(Law::Sojourn),
            linux: Some(&LINUX),
            ..Facts::ONE_QUEUE
        },
    )
}

static LINUX: Linux = Linux {
    always: &["besteffort", "flowblind"],
    ..linux::OF_CAKE
};

impl Configured for Cobalt {
    /// # Errors
    /// A target above the interval.
    fn configured(s: &Settings, context: BuildContext) -> Result<Self, Refusal> {
        Ok(Cobalt::new(
            Config::from_settings(s)?,
            s.get(&MTU),
            BesideControl::from_settings(s),
            context.stream,
        ))
    }
}

/// The parameters of the control law and of BLUE.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub target: Duration,
    pub interval: Duration,
    pub p_up: f64,
    pub p_down: f64,
    pub ecn: bool,
}

impl Config {
    /// Read the settings of a model that declares COBALT's parameters.
    ///
    /// # Errors
    /// A target above the interval.
    pub fn from_settings(s: &Settings) -> Result<Config, Refusal> {
        let (target, interval) = (s.get(&TARGET), s.get(&INTERVAL));
        if target > interval {
            return Err(Refusal::new(
                format!("target ({target}) is above interval ({interval})"),
                "give an interval of a round trip and a target of 5 to 10 % of it",
            ));
        }
        Ok(Config {
            target,
            interval,
            p_up: s.get(&P_UP),
            p_down: s.get(&P_DOWN),
            ecn: params::ecn(s),
        })
    }
}

/// The state machine of one queue, independent of the queue.
#[derive(Clone, Debug)]
pub struct Control {
    count: u64,
    drop_next: Time,
    dropping: bool,
    blue: Probability,
}

impl Control {
    pub fn new(c: &Config) -> Control {
        // BLUE's probability changes only if more than one target has passed since its last change.
        let freeze = c.target + Duration(1);
        Control {
            count: 0,
            drop_next: Time::ZERO,
            dropping: false,
            blue: Probability::new(c.p_up, c.p_down, freeze, false),
        }
    }

    /// Continue with other parameters.
    fn follow(&mut self, c: &Config) {
        let before = std::mem::replace(&mut self.blue, Control::new(c).blue);
        self.blue.follow(&before);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn is_dropping(&self) -> bool {
        self.dropping
    }

    pub fn probability(&self) -> f64 {
        self.blue.value()
    }

    /// Whether the state machine is in its initial state again.
    pub fn is_at_rest(&self, now: Time) -> bool {
        self.count == 0 && self.blue.value() == 0.0 && now >= self.drop_next
    }

    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    fn step_on(&mut self, c: &Config) {
        self.drop_next += control_step(c.interval, self.count);
    }

    /// One step towards the initial state.
    fn step_down(&mut self, c: &Config) {
        self.count -= 1;
        self.step_on(c);
    }

    /// Raise BLUE's probability: a packet was lost, or waited, in a way that only an unresponsive flow causes.
    pub fn raise(&mut self, now: Time) {
        self.blue.raise(now);
    }

    /// Decide on a packet that is taken out. `threshold` is the delay above which the queue is a standing queue.
    /// Returns the reason if the packet is to be dropped. If a mark is due instead, the packet is marked.
    pub fn judge<P: Packet>(
        &mut self,
        c: &Config,
        p: &mut P,
        threshold: Duration,
        (now, stream): (Time, &mut Stream),
        out: &mut dyn Out<P>,
    ) -> Option<DropReason> {
        let due = self.is_due(now);
        let is_over = now.since(p.stamp()) > threshold;
        if is_over {
            if !self.dropping {
                self.drop_next = now + control_step(c.interval, self.count);
            }
            self.count = self.count.max(1);
        }
        self.dropping = is_over;
        let mut kill = None;
        if is_over {
            if due {
                kill = (!signal(p, c.ecn, MarkReason::Sojourn, out)).then_some(DropReason::Sojourn);
                self.count += 1;
                self.step_on(c);
            }
        } else {
            while self.is_due(now) {
                self.step_down(c);
            }
        }
        if kill.is_none() && stream.chance(self.blue.value()) {
            kill = Some(DropReason::Overload);
        }
        if self.count == 0 {
            self.drop_next = now + c.interval;
        } else if now > self.drop_next && kill.is_none() {
            self.drop_next = now;
        }
        kill
    }

    /// The buffer had no room for a packet of this queue.
    pub fn overflow(&mut self, now: Time) {
        self.raise(now);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// A dequeue found the queue empty.
    pub fn found_empty(&mut self, c: &Config, now: Time) {
        if self.blue.value() > 0.0 {
            self.blue.lower(now);
        }
        self.dropping = false;
        if self.is_due(now) {
            self.step_down(c);
        }
    }
}

/// Thresholds of the sojourn time that act in addition to the control law.
#[derive(Clone, Copy, Debug, Default)]
pub struct BesideControl {
    pub blue_threshold: Option<Duration>,
    pub ce_threshold: Option<Duration>,
}

impl BesideControl {
    /// Read the settings of a model that declares both.
    pub fn from_settings(s: &Settings) -> BesideControl {
        BesideControl {
            blue_threshold: s.get(&BLUE_THRESHOLD),
            ce_threshold: s.get(&CE_THRESHOLD),
        }
    }
}

/// COBALT's decisions for one queue, which is a FIFO or one queue of a port.
#[derive(Clone, Debug)]
pub struct Cobalt {
    config: Config,
    /// The size of the largest packet, bytes.
    mtu: u64,
    /// The rate of the line, and the delay above which the queue is a standing queue on it. `None` before the first
    /// packet.
    threshold: Option<(BitRate, Duration)>,
    beside: BesideControl,
    control: Control,
    sojourn: Duration,
    stream: Stream,
}

impl Cobalt {
    pub fn new(config: Config, mtu: u64, beside: BesideControl, stream: Stream) -> Cobalt {
        Cobalt {
            config,
            mtu,
            threshold: None,
            beside,
            control: Control::new(&config),
            sojourn: Duration::ZERO,
            stream,
        }
    }

    fn threshold(&mut self, rate: BitRate) -> Duration {
        if let Some((of, threshold)) = self.threshold
            && of == rate
        {
            return threshold;
        }
        let threshold = self.config.target.max(rate.time_of(4 * self.mtu));
        self.threshold = Some((rate, threshold));
        threshold
    }
}

impl<P: Packet> Admission<P> for Cobalt {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, line: &Line, _out: &mut dyn Out<P>) -> Decision {
        if queue.fits(p.bytes()) {
            return Decision::Store;
        }
        self.control.overflow(line.now);
        Decision::Drop(DropReason::Overflow)
    }

    fn needs_its_queue(&self) -> Option<&'static str> {
        Some("decides when packets leave its queue")
    }

    fn take(&mut self, from: &mut dyn PacketSource<P>, line: &Line, out: &mut dyn Out<P>) -> Option<P> {
        let threshold = self.threshold(line.rate);
        loop {
            let mut p = from.pop()?;
            let arrival_ecn = p.ecn();
            self.sojourn = line.now.since(p.stamp());
            let longer = |than: Option<Duration>| than.is_some_and(|t| self.sojourn > t);
            let (raise, step) = (longer(self.beside.blue_threshold), longer(self.beside.ce_threshold));
            if raise {
                self.control.raise(line.now);
            }
            let chance = (line.now, &mut self.stream);
            match self.control.judge(&self.config, &mut p, threshold, chance, out) {
                Some(why) => from.drop(p, why, out),
                None => {
                    // A packet that the control law marked is not marked again by the step.
                    if step && p.ecn() == arrival_ecn {
                        signal(&mut p, true, MarkReason::Step, out);
                    }
                    return Some(p);
                }
            }
        }
    }

    fn idle(&mut self, line: &Line) {
        self.control.found_empty(&self.config, line.now);
    }

    fn probes(&self) -> &[ProbeDef] {
        &PROBES
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&READ, self, usize::from(probe.0), index)
    }

    /// The count, the time of the next action and the probability stay.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        self.config = Config::from_settings(s)?;
        self.control.follow(&self.config);
        self.mtu = s.get(&MTU);
        self.beside = BesideControl::from_settings(s);
        self.threshold = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
