//! The rates and round trips of a scenario's paths, and the values that depend on them: `"0.5 bdp"`, `"2 rtt"`,
//! `"95 %"`.
//!
//! The rate is that of the link direction whose table contains the value, at the start of the run. The round trip is
//! that of the flows that cross the link, or of the flows whose table contains the value, or of all flows. If these
//! flows have several round trips, `bdp_rtt` says which one is used; without `bdp_rtt` no round trip is chosen. A
//! product counts bytes on the wire. If the unit is packets, the product is rounded up to full data packets of the
//! largest size of those flows.

use std::collections::{BTreeMap, BTreeSet};
use tailback_base::model::Kind;
use tailback_base::quantity::Refusal;
use tailback_base::relative::{OfPath, whole_above};
use tailback_base::{BitRate, Duration};
use tailback_sim::declare::tables::{flows, link};

/// The size of a full packet if no flow gives the size of its packets.
const PACKET: u64 = 1500;

/// A value that depends on the path, and its plain quantity there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The path of the key.
    pub key: String,
    /// The text in the scenario.
    pub written: String,
    /// The plain quantity in its place.
    pub value: String,
    /// The quantities from which it was computed.
    pub because: String,
}

/// The value of `bdp_rtt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhichTrip {
    Largest,
    Mean,
    Given(Duration),
}

/// The round trips of some flows, and their largest full data packet.
#[derive(Clone, Copy, Debug)]
pub struct Trips {
    least: Duration,
    most: Duration,
    sum: u128,
    number: u64,
    packet: u64,
}

impl Trips {
    pub fn of(trips: impl Iterator<Item = Duration>, packet: Option<u64>) -> Option<Trips> {
        let bounds = trips.map(|d| Trips {
            least: d,
            most: d,
            sum: u128::from(d.0),
            number: 1,
            packet: packet.unwrap_or(0),
        });
        bounds.reduce(Trips::with)
    }

    pub fn with(self, other: Trips) -> Trips {
        Trips {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            sum: self.sum + other.sum,
            number: self.number + other.number,
            packet: self.packet.max(other.packet),
        }
    }
}

/// The rates and round trips of a scenario's paths.
#[derive(Clone, Debug, Default)]
pub struct Measures {
    /// Rates at the start, by direction: `NAME`, `NAME.reverse`.
    pub rates: BTreeMap<String, BitRate>,
    /// Directions whose rate changes during the run.
    pub changing: BTreeSet<String>,
    /// The round trips of the flows that cross a link (`link.NAME`), of the flows of a table (`flows.NAME`,
    /// `sessions.NAME`), and of all flows (empty).
    pub trips: BTreeMap<String, Trips>,
    /// The target of a table `change.NAME`: a direction of a link (`link.NAME`, `link.NAME.reverse`), or flows.
    pub changes: BTreeMap<String, String>,
    pub which: Option<WhichTrip>,
    /// The round trips are being computed, so values that depend on them are left out.
    pub unknown: bool,
    /// A table with a round trip could not be read.
    pub broken: bool,
}

/// The remedy where several round trips could be meant.
pub const SAY_WHICH: &str = "add bdp_rtt = \"largest\", \"mean\" or a time such as \"40ms\" at the top of the scenario";

/// The remedy if a table that has more information could not be read.
pub const REPAIR_FIRST: &str = "repair what the other messages name first";

/// The owner of the table that contains a value.
enum Owner {
    /// A topology. Its values are those of each of its links, and are computed for each link.
    Topology,
    /// A direction of a link.
    Line {
        name: String,
        reverse: bool,
    },
    /// Flows or sessions, by the path of their table.
    Flows(String),
    /// A set of tcp values, for any flows.
    Profile,
    Scenario,
}

