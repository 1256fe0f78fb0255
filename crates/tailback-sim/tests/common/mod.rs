//! What the end-to-end tests share: short names for quantities, small applications, and the check that no link loses a
//! packet.
#![allow(dead_code)]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tailback_base::{BitRate, Duration, Ecn, Settings, Size, Time};
use tailback_queue::QueueDiscipline;
use tailback_sim::build::network::{Built, Direction, Network, QueueChoice, Transport};
use tailback_sim::results::outcome::{Frame, Outcome};
use tailback_sim::results::table::{Data, Table};
use tailback_sim::spec::SizeClasses;
use tailback_sim::traffic::application::{AppInput, Application, Ends, Net, Side};
use tailback_sim::wire::packet::SimPacket;
use tailback_transport::{Amount, Flags, Segment, tcp};

#[track_caller]
pub fn near(x: f64, expected: f64, tolerance: f64) {
    assert!(
        (x - expected).abs() <= tolerance,
        "{x} is not {expected} +- {tolerance}"
    );
}

pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// An instant, in milliseconds.
pub fn at(n: u64) -> Time {
    Time::ZERO + ms(n)
}

pub fn mbps(n: u64) -> BitRate {
    BitRate(n * 1_000_000)
}

/// A list that a toy writes and the test reads when the run is over.
pub type Log<T> = Rc<RefCell<Vec<T>>>;

pub fn log<T>() -> Log<T> {
    Rc::new(RefCell::new(Vec::new()))
}

/// An unlimited FIFO that takes no time.
pub fn wire(delay: Duration) -> Direction {
    Direction::new(BitRate(100_000_000_000_000), delay)
}

/// A line with this discipline before it.
pub fn line(rate: BitRate, delay: Duration, queue: impl QueueDiscipline<SimPacket> + 'static) -> Direction {
    Direction::new(rate, delay).with(QueueChoice::Discipline(Box::new(queue)))
}

/// A line with a drop-tail FIFO before it.
pub fn drop_tail(rate: BitRate, delay: Duration, limit: Size) -> Direction {
    Direction::new(rate, delay).with(QueueChoice::DropTail(limit))
}

/// Both ends of a TCP connection with these parameters over the defaults.
pub fn tcp_ends(parameters: &[(&str, &str)]) -> Ends {
    pair_of(&tcp_config(parameters))
}

/// Both ends of a connection with this configuration.
pub fn pair_of(config: &Arc<tcp::Config>) -> Ends {
    let (sender, receiver) = tcp::new_pair(config);
    [Box::new(sender), Box::new(receiver)]
}

pub fn tcp_config(parameters: &[(&str, &str)]) -> Arc<tcp::Config> {
    let defaults = Settings::defaults(&tcp::MODEL);
    let settings = parameters.iter().fold(defaults, |s, (name, text)| s.with(name, text));
    Arc::new(tcp::Config::resolve(&settings, &[]).expect("good parameters"))
}

pub const DATAGRAMS: Transport = Transport::Datagrams { ecn: Ecn::NotEct };

/// Sends datagrams of these sizes at these instants, and notes what it hears with the time.
pub struct Script {
    pub sends: Vec<(Time, u32)>,
    pub next: usize,
    pub heard: Log<(Time, AppInput)>,
}

impl Script {
    pub fn new(sends: Vec<(Time, u32)>) -> Script {
        Script {
            sends,
            next: 0,
            heard: log(),
        }
    }

    /// `n` datagrams of `bytes`, `gap` apart, the first at `from`.
    pub fn regular(from: Time, gap: Duration, n: u64, bytes: u32) -> Script {
        Script::new((0..n).map(|i| (Time(from.0 + i * gap.0), bytes)).collect())
    }
}

impl Application for Script {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        let Some(flow) = net.own_flow() else { return };
        match e {
            AppInput::Start | AppInput::Wake => {
                while self.sends.get(self.next).is_some_and(|s| s.0 <= net.now()) {
                    net.datagram(flow, self.sends[self.next].1, 0);
                    self.next += 1;
                }
                if let Some(s) = self.sends.get(self.next) {
                    net.wake(s.0);
                }
            }
            other => self.heard.borrow_mut().push((net.now(), other)),
        }
    }
}

