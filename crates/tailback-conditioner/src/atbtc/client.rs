//! A client: a sender, or the senders of an aggregate, with two buckets.

use super::params::{
    BY_WEIGHT, COLOURS, COMMITTED_RATE, DEPTH_FLOOR, MIN_DEPTH, PEAK_RATE, RETRANSMIT_GREEN, SLOWSTART_POLICE,
};
use crate::conditioner::SenderState;
use crate::meter::Meter;
use crate::meter::params::{ColourMode, MODE};
use crate::meter::trtcm::TwoRate;
use std::collections::BTreeMap;
use tailback_base::model::Probe;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Bucket, Colour, Duration, FlowId, Settings, Time};

/// The settings that all clients of a conditioner share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile {
    committed: BitRate,
    peak: BitRate,
    min_depth: u64,
    floor: bool,
    yellow: bool,
    retransmit_green: bool,
    police: bool,
    mode: ColourMode,
    by_weight: bool,
}

impl Profile {
    pub fn from_settings(s: &Settings) -> Result<Profile, Refusal> {
        let committed = s.get(&COMMITTED_RATE);
        let peak = s.get(&PEAK_RATE).unwrap_or(BitRate(2 * committed.0));
        if peak.0 < committed.0 {
            let e = Refusal::new(
                format!("peak_rate {peak} is below committed_rate {committed}"),
                "give a peak rate of at least the committed rate",
            );
            return Err(e.within(PEAK_RATE.name));
        }
        Ok(Profile {
            committed,
            peak,
            min_depth: s.get(&MIN_DEPTH),
            floor: s.get(&DEPTH_FLOOR),
            yellow: s.get(&COLOURS) == 3,
            retransmit_green: s.get(&RETRANSMIT_GREEN),
            police: s.get(&SLOWSTART_POLICE),
            mode: s.get(&MODE),
            by_weight: s.get(&BY_WEIGHT),
        })
    }
}

/// The state of one flow of a client.
#[derive(Clone, Copy, Debug)]
struct FlowState {
    weight: f64,
    state: Option<SenderState>,
    /// Whether a packet of this slow start was already dropped.
    policed: bool,
}

/// The buckets and flows of a client.
#[derive(Debug)]
pub(super) struct Client {
    profile: Profile,
    meter: TwoRate,
    members: BTreeMap<FlowId, FlowState>,
    /// The largest smoothed round trip of its flows.
    srtt: Option<Duration>,
}

impl Client {
    pub fn new(profile: &Profile) -> Client {
        Client {
            profile: *profile,
            meter: TwoRate::new(profile.committed, profile.peak, profile.min_depth, profile.mode),
            members: BTreeMap::new(),
            srtt: None,
        }
    }

    pub fn join(&mut self, flow: FlowId, weight: f64, now: Time) {
        let new = FlowState {
            weight,
            state: None,
            policed: false,
        };
        self.members.insert(flow, new);
        self.set_rates(now);
    }

    /// Remove a flow that sends no more packets. Returns whether it was the client's last flow.
    pub fn leave(&mut self, flow: FlowId, now: Time) -> bool {
        self.members.remove(&flow);
        self.set_rates(now);
        self.members.is_empty()
    }

    /// Set the rates for the flows that are present. If no flow is present, the rates stay the same.
    fn set_rates(&mut self, now: Time) {
        let sum: f64 = self.members.values().map(|m| m.weight).sum();
        if !self.profile.by_weight || sum <= 0.0 {
            return;
        }
        self.meter.fill(now);
        let times = |rate: BitRate| BitRate((rate.0 as f64 * sum).round() as u64);
        self.meter.committed.0 = times(self.profile.committed);
        self.meter.peak.0 = times(self.profile.peak);
        self.set_depths();
    }

    fn set_depths(&mut self) {
        let least_depth = match (self.srtt, self.profile.floor) {
            (Some(_), false) => 0,
            _ => self.profile.min_depth,
        };
        let srtt = self.srtt.unwrap_or(Duration::ZERO);
        for (rate, bucket) in [&mut self.meter.committed, &mut self.meter.peak] {
            bucket.set_depth(*rate, srtt, least_depth);
        }
    }

