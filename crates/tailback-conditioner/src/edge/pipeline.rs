//! The order of the stages, and the clock that they share.

use super::adaptive::{Adaptive, Keeping};
use super::counts::{Counts, EdgeProbe, PROBES, Remembers, STAGES, Stage, remembered};
use super::excess::{Excess, TargetRule};
use super::exchange::{Exchange, Told};
use super::feedback::Feedback;
use super::round_trips::Source;
use super::shaper::{Shaper, ShaperLaw};
use super::small_window::{Sight, SmallWindow, WindowSize};
use super::spacing::Spacing;
use super::syn::Syn;
use crate::conditioner::{Conditioner, EdgeId, EdgeMessage, EdgeOut, Header, PathDelay};
use crate::meter::Meters;
use std::collections::BTreeMap;
use tailback_base::{Colour, DropReason, Dscp, Duration, FlowId, KeyField, Packet, ProbeDef, Request, Time};

/// Expedited forwarding (RFC 3246).
const EXPEDITED: Dscp = Dscp(46);

/// The marker that colours packets.
pub enum Marker {
    Meters(Meters),
    Excess(Box<Excess>),
}

tailback_base::choice! {
    /// The treatment of pure acknowledgements.
    pub enum Acks { Green = "green", Metered = "metered" }

    /// The treatment of packets of other classes, and of EF.
    pub enum Others { Mark = "mark", Pass = "pass" }

    /// The place of the shaper.
    pub enum Position { AfterMarker = "after_marker", BeforeMarker = "before_marker" }
}

/// The request that a sender gets for a packet that is not green. Yellow counts half as much as red.
fn mark_told(colour: Colour) -> Request {
    Request::SlowDown {
        level: (colour as u32).saturating_sub(1),
        of: 2,
    }
}

/// The shapers of all aggregates. A packet waits together with the header fields that were read.
pub struct Shapers<P> {
    pub law: ShaperLaw,
    pub position: Position,
    pub by_aggregate: BTreeMap<u64, Shaper<(P, Header)>>,
}

/// The times at which the marker reports its values to other edges.
pub struct Telling {
    pub interval: Duration,
    pub at: Time,
}

/// The conditioner. A stage that is not in the scenario is absent.
pub struct Edge<P> {
    pub marker: Marker,
    pub class: u8,
    pub others: Others,
    pub acks: Acks,
    pub syn: Option<Syn>,
    pub small_window: Option<SmallWindow>,
    pub cwr: bool,
    pub spacing: Option<Spacing>,
    pub feedback: Option<Feedback>,
    /// The best colour that is dropped.
    pub policed: Option<Colour>,
    /// The best colour for which the sender gets a request.
    pub told: Option<Colour>,
    pub shapers: Option<Shapers<P>>,
    pub adaptive: Option<Adaptive>,
    pub exchange: Exchange,
    pub telling: Option<Telling>,
    pub counts: Counts,
    /// The probes of the edge itself, and those of the marker.
    pub probes: Vec<ProbeDef>,
    /// One more than the largest flow number so far.
    pub flows_seen: u32,
}

impl<P: Packet> Edge<P> {
    /// The group of stages that is in use.
    fn mode(&self) -> Option<Keeping> {
        self.adaptive.as_ref().map(Adaptive::mode)
    }

