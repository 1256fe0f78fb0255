//! Versions of quinn with one rule changed.

use crate::line::Asked;
use crate::rfc9000::TENTH;
use crate::seen::Mutated;
use quinn_proto::congestion::{Controller, ControllerFactory, NewReno, NewRenoConfig};
use quinn_proto::{RttEstimator, TransportConfig};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

type Config = fn() -> TransportConfig;

/// NewReno, and no search for a larger MTU.
pub fn unchanged() -> TransportConfig {
    with(NewRenoConfig::default(), Rule::All)
}

/// quinn, changed in one thing.
pub struct Mutant {
    pub name: &'static str,
    pub config: Config,
    pub from_outside: Mutated,
    /// What it makes of what a line asks of the receiver.
    pub asks: fn(Option<Asked>) -> Option<Asked>,
}

const AS_IT_IS: Mutated = Mutated { late_ns: 0, late_answers_ns: 0, keeps_ect: false, swells: false };
const HALF_A_SECOND: u64 = 500_000_000;

const fn mutant(name: &'static str, config: Config) -> Mutant {
    Mutant { name, config, from_outside: AS_IT_IS, asks: |asked| asked }
}

const fn from_outside(name: &'static str, from_outside: Mutated) -> Mutant {
    Mutant { from_outside, ..mutant(name, unchanged) }
}

pub const MUTANTS: [Mutant; 15] = [
    mutant("window of 30", || {
        let mut reno = NewRenoConfig::default();
        reno.initial_window(36_000);
        with(reno, Rule::All)
    }),
    mutant("no growth", || with(NewRenoConfig::default(), Rule::NoGrowth)),
    mutant("ten later", || changed(|c| c.packet_threshold(10).time_threshold(3.0))),
    mutant("two round trips", || changed(|c| c.time_threshold(2.0))),
    mutant("a tenth", || {
        let mut reno = NewRenoConfig::default();
        reno.loss_reduction_factor(0.9);
        with(reno, Rule::All)
    }),
    mutant("each loss", || with(NewRenoConfig::default(), Rule::EachLoss)),
    mutant("never persistent", || changed(|c| c.persistent_congestion_threshold(1000))),
    mutant("deaf to marks", || with(NewRenoConfig::default(), Rule::DeafToMarks)),
    mutant("deaf to losses", || with(NewRenoConfig::default(), Rule::DeafToLosses)),
    from_outside("late timers", Mutated { late_ns: HALF_A_SECOND, ..AS_IT_IS }),
    from_outside("late answers", Mutated { late_answers_ns: HALF_A_SECOND, ..AS_IT_IS }),
    from_outside("always ECT", Mutated { keeps_ect: true, ..AS_IT_IS }),
    from_outside("counts too much", Mutated { swells: true, ..AS_IT_IS }),
    Mutant { asks: |_| None, ..mutant("asks for nothing", unchanged) },
    Mutant { asks: |_| Some(TENTH), ..mutant("asks for a tenth", unchanged) },
];

fn changed(change: fn(&mut TransportConfig) -> &mut TransportConfig) -> TransportConfig {
    let mut config = unchanged();
    change(&mut config);
    config
}

fn with(reno: NewRenoConfig, rule: Rule) -> TransportConfig {
    let mut config = TransportConfig::default();
    config.congestion_controller_factory(Arc::new(Factory { reno: Arc::new(reno), rule }));
    config.mtu_discovery_config(None);
    config
}

/// What of NewReno is changed.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    All,
    NoGrowth,
    EachLoss,
    DeafToMarks,
    DeafToLosses,
}

struct Factory {
    reno: Arc<NewRenoConfig>,
    rule: Rule,
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(Changed { reno: NewReno::new(self.reno.clone(), now, mtu), rule: self.rule })
    }
}

#[derive(Clone)]
struct Changed {
    reno: NewReno,
    rule: Rule,
}

impl Controller for Changed {
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, limited: bool, rtt: &RttEstimator) {
        if self.rule != Rule::NoGrowth {
            self.reno.on_ack(now, sent, bytes, limited, rtt);
        }
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        match self.rule {
            Rule::DeafToMarks if lost_bytes == 0 => {}
            Rule::DeafToLosses if lost_bytes > 0 => {}
            Rule::EachLoss => self.reno.on_congestion_event(now, now, persistent, lost_bytes),
            _ => self.reno.on_congestion_event(now, sent, persistent, lost_bytes),
        }
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.reno.on_mtu_update(mtu);
    }

    fn window(&self) -> u64 {
        self.reno.window()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.reno.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