    /// Apply a sender's report.
    pub fn report(&mut self, flow: FlowId, state: SenderState, now: Time) {
        let Some(member) = self.members.get_mut(&flow) else {
            return;
        };
        member.policed &= state.slow_start;
        member.state = Some(state);
        let is_first = self.srtt.is_none();
        let states = self.members.values().filter_map(|m| m.state);
        let largest = states.map(|s| s.srtt).max();
        if largest == self.srtt {
            return;
        }
        self.srtt = largest;
        self.meter.fill(now);
        self.set_depths();
        if is_first {
            self.meter.committed.1.fill_up();
            self.meter.peak.1.fill_up();
        }
    }

    /// The new colour of a data packet that arrived with the colour `came`. `again` says that it is a retransmission.
    pub fn colour(&mut self, bytes: u32, came: Colour, again: bool, now: Time) -> Colour {
        let colour_that_counts = self.meter.known(came);
        if again && self.profile.retransmit_green && colour_that_counts == Colour::Green {
            self.meter.fill(now);
            self.meter.committed.1.take_at_most(bytes);
            self.meter.peak.1.take_at_most(bytes);
            return Colour::Green;
        }
        if self.profile.yellow {
            return self.meter.colour(bytes, came, now);
        }
        self.meter.fill(now);
        match colour_that_counts == Colour::Green && self.meter.committed.1.take(bytes) {
            true => Colour::Green,
            false => Colour::Red,
        }
    }

    /// Whether a red packet of this flow is dropped. At most one packet per slow start is dropped.
    pub fn polices(&mut self, flow: FlowId) -> bool {
        self.profile.police && self.ends_slow_start(flow)
    }

    /// Whether a packet is to be dropped to end the slow start of this flow. This is true at most once in each slow
    /// start.
    pub fn ends_slow_start(&mut self, flow: FlowId) -> bool {
        let slow_start = self.in_slow_start(flow);
        let Some(m) = self.members.get_mut(&flow) else {
            return false;
        };
        let drop = !m.policed && slow_start;
        m.policed |= drop;
        drop
    }

    /// Whether the sender of this flow is in slow start. Before its first report, a sender counts as being in slow
    /// start.
    pub fn in_slow_start(&self, flow: FlowId) -> bool {
        let state = self.members.get(&flow).map(|m| m.state);
        state.is_some_and(|s| s.is_none_or(|s| s.slow_start))
    }

    /// The bucket whose tokens keep a packet from being red.
    fn least_bad(&mut self) -> &mut (BitRate, Bucket) {
        match self.profile.yellow {
            true => &mut self.meter.peak,
            false => &mut self.meter.committed,
        }
    }

    /// Whether a packet of this number of bytes can leave now: it is not red, or it would be red at any time.
    pub fn is_within_peak(&mut self, bytes: u32, now: Time) -> bool {
        self.wait(bytes, now) == Duration::ZERO
    }

    /// The time until a packet of this size can leave. If it is larger than the bucket, it waits until the bucket is
    /// full.
    pub fn wait(&mut self, bytes: u32, now: Time) -> Duration {
        self.meter.fill(now);
        let (rate, bucket) = self.least_bad();
        bucket.wait(bytes, *rate).unwrap_or(Duration::ZERO)
    }

    /// Whether a packet that arrived with this colour may get a better colour than red.
    pub fn may_improve(&self, came: Colour) -> bool {
        self.meter.known(came) != Colour::Red
    }

    /// Values that can be recorded.
    pub const READ: [Probe<Client, Time>; 5] = [
        Probe::new(
            "committed_tokens",
            "bytes",
            "The largest burst that would be green now.",
            |c, now| c.meter.committed.1.bytes_at(c.meter.committed.0, now),
        ),
        Probe::new(
            "committed_depth",
            "bytes",
            "The largest burst that would be green with a full bucket.",
            |c, _| c.meter.committed.1.depth(),
        ),
        Probe::new(
            "peak_tokens",
            "bytes",
            "The largest burst that can arrive now before packets are red.",
            |c, now| c.meter.peak.1.bytes_at(c.meter.peak.0, now),
        ),
        Probe::new(
            "peak_depth",
            "bytes",
            "The largest burst that can arrive with a full bucket before packets are red.",
            |c, _| c.meter.peak.1.depth(),
        ),
        Probe::new(
            "round_trip",
            "s",
            "The smoothed round trip that sets the depths; 0 before the first measurement.",
            |c, _| c.srtt.map_or(0.0, Duration::seconds),
        ),
    ];
}