    /// The stage that protects a data packet, if any. The small-window stage examines each packet, because it keeps the
    /// state of flows.
    fn protector(&mut self, p: &P, seen: &Header, now: Time) -> Option<Stage> {
        let (flow, mode) = (p.flow(), self.mode());
        let per_flow = mode != Some(Keeping::Stateless);
        let start = p.sequence();
        let end = start + u64::from(seen.payload) + u64::from(seen.syn);
        let mut protector = None;
        if let Some(rule) = self.small_window.as_mut().filter(|_| per_flow) {
            let sight = Sight {
                flow,
                start,
                end,
                payload: seen.payload,
                syn: seen.syn,
                acknowledged: seen.ack.is_some(),
            };
            match rule.forward(sight, now) {
                WindowSize::Small => protector = Some(Stage::SmallWindow),
                WindowSize::Large => {}
                WindowSize::NotApplicable => self.counts.skip(Stage::SmallWindow),
            }
        }
        if let Some(rule) = &mut self.syn {
            let protects = match (mode, rule.needs_flows()) {
                // Below the threshold the small-window stage protects SYNs, and the SYN flag is not examined.
                (Some(Keeping::PerFlow), false) => false,
                (Some(Keeping::Stateless), true) => seen.syn,
                _ => rule.protects(flow, seen.syn, end, seen.payload, now),
            };
            if protects {
                protector = protector.or(Some(Stage::Syn));
            }
        }
        if self.cwr && seen.cwr && !seen.syn {
            protector = protector.or(Some(Stage::Cwr));
        }
        protector
    }

    /// The colour of a packet after all stages, or `None` if it is to be dropped.
    fn judge(&mut self, p: &P, seen: &Header, now: Time) -> Option<Colour> {
        let metered = match &mut self.marker {
            Marker::Meters(m) => m.colour(p, now),
            Marker::Excess(e) => e.colour(p, now),
        };
        let aggregate = p.key(KeyField::Aggregate);
        self.counts.ask(aggregate, metered);
        let protector = self.protector(p, seen, now);
        let mut colour = metered;
        if let Some(stage) = protector {
            colour = Colour::Green;
            if metered != Colour::Green {
                self.counts.change(aggregate, stage);
            }
        }
        let per_flow = self.mode() != Some(Keeping::Stateless);
        if let Some(spacing) = self.spacing.as_mut().filter(|_| per_flow) {
            if protector.is_some() {
                spacing.protected(p.flow(), now);
            } else {
                match spacing.space(p.flow(), colour, now) {
                    None => self.counts.skip(Stage::Spacing),
                    Some(spaced) if spaced != colour => {
                        colour = spaced;
                        self.counts.change(aggregate, Stage::Spacing);
                    }
                    Some(_) => {}
                }
            }
        }
        if let Some(feedback) = self.feedback.as_mut().filter(|_| colour == Colour::Red)
            && !feedback.enters(p.key(KeyField::Aggregate), p.bytes())
        {
            self.counts.change(aggregate, Stage::Feedback);
            return None;
        }
        if self.policed.is_some_and(|best| colour >= best) {
            self.counts.change(aggregate, Stage::Policer);
            return None;
        }
        if let Some(f) = self.feedback.as_mut().filter(|_| colour != Colour::Green) {
            f.leaves(aggregate, p.bytes());
        }
        self.counts.mark(aggregate, colour);
        Some(colour)
    }

    /// Mark a packet or drop it. Returns the packet if it is to be sent.
    fn mark(&mut self, mut p: P, seen: &Header, now: Time, out: &mut dyn EdgeOut<P>) -> Option<P> {
        let flow = p.flow();
        self.flows_seen = self.flows_seen.max(flow.0 + 1);
        let is_pure_ack = seen.payload == 0 && !seen.syn;
        if is_pure_ack && self.acks == Acks::Green {
            p.set_dscp(Colour::Green.in_class(self.class));
            return Some(p);
        }
        if let Some(a) = &mut self.adaptive {
            a.count(flow, now);
        }
        if let Marker::Excess(e) = &mut self.marker
            && !is_pure_ack
        {
            let span = (
                p.sequence(),
                p.sequence() + u64::from(seen.payload) + u64::from(seen.syn),
            );
            e.round_trips.forward(p.key(KeyField::Aggregate), flow, span, now);
        }
        match self.judge(&p, seen, now) {
            Some(colour) => {
                p.set_dscp(colour.in_class(self.class));
                if self.told.is_some_and(|best| colour >= best) {
                    out.request(&p, mark_told(colour));
                }
                Some(p)
            }
            None => {
                out.dropped(p, DropReason::Profile);
                None
            }
        }
    }

