//! CoDel: limits the standing delay by dropping packets at the head of the queue when packets leave.
//!
//! A queue that drains within a round trip is useful, but a standing queue only adds delay. CoDel measures how long
//! each packet has waited (its sojourn time). When the sojourn time has stayed above `target` for a whole `interval`, a
//! packet is dropped at the head. The next drops follow at intervals of `interval / sqrt(count)`, so the drop rate
//! grows linearly, until the sojourn time falls below the target. Measure: the sojourn time at dequeue. Function: this
//! control law. Action: a drop (sojourn), or with `ecn` a mark, one per control step; a full buffer drops the arriving
//! packet.
//!
//! From: Nichols and Jacobson 2012; RFC 8289, the pseudo-code of section 5; `ce_threshold` after RFC 8290 section
//! 5.2.7.
//!
//! State: `first_above`, the time at which the delay will have been above the target for an interval; `dropping`;
//! `drop_next`, the time of the next action; `count`, actions in this dropping state; `last_count`, the count at its
//! beginning.
//!
//! Choices. If CoDel enters the dropping state again within 16 intervals, it resumes near the old drop rate: the count
//! starts at its old value minus its value at the beginning of the previous dropping state. The queue counts as good if
//! at most one `mtu` of bytes is left behind the packet. The square root is exact, as in the RFC and the paper; Linux
//! approximates it. A packet marked by a control step is not marked again by `ce_threshold`.
//!
//! Cost of a packet: a stamp at enqueue; a subtraction and two comparisons at dequeue.

use crate::contract::admission::{Admission, Decision, Exit, PacketSource, Waiting};
use crate::contract::build_context::BuildContext;
use crate::contract::discipline::{Backlog, DropReason, Line, MarkReason, Out, ProbeId, signal};
use crate::entry::{Configured, Entry, Facts, Law};
use crate::linux::{self, Linux, Value, Word};
use crate::params::{self, BEFORE, CE_THRESHOLD, ecn_key};
use tailback_base::model::{Alias, Probe};
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Key, Kind, Model, Packet, ProbeDef, Settings, Size, Time, params};

/// Values that can be recorded.
const READ: [Probe<Codel>; 3] = [
    Probe::new("count", "", "Actions since the start of the dropping state", |q, _| {
        q.control.count as f64
    }),
    Probe::new("dropping", "", "1 in the dropping state, else 0", |q, _| {
        f64::from(u8::from(q.control.dropping))
    }),
    Probe::new("sojourn", "s", "Waiting time of the last packet that left", |q, _| {
        q.control.sojourn.seconds()
    }),
];

pub static MODEL: Model = Model {
    name: "codel",
    family: "queue",
    title: "CoDel (controlled delay)",
    summary: "Drops packets at the head of the queue when their delay has been above a target for a whole interval. \
              Measure: the sojourn time at dequeue. Function: after an interval above target, actions with gaps of \
              interval / sqrt(count). Action: drop (sojourn); with ecn, mark ECN-capable packets instead; a full \
              buffer drops the arriving packet (overflow).",
    source: "Nichols and Jacobson 2012; RFC 8289 section 5",
    params: PARAMS,
    probes: &PROBES,
};

params! {
    const PARAMS;

    BUFFER: Size = params::BUFFER.with_default("1000 packets", "Linux codel, ns-3");
    /// The target of the standing delay.
    pub TARGET: Duration = Key::new("target", Kind::Time { min: 0.0, max: 100.0 }, "5ms",
        "Standing delay that is acceptable.", "RFC 8289 section 4.4");
    /// The interval, about a round trip.
    pub INTERVAL: Duration = Key::new("interval", Kind::Time { min: 1e-6, max: 1000.0 }, "100ms",
        "How long the delay must stay above target before the first drop; about the longest usual round trip.",
        "RFC 8289 section 4.3");
    /// The number of bytes that may stay in a good queue.
    pub MTU: u64 = Key::new("mtu", Kind::Bytes { min: 0, max: 1_000_000 }, "1500B",
        "No packet is dropped while at most this many bytes are left in the queue.", "RFC 8289 section 5.4");
    OWN_ECN: Option<bool> = ecn_key!("Mark ECN-capable packets instead of dropping them.", "RFC 3168; RFC 8289");
    CE_THRESHOLD;
    /// Whether packets that a full buffer drops from the queue count as actions of the control law.
    pub COUNT_SHED: bool = Key::new("count_shed", Kind::Bool, "false",
        "Add the packets that an overloaded buffer drops from this queue to the count of actions.",
        "true in Linux fq_codel; RFC 8290 says nothing");
    BEFORE;
}

