//! One meter for all packets, or one for each aggregate or flow.
//!
//! State: the meters, and the meter of each key. A meter is made when its first packet arrives. The result is the same
//! as with a meter that existed from the start. A flow's meter is removed when the driver reports the end of the flow.
//! Each meter draws from a random stream named after its key, so that a flow's colours do not depend on which other
//! flows exist.
//!
//! Cost of a packet: a search among the keys, if there is more than one meter.

use super::{Meter, MeterRow};
use std::collections::BTreeMap;
use tailback_base::model::Choice;
use tailback_base::quantity::Refusal;
use tailback_base::{Colour, KeyField, Packet, ProbeDef, Settings, Stream, Time};

/// The packets that one meter counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    Port,
    Each(KeyField),
}

impl Choice for Scope {
    const WORDS: &'static [&'static str] = &["port", "aggregate", "flow"];
    const MEANINGS: &'static [Scope] = &[
        Scope::Port,
        Scope::Each(KeyField::Aggregate),
        Scope::Each(KeyField::Tuple),
    ];
}

impl Scope {
    /// The meaning of a probe's index.
    pub fn counts(self) -> &'static str {
        match self {
            Scope::Port => "",
            Scope::Each(KeyField::Aggregate) => "aggregate",
            Scope::Each(_) => "flow",
        }
    }
}

/// The meters of a conditioner.
pub struct Meters {
    row: MeterRow,
    settings: Settings,
    scope: Scope,
    /// The seed from which the random streams of the meters are derived.
    seed: u64,
    meters: Vec<Box<dyn Meter>>,
    /// The meter of each key.
    of: BTreeMap<u64, usize>,
    /// The meters whose flows have ended.
    free: Vec<usize>,
    probes: Vec<ProbeDef>,
}

impl Meters {
    pub(super) fn new(row: MeterRow, settings: Settings, scope: Scope, mut stream: Stream) -> Result<Meters, Refusal> {
        // One meter is always built here, because errors in the settings are the same for every key.
        let port_meter = (row.build)(&settings, stream.clone())?;
        Ok(Meters {
            row,
            settings,
            scope,
            seed: stream.bits(),
            meters: if scope == Scope::Port { vec![port_meter] } else { vec![] },
            of: BTreeMap::new(),
            free: vec![],
            probes: row
                .model
                .probes
                .iter()
                .map(|p| ProbeDef {
                    per: scope.counts(),
                    ..*p
                })
                .collect(),
        })
    }

    fn index<P: Packet>(&mut self, p: &P) -> usize {
        let Scope::Each(field) = self.scope else { return 0 };
        let key = p.key(field);
        if let Some(i) = self.of.get(&key) {
            return *i;
        }
        let stream = Stream::new(self.seed, &format!("meter.{key}"));
        let Ok(meter) = (self.row.build)(&self.settings, stream) else {
            unreachable!("the same settings built one before");
        };
        let i = match self.free.pop() {
            Some(i) => {
                self.meters[i] = meter;
                i
            }
            None => {
                self.meters.push(meter);
                self.meters.len() - 1
            }
        };
        self.of.insert(key, i);
        i
    }

    /// The meter of a packet.
    pub fn meter<P: Packet>(&mut self, p: &P) -> &mut dyn Meter {
        let i = self.index(p);
        &mut *self.meters[i]
    }

    /// The colour that the meter of a packet gives this packet.
    pub fn colour<P: Packet>(&mut self, p: &P, now: Time) -> Colour {
        let came = Colour::of(p.dscp()).unwrap_or(Colour::Green);
        self.meter(p).colour(p.bytes(), came, now)
    }

    /// All meters, for reports to all meters.
    pub fn all(&mut self) -> impl Iterator<Item = &mut Box<dyn Meter>> {
        self.meters.iter_mut()
    }

    /// The flow of this packet sends no more packets.
    pub fn left<P: Packet>(&mut self, p: &P) {
        if self.scope == Scope::Each(KeyField::Tuple)
            && let Some(i) = self.of.remove(&p.key(KeyField::Tuple))
        {
            self.free.push(i);
        }
    }

