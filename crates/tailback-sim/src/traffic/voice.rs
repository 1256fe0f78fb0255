//! A voice call in one direction: a packet every 20 ms while somebody speaks.
//!
//! The defaults are G.711 (ITU-T): 160 B of samples every 20 ms after headers of RTP, UDP and IP, 80 kbit/s. With
//! `speech = "on-off"` talk and silence have exponential lengths, by default with the means of ITU-T P.59 (1.004 and
//! 1.587 s). A talker keeps one clock: after a silence the packets continue at the talker's own instants, so that the
//! phase of a call relative to other calls does not change. The phase is drawn once, uniformly. A call in both
//! directions is two flows.
//!
//! Over a transport that adapts its rate, the samples of each packet fill the target of the rate control, between
//! `least` and `payload`: 6 to 64 kbit/s, the range in which Opus codes speech (RFC 6716 section 2.1.1). A codec
//! changes its rate from one packet to the next. A packet that has not arrived a second after it was made is lost to
//! the listener.
//!
//! State: the talker's clock, the end of the present talk, and over a transport that adapts its rate the times at which
//! the packets of the last second were made. Phase, talk and silence are drawn from separate streams.

use super::application::{AppInput, Application, Net, Side};
use super::entry::{Context, Entry, Facts, Offer, Output, anything};
use crate::declare::kinds::SOME_TIME;
use std::collections::VecDeque;
use tailback_base::{Duration, FlowId, Key, Kind, Model, Settings, Stream, Time, choice, params};
use tailback_transport::AppEvent;

pub static MODEL: Model = Model {
    name: "voice",
    family: "traffic",
    title: "Voice call",
    summary: "One direction of a call: a packet at even intervals, always or only while somebody speaks. The table of \
              datagrams says what becomes of the packets.",
    source: "ITU-T G.711, P.59; RFC 3550",
    params: PARAMS,
    probes: &[],
};

choice! {
    enum Talker {
        Constant = "constant",
        OnOff = "on-off",
    }
}

params! {
    const PARAMS;

    PAYLOAD: u32 = Key::new("payload", Kind::Bytes { min: 1, max: 60_000 }, "160B",
        "How many bytes of samples a packet has.", "ITU-T G.711 at 20 ms");
    LEAST: u32 = Key::new("least", Kind::Bytes { min: 1, max: 60_000 }, "15B",
        "The fewest bytes of samples in a packet, if a rate control makes packets smaller.",
        "RFC 6716 section 2.1.1: 6 kbit/s at 20 ms");
    HEADERS: u32 = Key::new("headers", Kind::Bytes { min: 0, max: 5_000 }, "40B",
        "How many bytes a packet has beside its samples: RTP, UDP and IP.", "RFC 3550: 12 + 8 + 20 B");
    PERIOD: Duration = Key::new("period", SOME_TIME, "20ms", "The time from one packet to the next.", "");
    SPEECH: Talker = Key::choice("speech", "constant",
        "Whether packets go all the time, or only while somebody speaks.", "");
    MEAN_TALK: Duration = Key::new("mean_talk", SOME_TIME, "1004ms",
        "The mean of the exponential length of a talk, for speech on-off.", "ITU-T P.59");
    MEAN_SILENCE: Duration = Key::new("mean_silence", SOME_TIME, "1587ms",
        "The mean of the exponential length of a silence.", "ITU-T P.59");
}

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, context| Box::new(Voice::new(s, &context)),
    check: anything,
    offer: |s, _| {
        let packet = f64::from(s.get(&PAYLOAD)) + f64::from(s.get(&HEADERS));
        Offer::paced(Some(8.0 * packet / s.get(&PERIOD).seconds()), packet)
    },
    facts: Facts {
        output: Output::Datagrams,
        listens: false,
        own_address: false,
    },
};

/// The time for which a packet of these settings is filled before it leaves, if they are the settings of a call.
pub fn filling(traffic: &Settings) -> Option<Duration> {
    std::ptr::eq(traffic.model, &MODEL).then(|| traffic.get(&PERIOD))
}

