//! Each line of RFC 9002 over quinn and noq with NewReno, and over mutants of quinn: a table. Exit status 1 if a stack
//! fails a line, or if a line is failed by no mutant.

#[rustfmt::skip]
#[path = "../../../python/tailback/examples/your-transport/tests/glue/mod.rs"]
mod glue;
mod mutants;
mod rfc9002;
mod seen;

use mutants::MUTANTS;
use noq_stack::Noq;
use quinn_proto::TransportConfig;
use quinn_stack::Quinn;
use rfc9002::{LINES, Line, View};
use seen::{Mutated, Receiving, Seen, Shown};
use std::sync::Arc;
use tailback_path::{Endpoint, Pair, Scenario};
use your_transport::{Receiver, Sender};

impl Shown for Quinn {
    fn window(&self) -> u64 {
        self.shown.cwnd
    }
    fn lost(&self) -> u64 {
        self.shown.lost
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
    let (treated, bleached) = ((line.treated)(), line.bleached);
    let scenario = Scenario::parse(&text, line.name).endpoints("mine", move |pair| {
        let (sender, receiver) = make(pair);
        (Seen::new(sender, treated.clone(), mutated), Receiving { end: receiver, bleached })
    });
    let finished = scenario.run().map_err(|e| e.to_string())?;
    (line.judge)(&View::of(&finished.ends::<Seen<S>, Receiving<R>>("mine")[0].0))
}

fn quinn(config: fn() -> TransportConfig) -> impl Fn(Pair) -> (Quinn, Quinn) {
    move |pair| quinn_stack::pair(pair, [config(), config()])
}

fn noq(pair: Pair) -> (Noq, Noq) {
    let config = || {
        let mut config = noq_proto::TransportConfig::default();
        config.congestion_controller_factory(Arc::new(noq_proto::congestion::NewRenoConfig::default()));
        config.mtu_discovery_config(None);
        config
    };
    noq_stack::pair(pair, [config(), config()])
}

fn main() {
    let mut failed = false;
    println!("{:<24}{:<20}{:<8}{:<8}{:<16}failed by", "line", "section", "quinn", "noq", "your-transport");
    for line in &LINES {
        let as_it_is = Mutated::default();
        let [of_quinn, of_noq] = [run(line, as_it_is, quinn(mutants::unchanged)), run(line, as_it_is, noq)];
        let bytes = line.datagrams * PAYLOAD;
        let of_small =
            run(line, as_it_is, move |_| (glue::Sending(Sender::new(bytes)), glue::Receiving(Receiver::default())));
        let failing = MUTANTS.iter().filter(|m| run(line, m.from_outside, quinn(m.config)).is_err());
        let failing: Vec<&str> = failing.map(|m| m.name).collect();
        let said = |r: &Result<(), String>| if r.is_ok() { "holds" } else { "FAILS" };
        println!(
            "{:<24}{:<20}{:<8}{:<8}{:<16}{}",
            line.name,
            line.section,
            said(&of_quinn),
            said(&of_noq),
            said(&of_small),
            failing.join(", ")
        );
        for (name, r) in [("quinn", &of_quinn), ("noq", &of_noq), ("your-transport", &of_small)] {
            if let Err(e) = r {
                println!("    {name}: {e} ({})", line.sentence);
            }
        }
        failed |= of_quinn.is_err() || failing.is_empty();
    }
    std::process::exit(i32::from(failed));
}