    /// Whether the packet passes unchanged: it belongs to another class of assured forwarding or to EF, and such
    /// packets may pass.
    fn passes(&self, p: &P) -> bool {
        let code = p.dscp();
        let other = code == EXPEDITED || (Colour::of(code).is_some() && code.0 >> 3 != self.class);
        self.others == Others::Pass && other
    }

    /// Call a shaper, and send the packets that it releases.
    fn shape(
        &mut self,
        now: Time,
        out: &mut dyn EdgeOut<P>,
        call: impl FnOnce(&mut Shapers<P>, &mut Vec<(P, Header)>),
    ) {
        let Some(shapers) = &mut self.shapers else { return };
        let mut released = vec![];
        call(shapers, &mut released);
        let position = shapers.position;
        for (p, header) in released {
            let p = match position {
                Position::AfterMarker => Some(p),
                Position::BeforeMarker => self.mark(p, &header, now, out),
            };
            if let Some(p) = p {
                out.send(p);
            }
        }
    }

    fn delay_in_shaper(&mut self, p: P, seen: Header, now: Time, out: &mut dyn EdgeOut<P>) {
        let (aggregate, bytes) = (p.key(KeyField::Aggregate), p.bytes());
        self.shape(now, out, |shapers, left| {
            let law = shapers.law;
            let shaper = shapers
                .by_aggregate
                .entry(aggregate)
                .or_insert_with(|| Shaper::new(law));
            shaper.arrive((p, seen), bytes, now, &mut |p| left.push(p));
        });
    }

    /// Switch to the stages of this mode.
    fn change_mode(&mut self, mode: Keeping, now: Time, out: &mut dyn EdgeOut<P>) {
        if let Some(s) = &mut self.small_window {
            s.clear();
        }
        if let Some(s) = &mut self.spacing {
            s.clear();
        }
        if let Some(s) = &mut self.syn {
            s.clear();
        }
        if mode == Keeping::Stateless {
            self.shape(now, out, |shapers, left| {
                let all = shapers.by_aggregate.values_mut();
                all.for_each(|s| s.flush(&mut |p| left.push(p)));
            });
        }
    }

    fn tell(&mut self, now: Time, out: &mut dyn EdgeOut<P>) {
        let (Marker::Excess(e), Some(t)) = (&self.marker, &mut self.telling) else {
            return;
        };
        t.at = now + t.interval;
        let (weighing, own_least) = (e.weighing(), e.round_trips.own_least());
        if weighing.target == Some(TargetRule::Square) {
            self.exchange.tell(Told::Target(e.least_target()), now, out);
        }
        if let Some(own_least) = own_least.filter(|_| weighing.round_trip.is_some()) {
            self.exchange.tell(Told::LeastRoundTrip(own_least), now, out);
        }
        if let Some(loss) = e.own_loss() {
            self.exchange.tell(Told::Loss(loss), now, out);
        }
    }

    fn remembers(&self, stage: usize) -> Option<&dyn Remembers> {
        let syn = self.syn.as_ref().filter(|s| s.needs_flows());
        let tables: [(Stage, Option<&dyn Remembers>); 4] = [
            (Stage::Syn, syn.map(|s| s.memory() as _)),
            (Stage::SmallWindow, self.small_window.as_ref().map(|s| s.memory() as _)),
            (Stage::Spacing, self.spacing.as_ref().map(|s| s.memory() as _)),
            (Stage::Adaptive, self.adaptive.as_ref().map(|s| s as _)),
        ];
        tables.into_iter().find(|(s, _)| *s as usize == stage)?.1
    }