/// The probes of a CoDel.
pub const PROBES: [ProbeDef; 3] = Probe::defs(&READ);

/// The registry entry of this model.
pub const fn entry<P: Packet + 'static>() -> Entry<P> {
    Entry::aqm::<Codel>(
        &MODEL,
        Facts {
            also: const { &[Alias::ns3("CoDelQueueDisc")] },
            waits: &["target", "ce_threshold"],
            law: Some(Law::Sojourn),
            linux: Some(&LINUX),
            ..Facts::WITH_ECN
        },
    )
}

static LINUX: Linux = Linux::new(
    "codel",
    &[
        Word::new("buffer", "limit", Value::Packets, "1000 packets"),
        linux::TARGET,
        linux::INTERVAL,
        linux::ECN,
        linux::CE_THRESHOLD,
    ],
);

impl Configured for Codel {
    /// # Errors
    /// A target above the interval.
    fn configured(s: &Settings, _context: BuildContext) -> Result<Self, Refusal> {
        Ok(Codel::new(Config::from_settings(s)?))
    }
}

/// CoDel's parameters.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub target: Duration,
    pub interval: Duration,
    /// Bytes.
    pub mtu: u64,
    pub ecn: bool,
    pub ce_threshold: Option<Duration>,
    /// Whether packets that a full buffer drops count as actions.
    pub count_shed: bool,
}

impl Config {
    /// Read the settings of a model that declares CoDel's parameters.
    pub fn from_settings(settings: &Settings) -> Result<Config, Refusal> {
        let (target, interval) = (settings.get(&TARGET), settings.get(&INTERVAL));
        if target > interval {
            return Err(Refusal::new(
                format!("target ({target}) is above interval ({interval})"),
                "give an interval of a round trip and a target of 5 to 10 % of it",
            ));
        }
        Ok(Config {
            target,
            interval,
            mtu: settings.get(&MTU),
            ecn: params::ecn(settings),
            ce_threshold: settings.get(&CE_THRESHOLD),
            count_shed: settings.get(&COUNT_SHED),
        })
    }
}

/// The control law: the time between the `count`-th action and the next.
#[inline]
pub fn control_step(interval: Duration, count: u64) -> Duration {
    Duration::from_seconds(interval.seconds() / libm::sqrt(count.max(1) as f64))
}

/// The state machine, independent of a queue.
#[derive(Clone, Debug, Default)]
pub struct Control {
    /// The time at which the delay will have been above the target for an interval; `None` while the delay is below it.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    count: u64,
    last_count: u64,
    /// How long the last judged packet had waited.
    sojourn: Duration,
}

impl Control {
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn is_dropping(&self) -> bool {
        self.dropping
    }

    pub fn sojourn(&self) -> Duration {
        self.sojourn
    }

    /// Whether the delay has been above the target for an interval when `p` is taken from `queue`.
    fn judge<P: Packet>(&mut self, c: &Config, p: Option<&P>, queue: &dyn PacketSource<P>, now: Time) -> bool {
        self.sojourn = p.map_or(Duration::ZERO, |p| now.since(p.stamp()));
        if p.is_none() || self.sojourn < c.target || queue.waiting().bytes <= c.mtu {
            self.first_above = None;
            return false;
        }
        now >= *self.first_above.get_or_insert(now + c.interval)
    }

    /// The time of the action after the one at `t`.
    fn after(&self, c: &Config, t: Time) -> Time {
        t + control_step(c.interval, self.count)
    }