/// Whether these settings are those of a call with silences.
pub fn has_silences(traffic: &Settings) -> bool {
    std::ptr::eq(traffic.model, &MODEL) && traffic.get(&SPEECH) == Talker::OnOff
}

/// A packet that has not arrived after this time is lost.
const LOST_AFTER: Duration = Duration::from_millis(1000);

struct Voice {
    /// Bytes on the wire, and how many of them are not samples.
    packet: u32,
    headers: u32,
    followed: Option<Followed>,
    period: Duration,
    phase: Stream,
    speech: Option<Speech>,
    stopped: bool,
}

/// Alternating talk and silence.
struct Speech {
    /// Mean lengths, and the streams for drawing them.
    talk: (Duration, Stream),
    silence: (Duration, Stream),
    until: Time,
}

impl Speech {
    /// An exponential length.
    fn length((mean, stream): &mut (Duration, Stream)) -> Duration {
        Duration(stream.exponential(mean.0 as f64) as u64)
    }

    /// The first tick of a clock, at or after `tick`, at which somebody speaks.
    fn next(&mut self, mut tick: Time, period: Duration) -> Time {
        while tick >= self.until {
            let from = self.until + Speech::length(&mut self.silence);
            self.until = from + Speech::length(&mut self.talk);
            if from > tick {
                let ticks = (from - tick).0.div_ceil(period.0);
                tick += Duration(ticks * period.0);
            }
        }
        tick
    }
}

/// A call that follows the target of its transport.
struct Followed {
    /// Bytes of samples in a packet, and the payload of a full one.
    least: u32,
    most: u32,
    full: f64,
    /// The times at which packets with an open fate were made, and the number of the first of these packets.
    made: VecDeque<Time>,
    first: u64,
}

impl Followed {
    /// The bytes of samples in a packet for a target of the transport, which is the payload rate of full packets,
    /// bit/s.
    fn samples(&self, target: f64, headers: u32, period: Duration) -> u32 {
        let headers = f64::from(headers);
        let wire = target * (self.full + headers) / self.full * period.seconds() / 8.0;
        ((wire - headers) as u32).clamp(self.least, self.most)
    }

    fn send(&mut self, flow: FlowId, (headers, period): (u32, Duration), net: &mut dyn Net) {
        let target = net.target(flow).unwrap_or(f64::INFINITY);
        let samples = self.samples(target, headers, period);
        self.made.push_back(net.now());
        net.write_packet(flow, u64::from(samples));
    }

    fn settle(&mut self, flow: FlowId, net: &mut dyn Net) {
        while self.made.front().is_some_and(|made| *made + LOST_AFTER <= net.now()) {
            self.made.pop_front();
            net.packet_lost(flow, self.first);
            self.first += 1;
        }
    }

    fn arrived(&self, flow: FlowId, number: u64, net: &mut dyn Net) {
        let place = number.checked_sub(self.first);
        if let Some(made) = place.and_then(|i| self.made.get(i as usize)) {
            net.packet_arrived(flow, number, *made);
        }
    }
}

impl Voice {
    fn new(s: &Settings, context: &Context) -> Voice {
        let stream = |quantity: &str| context.streams.of(quantity);
        let speech = (s.get(&SPEECH) == Talker::OnOff).then(|| Speech {
            talk: (s.get(&MEAN_TALK), stream("talk")),
            silence: (s.get(&MEAN_SILENCE), stream("silence")),
            until: Time::ZERO,
        });
        let headers = s.get(&HEADERS);
        Voice {
            packet: s.get(&PAYLOAD) + headers,
            headers,
            followed: context.connection.then(|| {
                let most = s.get(&PAYLOAD).min(context.segment);
                Followed {
                    least: s.get(&LEAST).min(most),
                    most,
                    full: f64::from(context.segment),
                    made: VecDeque::new(),
                    first: 0,
                }
            }),
            period: s.get(&PERIOD),
            phase: stream("phase"),
            speech,
            stopped: false,
        }
    }

