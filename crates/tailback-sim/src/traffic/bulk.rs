//! Bulk transfer: a connection that always has data to send, in one direction or both, or with pauses.
//!
//! In a pause the source takes back the data that it has not sent; outstanding data are still delivered. Then it writes
//! to the same connection again. The connection decides the size of its window after the pause (`idle_after` and
//! `idle_forgets` of tcp; RFC 2861, RFC 7661).
//!
//! State: how many turns are over. A turn costs one wake.

use super::application::{AppInput, Application, Net, Side};
use super::conflict::Conflict;
use super::entry::{Entry, Facts, Offer, Output};
use crate::declare::kinds::TIME;
use tailback_base::{Duration, Key, Kind, Model, Settings, params};
use tailback_transport::Amount;

pub static MODEL: Model = Model {
    name: "bulk",
    family: "traffic",
    title: "Bulk transfer",
    summary: "Always has data to send, except in pauses.",
    source: "",
    params: PARAMS,
    probes: &[],
};

params! {
    const PARAMS;

    pub BACK: Option<Duration> = Key::new("back", TIME, "none",
        "Over a two-way connection: the time after the flow's start from which the destination, too, always has \
         data to send. Default: it has no data to send.", "");
    pub TURNS: Vec<Duration> = Key::new("turns", Kind::List(&TIME), "none",
        "The lengths of sending and pausing in turn, from the flow's start, on one connection. After the last length, \
         the next turn lasts to the end. Default: no pause.", "RFC 2861 section 1");
}

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, _| {
        Box::new(Bulk {
            back: s.get(&BACK),
            turns: s.get(&TURNS),
            over: 0,
        })
    },
    check: one_clock,
    offer: |_, _| Offer::Elastic,
    facts: Facts {
        output: Output::Stream,
        listens: false,
        own_address: false,
    },
};

/// A source has one pending wake, which it uses either for the other direction or for its turns.
fn one_clock(s: &Settings) -> Result<(), Conflict> {
    if s.get(&BACK).is_none() || s.get(&TURNS).is_empty() {
        return Ok(());
    }
    Err(Conflict {
        param: TURNS.name,
        value: None,
        problem: "a source with data in both directions (back) makes no pauses".into(),
        remedy: "leave out back or turns, or give each direction a flow of its own",
    })
}

struct Bulk {
    back: Option<Duration>,
    turns: Vec<Duration>,
    /// The number of turns that have begun.
    over: usize,
}

impl Bulk {
    /// The next turn begins: the source sends or pauses, until the turn is over.
    fn turn(&mut self, net: &mut dyn Net) {
        let Some(flow) = net.own_flow() else { return };
        match self.over.is_multiple_of(2) {
            true => net.write(flow, Side::Source, Amount::Unlimited),
            false => net.withdraw(flow, Side::Source, u64::MAX),
        }
        if let Some(length) = self.turns.get(self.over) {
            net.wake(net.now() + *length);
        }
        self.over += 1;
    }
}

impl Application for Bulk {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        let Some(flow) = net.own_flow() else { return };
        match e {
            AppInput::Start => {
                self.turn(net);
                if let Some(after) = self.back {
                    net.wake(net.now() + after);
                }
            }
            AppInput::Wake if self.back.is_some() => net.write(flow, Side::Destination, Amount::Unlimited),
            AppInput::Wake => self.turn(net),
            AppInput::Stop => {
                net.close(flow, Side::Source);
                if self.back.is_some() {
                    net.close(flow, Side::Destination);
                }
            }
            _ => {}
        }
    }

    fn keeps_to_source(&self) -> bool {
        self.back.is_none()
    }
}