/// A segment of this many bytes, all payload, without flags.
pub fn segment(seq: u64, bytes: u32) -> Segment {
    Segment {
        seq,
        payload: bytes,
        ack: 0,
        flags: Flags::NONE,
        ecn: Ecn::NotEct,
        bytes,
        sack: Default::default(),
        timestamps: None,
        window: None,
        counts: None,
    }
}

/// Writes this much at the start and closes.
pub struct Transfer(pub Amount);

impl Application for Transfer {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        if let (AppInput::Start, Some(flow)) = (e, net.own_flow()) {
            net.write(flow, Side::Source, self.0);
            if self.0 != Amount::Unlimited {
                net.close(flow, Side::Source);
            }
        }
    }
}

pub fn build(net: Network) -> Built {
    net.build().unwrap_or_else(|e| panic!("{e}"))
}

/// Every packet that came to a link left it, was dropped, or is there still.
pub fn check_conservation(built: &Built) {
    for port in 0..built.sim.ports() {
        let b = built.sim.conservation(port);
        assert!(b.holds(), "{}: {b:?}", built.port_names.of(port));
    }
}

/// All tables of a run that ended at `to`.
pub fn outcome(built: &Built, to: Time) -> Outcome {
    let reported: Vec<u32> = (0..built.port_names.len() as u32).collect();
    let frame = Frame {
        port_names: &built.port_names,
        reported: &reported,
        groups: &built.group_names,
        layers: &[],
        size_classes: &SizeClasses::Deciles,
        from: Time::ZERO,
        to,
    };
    Outcome::read(&built.sim, &frame)
}

/// The last value of a recorded quantity at an index.
pub fn last_of(o: &Outcome, what: &str, probe: &str, index: u32) -> f64 {
    let t = &o["series"];
    let here = |i: &usize| {
        text(t, "what", *i) == what && text(t, "probe", *i) == probe && number(t, "index", *i) == f64::from(index)
    };
    let at = (0..t.rows()).rfind(here);
    number(t, "value", at.unwrap_or_else(|| panic!("no {probe} {index} of {what}")))
}

/// A cell of a table that holds text.
pub fn text(t: &Table, column: &str, row: usize) -> String {
    match &column_of(t, column).data {
        Data::Text(v) => v[row].to_string(),
        _ => panic!("{column} holds numbers"),
    }
}

/// A cell of a table by the name of its column: a number, whatever it counts.
pub fn number(t: &Table, column: &str, row: usize) -> f64 {
    match &column_of(t, column).data {
        Data::Count(v) => v[row] as f64,
        Data::Real(v) => v[row],
        Data::Text(_) => panic!("{column} holds text"),
    }
}

/// The row whose cell in `column` is this text.
pub fn row(t: &Table, column: &str, text: &str) -> usize {
    let Data::Text(v) = &column_of(t, column).data else {
        panic!("{column} holds numbers")
    };
    v.iter()
        .position(|x| **x == *text)
        .unwrap_or_else(|| panic!("no row {text}"))
}

/// A number of the row of a link, a flow or a group.
pub fn of(t: &Table, name: &str, column: &str) -> f64 {
    number(t, column, row(t, &t.columns[0].name.clone(), name))
}

fn column_of<'a>(t: &'a Table, name: &str) -> &'a tailback_sim::results::table::Column {
    t.columns
        .iter()
        .find(|c| c.name == name)
        .unwrap_or_else(|| panic!("no column {name}"))
}

/// The last recorded value of a probe.
pub fn last(o: &Outcome, probe: &str) -> f64 {
    let t = &o["series"];
    let Data::Text(probes) = &column_of(t, "probe").data else {
        panic!("probe holds numbers")
    };
    let at = probes.iter().rposition(|p| **p == *probe);
    number(t, "value", at.unwrap_or_else(|| panic!("{probe} was not recorded")))
}

/// The packets lost at a link for this reason.
pub fn lost(o: &Outcome, link: &str, reason: &str) -> f64 {
    let t = &o["losses"];
    let text = |c: &str, i: usize| match &column_of(t, c).data {
        Data::Text(v) => v[i].to_string(),
        _ => String::new(),
    };
    let rows = (0..t.rows()).filter(|i| text("link", *i) == link && text("reason", *i) == reason);
    rows.map(|i| number(t, "packets", i)).sum()
}