    fn wait(&mut self, tick: Time, net: &mut dyn Net) {
        let tick = match &mut self.speech {
            Some(speech) => speech.next(tick, self.period),
            None => tick,
        };
        net.wake(tick);
    }
}

impl Application for Voice {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        let Some(flow) = net.own_flow() else { return };
        match e {
            AppInput::Start if !self.stopped => {
                let now = net.now();
                if let Some(speech) = &mut self.speech {
                    speech.until = now + Speech::length(&mut speech.talk);
                }
                let phase = Duration(self.phase.below(self.period.0));
                self.wait(now + phase, net);
            }
            AppInput::Wake => {
                if let Some(followed) = &mut self.followed {
                    followed.settle(flow, net);
                }
                if self.stopped {
                    return;
                }
                match &mut self.followed {
                    Some(followed) => followed.send(flow, (self.headers, self.period), net),
                    None => net.datagram(flow, self.packet, self.headers),
                }
                self.wait(net.now() + self.period, net);
            }
            AppInput::Transport {
                side: Side::Destination,
                event: AppEvent::Packet(number),
                ..
            } => {
                if let Some(followed) = &mut self.followed {
                    // No wake comes during a silence.
                    followed.settle(flow, net);
                    followed.arrived(flow, number, net);
                }
            }
            AppInput::Stop => {
                self.stopped = true;
                if self.followed.is_some() {
                    net.close(flow, Side::Source);
                    net.wake(net.now() + LOST_AFTER);
                }
            }
            _ => {}
        }
    }

    fn listens(&self) -> bool {
        self.followed.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 80 kbit/s on the wire are 160 B of samples each 20 ms after 40 B of headers. The target is the payload rate of
    /// full packets of 1200 B, which is 1200/1240 of that. A target below 22 kbit/s gives the least size.
    #[test]
    fn samples_are_what_a_target_leaves_after_the_headers() {
        let call = Followed {
            least: 15,
            most: 160,
            full: 1200.0,
            made: VecDeque::new(),
            first: 0,
        };
        let samples = |wire: f64| call.samples(wire * 1200.0 / 1240.0 + 1e-6, 40, Duration::from_millis(20));
        assert_eq!([80e3, 48e3, 32e3, 22e3].map(samples), [160, 80, 40, 15]);
        assert_eq!([2e6, f64::INFINITY, 10e3].map(samples), [160, 160, 15]);
    }

    /// The clock continues during silences: packets are sent only at its ticks, and no packet is sent in a silence.
    #[test]
    fn packets_stay_on_the_talkers_clock() {
        let period = Duration::from_millis(20);
        let mean = |name: &str, ms: u64| (Duration::from_millis(ms), Stream::new(3, name));
        let mut speech = Speech {
            talk: mean("talk", 1004),
            silence: mean("silence", 1587),
            until: Time(500_000_000),
        };
        let (mut tick, mut gaps, mut packets) = (Time(7_000_000), 0, 0);
        for _ in 0..100_000 {
            let next_send = speech.next(tick, period);
            assert_eq!(next_send.0 % period.0, 7_000_000);
            assert!(next_send >= tick && next_send < speech.until);
            gaps += u32::from(next_send > tick);
            packets += 1;
            tick = next_send + period;
        }
        // A talk of 1.004 s has 50.2 packets.
        let a_talk = f64::from(packets) / f64::from(gaps);
        assert!(
            (a_talk - 50.2).abs() < 4.0 * 50.2 / libm::sqrt(f64::from(gaps)),
            "{a_talk}"
        );
        // The 100,000 packets of 20 ms have an activity of 0.3875.
        let activity = f64::from(packets) * 0.020 / tick.seconds();
        assert!((activity - 0.3875).abs() < 4.0 * 0.0077, "{activity}");
    }
}