    /// The value of a probe for an aggregate; NaN after the last one.
    fn of_aggregate(&self, probe: EdgeProbe, index: u32, now: Time) -> f64 {
        if probe == EdgeProbe::Drop {
            let drops = self.feedback.as_ref().and_then(|f| f.drops().nth(index as usize));
            return drops.unwrap_or(f64::NAN);
        }
        let Marker::Excess(e) = &self.marker else {
            return f64::NAN;
        };
        let Some(aggregate) = e.aggregates().nth(index as usize) else {
            return f64::NAN;
        };
        match probe {
            EdgeProbe::Rate => e.rate(aggregate).unwrap_or(0.0),
            EdgeProbe::RoundTrip => e.round_trips.of(aggregate).unwrap_or(0.0),
            _ => e.weight(aggregate, now),
        }
    }

    fn of_flow(&self, index: u32) -> f64 {
        if index >= self.flows_seen {
            return f64::NAN;
        }
        let window = self.small_window.as_ref().and_then(|s| s.window(FlowId(index)));
        window.map_or(0.0, |w| w as f64)
    }
}

impl<P: Packet> Conditioner<P> for Edge<P> {
    fn forward(&mut self, p: P, seen: &Header, now: Time, out: &mut dyn EdgeOut<P>) {
        if self.passes(&p) {
            return out.send(p);
        }
        let position = self.shapers.as_ref().map(|s| s.position);
        // In the stateless mode there are no tables of flows, and the shaper is off together with the stages that have
        // such tables.
        let position = position.filter(|_| self.mode() != Some(Keeping::Stateless));
        match position {
            Some(Position::BeforeMarker) => self.delay_in_shaper(p, *seen, now, out),
            Some(Position::AfterMarker) => {
                if let Some(p) = self.mark(p, seen, now, out) {
                    self.delay_in_shaper(p, *seen, now, out);
                }
            }
            None => {
                if let Some(p) = self.mark(p, seen, now, out) {
                    out.send(p);
                }
            }
        }
    }

    fn reverse(&mut self, p: &P, seen: &Header, now: Time) {
        if let Some(ack) = seen.ack {
            if let Some(s) = &mut self.small_window {
                s.reverse(p.flow(), ack, now);
            }
            if let Marker::Excess(e) = &mut self.marker {
                e.round_trips.reverse(p.flow(), ack, now);
            }
        }
        if let (Some(f), Some(colour)) = (&mut self.feedback, Colour::of(p.dscp())) {
            f.arrives(p.key(KeyField::Aggregate), colour, p.bytes());
        }
    }

    fn message(&mut self, from: EdgeId, m: EdgeMessage, now: Time) {
        match (Told::of(m), &mut self.marker, &mut self.feedback) {
            (Some(Told::LeastRoundTrip(s)), Marker::Excess(e), _) => e.round_trips.hear(from, s, now),
            (Some(Told::Target(t)), Marker::Excess(e), _) => e.hear_target(t),
            (Some(Told::Red { aggregate, bytes }), _, Some(f)) => f.hear(aggregate, bytes as f64),
            (Some(Told::Above { aggregate, bytes }), marker, Some(f)) => {
                f.hear_above(aggregate, bytes as f64);
                if let Marker::Excess(e) = marker
                    && e.round_trips.own_nearest() == Some(aggregate)
                    && let Some(loss) = f.loss(aggregate)
                {
                    e.hear_loss(None, loss);
                }
            }
            (Some(Told::Loss(share)), Marker::Excess(e), _) => e.hear_loss(Some(from), share),
            _ => {}
        }
    }

    fn flow_path(&mut self, p: &P, path: PathDelay, now: Time) {
        if let Marker::Excess(e) = &mut self.marker {
            let changed = e
                .round_trips
                .path(p.key(KeyField::Aggregate), path.round_trip, path.outside);
            if let Some(t) = self
                .telling
                .as_mut()
                .filter(|_| changed && e.round_trips.source() == Source::Oracle)
            {
                t.at = now;
            }
        }
    }