    /// The probes of the meter's model. If there are several meters, the index of a value is the number of the meter,
    /// in the order of creation.
    pub fn probes(&self) -> &[ProbeDef] {
        &self.probes
    }

    pub fn read(&self, probe: usize, index: u32, now: Time) -> f64 {
        self.meters.get(index as usize).map_or(f64::NAN, |m| m.read(probe, now))
    }
}

#[cfg(test)]
mod tests {
    use crate::conditioner::Header;
    use crate::meter::{token_bucket, tsw2cm};
    use crate::testing::{Plain, Seen, built};
    use tailback_base::{Dscp, Settings, Time};

    /// The colours of packets of 1500 bytes, which are alternately of flow 1 and flow 2, in two aggregates or one.
    fn colours(per: &str, aggregates: [u64; 2]) -> Vec<u8> {
        let s = Settings::defaults(&token_bucket::MODEL)
            .with("rate", "8Mbps")
            .with("depth", "3000B")
            .with("per", per);
        let (mut c, mut out) = (built(&s).unwrap(), Seen::default());
        for i in 0..6 {
            let p = Plain {
                bytes: 1500,
                flow: i % 2,
                aggregate: aggregates[i as usize % 2],
                ..Plain::default()
            };
            c.forward(p, &Header::default(), Time::ZERO, &mut out);
        }
        out.colours.iter().map(|c| c.0).collect()
    }

    #[test]
    fn a_meter_counts_the_packets_of_its_port_aggregate_or_flow() {
        assert_eq!(colours("port", [1, 2]), [10, 10, 12, 12, 12, 12]);
        assert_eq!(colours("aggregate", [1, 1]), [10, 10, 12, 12, 12, 12]);
        assert_eq!(colours("aggregate", [1, 2]), [10, 10, 10, 10, 12, 12]);
        assert_eq!(colours("flow", [1, 1]), [10, 10, 10, 10, 12, 12]);
    }

    /// A flow gets the same random numbers whichever other flows send.
    #[test]
    fn colours_by_chance_do_not_depend_on_other_flows() {
        let s = Settings::defaults(&tsw2cm::MODEL)
            .with("committed_rate", "1Mbps")
            .with("per", "flow");
        let run = |flows: &[u32]| {
            let (mut c, mut out) = (built(&s).unwrap(), Seen::default());
            let mut first_colours = vec![];
            for i in 0..2000 {
                for flow in flows {
                    let p = Plain {
                        bytes: 1000,
                        flow: *flow,
                        ..Plain::default()
                    };
                    c.forward(p, &Header::default(), Time(i * 2_000_000), &mut out);
                    first_colours.extend((*flow == 1).then(|| out.colours[out.colours.len() - 1]));
                }
            }
            first_colours
        };
        let alone = run(&[1]);
        assert!(alone.contains(&Dscp(10)) && alone.contains(&Dscp(12)));
        assert_eq!(alone, run(&[0, 1, 2]));
    }

    #[test]
    fn a_meter_goes_with_its_flow_and_probes_are_by_meter() {
        let s = Settings::defaults(&token_bucket::MODEL)
            .with("rate", "8Mbps")
            .with("depth", "3000B")
            .with("per", "flow");
        let (mut c, mut out) = (built(&s).unwrap(), Seen::default());
        let p = |flow| Plain {
            flow,
            bytes: 1500,
            ..Plain::default()
        };
        for flow in [7, 7, 8] {
            c.forward(p(flow), &Header::default(), Time::ZERO, &mut out);
        }
        let read = |c: &dyn crate::Conditioner<Plain>| [0, 1, 2].map(|i| c.read(0, i, Time::ZERO));
        assert_eq!(read(&*c)[..2], [0.0, 1500.0]);
        assert!(read(&*c)[2].is_nan() && c.probes()[0].per == "flow");
        c.flow_left(&p(7), Time::ZERO);
        c.forward(p(9), &Header::default(), Time::ZERO, &mut out);
        assert_eq!(read(&*c)[..2], [1500.0, 1500.0], "its place is taken");
    }
}