impl Measures {
    /// The text of the plain quantity that replaces a value of this kind, and the quantities from which it follows;
    /// `None` if it is to be left out for now. `in_bytes` says that the buffer around the value counts bytes.
    pub fn settle(
        &self,
        path: &str,
        (kind, of): (&Kind, OfPath),
        in_bytes: bool,
    ) -> Result<Option<(String, String)>, Refusal> {
        let owner = self.owner(path);
        if matches!(owner, Owner::Topology) {
            return Ok(None);
        }
        match of {
            OfPath::Share(x, name) => self.share(path, &owner, x, name).map(Some),
            _ if self.unknown => Ok(None),
            OfPath::RoundTrips(x) => self.time(path, &owner, x).map(Some),
            OfPath::Products(x) => self.size(&owner, (kind, x), in_bytes).map(Some),
        }
    }

    fn owner(&self, path: &str) -> Owner {
        let mut keys = path.split('.');
        let (family, name) = (keys.next().unwrap_or_default(), keys.next().unwrap_or_default());
        match family {
            "topology" => Owner::Topology,
            "profile" => Owner::Profile,
            "flows" | "sessions" => Owner::Flows(format!("{family}.{name}")),
            "link" => Owner::Line {
                name: name.to_string(),
                reverse: keys.next().is_some_and(|k| k.starts_with("reverse")),
            },
            "change" => match self.changes.get(name) {
                Some(table) => self.owner(table),
                None => Owner::Scenario,
            },
            _ => Owner::Scenario,
        }
    }

    /// A rate as a share of a line's.
    fn share(&self, path: &str, owner: &Owner, x: f64, name: &str) -> Result<(String, String), Refusal> {
        let own_direction = match owner {
            Owner::Line { name, reverse } if !is_key(path, &[link::RATE.name, link::REVERSE_RATE.name]) => {
                direction(name, *reverse)
            }
            _ => String::new(),
        };
        let first = self.rates.keys().next().map_or("NAME", String::as_str);
        let direction_name = match (name, own_direction.as_str()) {
            ("", "") => {
                let problem = "the share does not name the link whose rate it refers to";
                return Err(Refusal::new(problem, format!("write \"95 % of {first}\"")));
            }
            ("", own_direction) => own_direction,
            (name, _) => name,
        };
        let Some(rate) = self.rates.get(direction_name) else {
            let names: Vec<&str> = self.rates.keys().map(String::as_str).take(12).collect();
            let problem = format!(
                "the rate of \"{}\" is not known",
                super::error::shorten(direction_name, 60)
            );
            let remedy = match names[..] {
                [] => "give a link's rate with a unit, such as \"10Mbps\"".to_string(),
                _ => format!("name a link with a rate of its own: {}", names.join(", ")),
            };
            return Err(Refusal::new(problem, remedy));
        };
        let bits = libm::round(x * rate.bits_per_second());
        if !(1.0..=1e14).contains(&bits) {
            let problem = format!("{} % of {rate} is not a rate", x * 100.0);
            return Err(Refusal::new(problem, "give a share above 0 %"));
        }
        let because = format!("{} % of {rate}{}", short(x * 100.0), self.at_the_start(direction_name));
        Ok((BitRate(bits as u64).to_string(), because))
    }

    fn time(&self, path: &str, owner: &Owner, x: f64) -> Result<(String, String), Refusal> {
        let makes_trips = [
            &link::DELAY.param,
            &link::REVERSE_DELAY.param,
            &flows::RTT.param,
            &flows::ACCESS_DELAY.param,
            &flows::EXIT_DELAY.param,
        ];
        if is_key(path, &makes_trips.map(|p| p.name)) {
            let problem = "the round trips are computed from this time";
            return Err(Refusal::new(problem, "write it with a unit of time, such as \"20ms\""));
        }
        let (rtt, reason) = self.trip(owner)?;
        let ns = libm::round(x * rtt.0 as f64);
        if !(0.0..9e18).contains(&ns) {
            let problem = format!("{} round trips of {rtt} do not make a time", short(x));
            return Err(Refusal::new(problem, "give a number of round trips of 0 or more"));
        }
        let because = format!("{} x {rtt}{reason}", short(x));
        Ok((Duration(ns as u64).to_string(), because))
    }