    fn flow_left(&mut self, p: &P, _now: Time) {
        match &mut self.marker {
            Marker::Meters(m) => m.left(p),
            Marker::Excess(e) => e.left(p),
        }
    }

    fn held(&self) -> u64 {
        let shapers = self.shapers.iter().flat_map(|s| s.by_aggregate.values());
        shapers.map(|s| s.len() as u64).sum()
    }

    fn next_timer(&self) -> Option<Time> {
        let shapers = self.shapers.iter().flat_map(|s| s.by_aggregate.values());
        let other_timers = [
            self.telling.as_ref().map(|t| t.at),
            self.feedback.as_ref().map(Feedback::next),
            self.adaptive.as_ref().map(Adaptive::next),
            self.exchange.next(),
        ];
        shapers
            .filter_map(Shaper::next)
            .chain(other_timers.into_iter().flatten())
            .min()
    }

    fn on_timer(&mut self, now: Time, out: &mut dyn EdgeOut<P>) {
        self.shape(now, out, |shapers, left| {
            let all = shapers.by_aggregate.values_mut();
            all.for_each(|s| s.release(now, &mut |p| left.push(p)));
        });
        if self.telling.as_ref().is_some_and(|t| t.at <= now) {
            self.tell(now, out);
        }
        if let Some(f) = self.feedback.as_mut().filter(|f| f.next() <= now) {
            for (aggregate, [red, above]) in f.close(now) {
                self.exchange.tell(Told::Red { aggregate, bytes: red }, now, out);
                self.exchange.tell(
                    Told::Above {
                        aggregate,
                        bytes: above,
                    },
                    now,
                    out,
                );
            }
        }
        let changed = self
            .adaptive
            .as_mut()
            .filter(|a| a.next() <= now)
            .and_then(|a| a.judge(now));
        if let Some(mode) = changed {
            self.change_mode(mode, now, out);
        }
        self.exchange.release(now, out);
    }

    fn sends_requests(&self) -> bool {
        self.told.is_some()
    }

    fn probes(&self) -> &[ProbeDef] {
        &self.probes
    }

    fn read(&self, probe: usize, index: u32, now: Time) -> f64 {
        let Some((own, def)) = PROBES.get(probe) else {
            return match &self.marker {
                Marker::Meters(m) => m.read(probe - PROBES.len(), index, now),
                Marker::Excess(_) => f64::NAN,
            };
        };
        let i = index as usize;
        if def.per == "stage" && i >= STAGES {
            return f64::NAN;
        }
        match own {
            EdgeProbe::Asked => self.counts.asked.get(i).map_or(f64::NAN, |n| *n as f64),
            EdgeProbe::Changed => self.counts.changed[i] as f64,
            EdgeProbe::NotApplicable => self.counts.not_applicable[i] as f64,
            EdgeProbe::Flows | EdgeProbe::MostFlows | EdgeProbe::RefusedFlows | EdgeProbe::EntryBytes => {
                self.remembers(i).map_or(0.0, |table| remembered(table, *own, now))
            }
            EdgeProbe::PerFlowMode => f64::from(u8::from(self.mode() != Some(Keeping::Stateless))),
            EdgeProbe::ActiveFlows => self.adaptive.as_ref().map_or(0.0, Adaptive::counted),
            EdgeProbe::LeastRoundTrip => match &self.marker {
                Marker::Excess(e) => e.round_trips.least(now).unwrap_or(0.0),
                Marker::Meters(_) => 0.0,
            },
            EdgeProbe::Shaped => Conditioner::held(self) as f64,
            EdgeProbe::Window => self.of_flow(index),
            EdgeProbe::Rate | EdgeProbe::RoundTrip | EdgeProbe::Weight | EdgeProbe::Drop => {
                self.of_aggregate(*own, index, now)
            }
            EdgeProbe::Aggregate(what) => self.counts.of_aggregate(*what, i),
        }
    }
}