    /// Take the next packet to be sent. Packets before it may be dropped, and it may be marked.
    pub fn take<P: Packet>(
        &mut self,
        c: &Config,
        queue: &mut dyn PacketSource<P>,
        now: Time,
        out: &mut dyn Out<P>,
    ) -> Option<P> {
        let mut p = queue.pop();
        let mut bad = self.judge(c, p.as_ref(), queue, now);
        let mut marked = false;
        if self.dropping {
            self.dropping = bad;
            while self.dropping && now >= self.drop_next {
                let Some(mut victim) = p.take() else { break };
                self.count += 1;
                if signal(&mut victim, c.ecn, MarkReason::Sojourn, out) {
                    // The mark is the action of this step, so the packet is delivered.
                    self.drop_next = self.after(c, self.drop_next);
                    p = Some(victim);
                    marked = true;
                    break;
                }
                queue.drop(victim, DropReason::Sojourn, out);
                p = queue.pop();
                bad = self.judge(c, p.as_ref(), queue, now);
                if bad {
                    self.drop_next = self.after(c, self.drop_next);
                }
                self.dropping = bad;
            }
        } else if let Some(mut victim) = p.take_if(|_| bad) {
            if signal(&mut victim, c.ecn, MarkReason::Sojourn, out) {
                p = Some(victim);
                marked = true;
            } else {
                queue.drop(victim, DropReason::Sojourn, out);
                p = queue.pop();
                self.judge(c, p.as_ref(), queue, now);
            }
            self.dropping = true;
            // Shortly after the last dropping state, resume near its drop rate. A drop_next in the future also counts
            // as recent.
            let recent = now.since(self.drop_next).0 < c.interval.0.saturating_mul(16);
            let gained = self.count.saturating_sub(self.last_count);
            self.count = if gained > 1 && recent { gained } else { 1 };
            self.drop_next = self.after(c, now);
            self.last_count = self.count;
        }
        if p.is_none() {
            self.dropping = false;
        }
        let waited_longer = |p: &P| c.ce_threshold.is_some_and(|limit| now.since(p.stamp()) > limit);
        if let Some(p) = p.as_mut().filter(|p| !marked && waited_longer(p)) {
            signal(p, true, MarkReason::Step, out);
        }
        p
    }
}

/// CoDel's decisions for one queue, which is a FIFO or one queue of a port.
#[derive(Clone, Debug)]
pub struct Codel {
    config: Config,
    control: Control,
}

impl Codel {
    pub fn new(config: Config) -> Codel {
        Codel {
            config,
            control: Control::default(),
        }
    }
}

impl<P: Packet> Admission<P> for Codel {
    fn admit(&mut self, p: &mut P, queue: &mut Waiting<'_, P>, _line: &Line, _out: &mut dyn Out<P>) -> Decision {
        match queue.fits(p.bytes()) {
            true => Decision::Store,
            false => Decision::Drop(DropReason::Overflow),
        }
    }

    fn needs_its_queue(&self) -> Option<&'static str> {
        Some("decides when packets leave its queue")
    }

    fn take(&mut self, from: &mut dyn PacketSource<P>, line: &Line, out: &mut dyn Out<P>) -> Option<P> {
        self.control.take(&self.config, from, line.now, out)
    }

    fn left(&mut self, _p: &P, how: Exit, _rest: Backlog, _line: &Line) {
        if self.config.count_shed && how == Exit::Evicted(DropReason::Overload) {
            self.control.count += 1;
        }
    }

    fn probes(&self) -> &[ProbeDef] {
        &PROBES
    }

    fn read(&self, probe: ProbeId, index: u32) -> f64 {
        Probe::read(&READ, self, usize::from(probe.0), index)
    }

    /// The dropping state, its count and the time of the next action stay. The action after that follows the new
    /// interval.
    fn reconfigure(&mut self, s: &Settings) -> Result<(), Refusal> {
        self.config = Config::from_settings(s)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
