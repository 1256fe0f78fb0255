//! Each line over quinn and noq with NewReno, and over mutants of quinn: a table. Exit status 1 if one of the two
//! fails a line, or if a line is failed by no mutant.

#[rustfmt::skip]
#[path = "../../../python/tailback/examples/your-transport/tests/glue/mod.rs"]
mod glue;
mod line;
mod mutants;
mod rfc9000;
mod rfc9002;
mod seen;

use line::{Asked, Line, Needs, View};
use mutants::MUTANTS;
use noq_stack::Noq;
use quinn_proto::TransportConfig;
use quinn_stack::Quinn;
use seen::{Mutated, OnTheWay, Receiving, Seen, Shown};
use std::sync::Arc;
use std::time::Duration;
use tailback_path::{Endpoint, Pair, Scenario};
use your_transport::{Receiver, Sender};

impl Shown for Quinn {
    fn window(&self) -> u64 {
        self.shown.cwnd
    }
    fn lost(&self) -> u64 {
        self.shown.lost
    }
    fn swell(data: &mut Vec<u8>) {
        data.resize(5 * data.len(), 0);
    }
}

impl Shown for glue::Sending {
    fn window(&self) -> u64 {
        self.0.window as u64
    }
    fn lost(&self) -> u64 {
        self.0.lost
    }
}

impl Shown for Noq {
    fn window(&self) -> u64 {
        self.shown.cwnd
    }
    fn lost(&self) -> u64 {
        self.shown.lost
    }
    fn swell(data: &mut Vec<u8>) {
        data.resize(5 * data.len(), 0);
    }
}

/// Payload of a full datagram: 1200 B without the headers and the frame around it.
const PAYLOAD: u64 = 1170;

fn run<S, R>(line: &Line, mutated: Mutated, make: impl Fn(Pair) -> (S, R) + 'static) -> Result<(), String>
where
    S: Shown + 'static,
    R: Endpoint<Data = S::Data> + 'static,
    S::Data: 'static,
{
    let text = format!(
        "duration = \"12s\"\n[link.line]\nfrom = \"a\"\nto = \"b\"\nrate = \"100Mbps\"\ndelay = \"20ms\"\nqueue = {{ kind \
         = \"droptail\", buffer = \"1000 packets\" }}\n[flows.mine]\ntransport = \"stack\"\ntraffic = {{ kind = \
         \"transfer\", size = \"{}B\" }}\n",
        line.datagrams * PAYLOAD
    );
    let treated = (line.treated)();
    let scenario = Scenario::parse(&text, line.name).endpoints("mine", move |pair| {
        let (sender, receiver) = make(pair);
        let on_the_way = OnTheWay::default();
        let receiver = Receiving::new(receiver, &treated, mutated, on_the_way.clone());
        (Seen::new(sender, treated.clone(), mutated, on_the_way), receiver)
    });
    let finished = scenario.run().map_err(|e| e.to_string())?;
    let (sender, receiver) = &finished.ends::<Seen<S>, Receiving<R>>("mine")[0];
    (line.judge)(&View::of(sender, receiver))
}

/// The same for both stacks, whose types have the same names.
macro_rules! asking {
    ($proto:ident, $config:expr, $asked:expr) => {{
        let mut config: $proto::TransportConfig = $config;
        config.ack_frequency_config($asked.map(|asked: Asked| {
            let mut frame = $proto::AckFrequencyConfig::default();
            frame.ack_eliciting_threshold(asked.threshold.into()).reordering_threshold(asked.reordering.into());
            frame.max_ack_delay(Some(Duration::from_millis(asked.delay_ms)));
            frame
        }));
        config
    }};
}

fn quinn(config: fn() -> TransportConfig, asked: Option<Asked>) -> impl Fn(Pair) -> (Quinn, Quinn) {
    move |pair| quinn_stack::pair(pair, [asking!(quinn_proto, config(), asked), config()])
}

fn noq(asked: Option<Asked>) -> impl Fn(Pair) -> (Noq, Noq) {
    let config = || {
        let mut config = noq_proto::TransportConfig::default();
        config.congestion_controller_factory(Arc::new(noq_proto::congestion::NewRenoConfig::default()));
        config.mtu_discovery_config(None);
        config
    };
    move |pair| noq_stack::pair(pair, [asking!(noq_proto, config(), asked), config()])
}

fn main() {
    let mut failed = false;
    println!("{:<24}{:<20}{:<8}{:<8}{:<16}failed by", "line", "section", "quinn", "noq", "your-transport");
    for line in rfc9002::LINES.iter().chain(&rfc9000::LINES) {
        let as_it_is = Mutated::default();
        let asked = if let Needs::Asked(asked) = line.needs { Some(asked) } else { None };
        let of_quinn = run(line, as_it_is, quinn(mutants::unchanged, asked));
        let of_noq = run(line, as_it_is, noq(asked));
        let bytes = line.datagrams * PAYLOAD;
        let small = move |_| (glue::Sending(Sender::new(bytes)), glue::Receiving(Receiver::default()));
        // It has no handshake, and nothing can be asked of its receiver.
        let of_small = (line.needs == Needs::Nothing).then(|| run(line, as_it_is, small));
        let failing = MUTANTS.iter().filter(|m| run(line, m.from_outside, quinn(m.config, (m.asks)(asked))).is_err());
        let failing: Vec<&str> = failing.map(|m| m.name).collect();
        let said = |r: &Result<(), String>| if r.is_ok() { "holds" } else { "FAILS" };
        println!(
            "{:<24}{:<20}{:<8}{:<8}{:<16}{}",
            line.name,
            line.section,
            said(&of_quinn),
            said(&of_noq),
            of_small.as_ref().map_or("-", said),
            failing.join(", ")
        );
        for (name, r) in [("quinn", Some(&of_quinn)), ("noq", Some(&of_noq)), ("your-transport", of_small.as_ref())] {
            if let Some(Err(e)) = r {
                println!("    {name}: {e} ({})", line.sentence);
            }
        }
        failed |= of_quinn.is_err() || of_noq.is_err() || failing.is_empty();
    }
    std::process::exit(i32::from(failed));
}