    fn size(&self, owner: &Owner, (kind, x): (&Kind, f64), in_bytes: bool) -> Result<(String, String), Refusal> {
        let Owner::Line { name, reverse } = owner else {
            let problem = "a product of rate and round trip needs a link, but this value does not belong to one";
            return Err(Refusal::new(problem, "write it with packets, B, KB or KiB"));
        };
        let direction_name = direction(name, *reverse);
        let Some(rate) = self.rates.get(&direction_name) else {
            return Err(unread());
        };
        let (rtt, reason) = self.trip(owner)?;
        let bytes = x * rate.times(rtt);
        if !(0.0..=9e15).contains(&bytes) {
            let problem = format!("{} products of {rate} and {rtt} do not make a size", short(x));
            return Err(Refusal::new(problem, "give a number of products above 0"));
        }
        let because = format!(
            "{} x {rate} x {rtt}{reason}{}",
            short(x),
            self.at_the_start(&direction_name)
        );
        if in_bytes || matches!(kind, Kind::Bytes { .. }) {
            return Ok((format!("{}B", whole_above(bytes)), because));
        }
        let crossing = self.trips.get(&format!("link.{name}"));
        let packet = crossing.map_or(0, |t| t.packet);
        let packet = if packet == 0 { PACKET } else { packet };
        let because = format!("{because} = {}B, in packets of {packet}B", whole_above(bytes));
        Ok((format!("{} packets", whole_above(bytes / packet as f64)), because))
    }

    /// The round trip that is meant in a table, and its description.
    fn trip(&self, owner: &Owner) -> Result<(Duration, String), Refusal> {
        if let Some(WhichTrip::Given(rtt)) = self.which {
            return Ok((rtt, String::new()));
        }
        let (table, whose) = match owner {
            Owner::Line { name, .. } => (format!("link.{name}"), format!("the flows that cross link.{name}")),
            Owner::Flows(table) => (table.clone(), table.clone()),
            Owner::Scenario | Owner::Topology => (String::new(), "the flows".to_string()),
            Owner::Profile => {
                let problem = "a profile serves flows with different round trips";
                return Err(Refusal::new(problem, "give this value in the table of the flows"));
            }
        };
        if self.broken {
            return Err(unread());
        }
        let Some(trips) = self.trips.get(&table) else {
            let problem = format!("no flow crosses {table}, so that it has no round trip");
            return Err(Refusal::new(
                problem,
                "add bdp_rtt = \"40ms\" or so at the top of the scenario",
            ));
        };
        let several = trips.least < trips.most;
        let rtt = match self.which {
            Some(WhichTrip::Mean) => {
                Duration(((trips.sum * 2 + u128::from(trips.number)) / (2 * u128::from(trips.number))) as u64)
            }
            None if several => {
                let problem = format!("{whose} have round trips from {} to {}", trips.least, trips.most);
                return Err(Refusal::new(problem, SAY_WHICH));
            }
            _ => trips.most,
        };
        if rtt == Duration::ZERO {
            let problem = format!("{whose} have a round trip of 0s");
            return Err(Refusal::new(
                problem,
                "give the links a delay, or add bdp_rtt = \"40ms\" or so at the top",
            ));
        }
        let remark = match self.which {
            Some(WhichTrip::Mean) if several => " (the mean)",
            Some(WhichTrip::Largest) if several => " (the largest)",
            _ => "",
        };
        Ok((rtt, remark.to_string()))
    }

    fn at_the_start(&self, line: &str) -> &'static str {
        match self.changing.contains(line) {
            true => " (the rate at the start; it changes)",
            false => "",
        }
    }
}

fn unread() -> Refusal {
    Refusal::new("what this value depends on could not be read", REPAIR_FIRST)
}

/// `NAME`, or `NAME.reverse`.
pub fn direction(name: &str, reverse: bool) -> String {
    format!("{name}{}", if reverse { ".reverse" } else { "" })
}

/// Whether a path is that of one of these keys of a named table, or of an item of it.
fn is_key(path: &str, keys: &[&str]) -> bool {
    match path.split('.').collect::<Vec<_>>()[..] {
        ["link" | "flows" | "sessions", _, key] => keys.contains(&key.split('[').next().unwrap_or(key)),
        _ => false,
    }
}

/// A number without the rounding error of a multiplication.
fn short(x: f64) -> f64 {
    format!("{x:.9}").parse().unwrap_or(x)
}
