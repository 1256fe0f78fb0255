//! RTP's two ends as packet dialogues. The engine's tests measure over a whole path.

use tailback_base::model::Settings;
use tailback_base::{Duration, Stream, Time};
use tailback_transport::path::Path;
use tailback_transport::rtp::MODEL;
use tailback_transport::{Amount, AppEvent, AppEvents, Endpoint, Registry, Segment, Transmit};

#[derive(Default)]
struct Heard(Vec<AppEvent>);

impl AppEvents for Heard {
    fn event(&mut self, e: AppEvent) {
        self.0.push(e);
    }
}

fn ms(n: u64) -> Time {
    Time::ZERO + Duration::from_millis(n)
}

fn read(end: &dyn Endpoint, probe: &str) -> f64 {
    let i = end.probes().iter().position(|p| p.name == probe);
    end.read(i.unwrap_or_else(|| panic!("no probe {probe}")))
}

/// What an end sends and hears until `until`.
fn run(end: &mut dyn Endpoint, mut now: Time, until: Time, heard: &mut Heard) -> Vec<(Time, Segment)> {
    let mut sent = vec![];
    loop {
        let paced = loop {
            match end.poll_transmit(now) {
                Transmit::Segment(s) => sent.push((now, s)),
                Transmit::NotBefore(t) => break t,
                Transmit::Idle => break Time::NEVER,
            }
        };
        let timer = end.next_timeout().unwrap_or(Time::NEVER);
        let next = timer.min(paced);
        if next > until {
            return sent;
        }
        now = now.max(next);
        if timer <= now {
            end.on_timeout(now, heard);
        }
    }
}

fn ends(values: &[(&str, &str)]) -> [Box<dyn Endpoint>; 2] {
    let defaults = Settings::defaults(&MODEL);
    let settings = values.iter().fold(defaults, |s, (name, text)| s.with(name, text));
    let made = Registry::standard().connection(&settings).expect("good parameters");
    made.expect("a connection")
        .ends(Path::default, &mut Stream::new(1, "x"))
}

/// SCReAM's window fills, and nothing of it arrives: a second later all of it is lost, and another window goes.
#[test]
fn an_outage_of_a_whole_window_ends() {
    let [mut sender, mut receiver] = ends(&[("control", "scream"), ("start_rate", "1Mbps")]);
    let mut heard = Heard::default();
    sender.write(Amount::Unlimited, Time::ZERO);
    let first = run(&mut *sender, Time::ZERO, ms(900), &mut heard);
    let window = first.len() as f64;
    assert!(window > 5.0 && first[first.len() - 1].0 < ms(300), "{window} packets");
    assert_eq!(read(&*sender, "lost"), 0.0);
    let second = run(&mut *sender, ms(900), ms(1900), &mut heard);
    assert_eq!((read(&*sender, "lost"), second.len() as f64), (window, window));
    // What arrives of the second window is reported, and the sender goes on.
    for (at, packet) in second {
        let at = at + Duration::from_millis(20);
        receiver.on_segment(&packet, at, &mut heard);
        for (at, report) in run(&mut *receiver, at, at, &mut heard) {
            sender.on_segment(&report, at + Duration::from_millis(20), &mut heard);
        }
    }
    assert!(!run(&mut *sender, ms(1900), ms(2100), &mut heard).is_empty());
    assert_eq!(read(&*sender, "lost"), window);
}
