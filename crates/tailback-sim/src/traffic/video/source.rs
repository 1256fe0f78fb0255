//! The source of one flow of video, and its receiver.

use super::encoder::{Encoder, NextFrame};
use super::frames::Frames;
use super::params::*;
use super::sizes::{Factor, Sort};
use crate::measure::frames::Fate;
use crate::traffic::agenda::Agenda;
use crate::traffic::application::{AppInput, Application, Net, Side};
use crate::traffic::entry::Context;
use tailback_base::work::done;
use tailback_base::{Duration, FlowId, Settings, Stream, Time};
use tailback_transport::{Amount, AppEvent};

/// A task that is due at an instant.
enum FrameDue {
    Frame,
    /// The remaining packets of a frame: payload in bytes, and the time from one to the next, ns.
    Packet {
        left: u64,
        next: f64,
        gap: f64,
    },
    Judge,
}

pub(super) struct Video {
    /// Mean sizes of I and P frames, bytes.
    means: [f64; 2],
    /// The mean size of all frames, bytes.
    mean: f64,
    factor: Factor,
    sizes: Stream,
    /// Time between the nominal times of two frames, ns.
    interval: f64,
    group: u64,
    /// Standard deviation and bound of the time of a frame around its nominal time, ns.
    jitter: [f64; 2],
    times: Stream,
    payload: u64,
    headers: u32,
    spread: f64,
    skip: bool,
    deadline: Duration,
    connection: bool,
    /// The rate without a target, bit/s.
    rate: f64,
    encoder: Encoder,
    /// Over a transport that requests a rate: the number of packets written so far. The transport numbers the packets,
    /// and reports them by number.
    packets: Option<u64>,
    /// The payload of its packets.
    segment: u64,
    start: Time,
    made: u64,
    frames: Frames,
    agenda: Agenda<FrameDue>,
    stopped: bool,
}

impl Video {
    pub fn new(s: &Settings, context: &Context) -> Video {
        let (fps, group, ratio) = (s.get(&FPS), s.get(&GROUP), s.get(&I_RATIO));
        let rate = s.get(&RATE).bits_per_second();
        let mean = rate / 8.0 / fps;
        // The mean over a group must be that of all frames.
        let p = mean * group as f64 / (group as f64 - 1.0 + ratio);
        Video {
            means: [p * ratio, p],
            mean,
            factor: Factor::new(s.within(FRAMES.name)),
            sizes: context.streams.of("size"),
            interval: 1e9 / fps,
            group,
            jitter: [JITTER, JITTER_MAX].map(|key| s.get(&key).0 as f64),
            times: context.streams.of("jitter"),
            payload: s.get(&PAYLOAD),
            headers: s.get(&HEADERS),
            spread: s.get(&SPREAD),
            skip: s.get(&SKIP),
            deadline: context.deadline,
            connection: context.connection,
            rate,
            encoder: Encoder::new(s, mean),
            packets: None,
            segment: u64::from(context.segment),
            start: Time::ZERO,
            made: 0,
            frames: Frames::new(s.get(&CHAIN)),
            agenda: Agenda::default(),
            stopped: false,
        }
    }

    /// Plan the time at which the next frame is made. Frames of an uneven source vary around nominal times, which begin
    /// late enough for the first frame.
    fn put_next(&mut self, net: &mut dyn Net) {
        let place = self.made as f64 * self.interval;
        let [sd, most] = self.jitter;
        let delay_ns = if sd > 0.0 {
            let offset = loop {
                let x = sd * self.times.normal();
                if x.abs() <= most {
                    break x;
                }
            };
            place + most + offset
        } else {
            place
        };
        self.agenda
            .put(self.start + Duration(delay_ns as u64), FrameDue::Frame, net);
    }

    fn make(&mut self, flow: FlowId, net: &mut dyn Net) {
        let sort = if self.made.is_multiple_of(self.group) {
            Sort::I
        } else {
            Sort::P
        };
        self.made += 1;
        let target = net.target(flow).map(|target| target / self.rate);
        let next = target.map(|share| self.encoder.next(share, net.now()));
        let (sort, mean) = match next {
            None => (sort, self.means[sort as usize]),
            Some(NextFrame { sort: None, factor }) => (sort, factor * self.means[sort as usize]),
            Some(NextFrame {
                sort: Some(sort),
                factor,
            }) => (sort, factor * self.mean),
        };
        let size = mean * self.factor.draw(sort, &mut self.sizes);
        let bytes = (libm::round(size) as u64).max(1);
        let now = net.now();
        if let Some(first) = target.and(self.packets.or(Some(0))) {
            let packets = bytes.div_ceil(self.segment);
            self.packets = Some(first + packets);
            self.frames.make(now, sort, bytes, (first, packets));
            net.write(flow, Side::Source, Amount::Bytes(bytes));
        } else if self.connection {
            self.frames.make(now, sort, bytes, (0, 0));
            net.write(flow, Side::Source, Amount::Bytes(bytes));
        } else {
            let packets = bytes.div_ceil(self.payload);
            self.frames.make(now, sort, bytes, (net.next_datagram(flow), packets));
            let gap = self.spread * self.interval / packets as f64;
            self.send(flow, bytes, (now.0 as f64, gap), net);
        }
        self.agenda.put(now + self.deadline, FrameDue::Judge, net);
        self.put_next(net);
    }

    /// Send packets of a frame, starting with the present one, `gap` apart.
    fn send(&mut self, flow: FlowId, mut left: u64, (now, gap): (f64, f64), net: &mut dyn Net) {
        while left > 0 {
            // Each packet counts as work, because a frame may have any size.
            done(32);
            let payload = left.min(self.payload);
            left -= payload;
            net.datagram(flow, payload as u32 + self.headers, self.headers);
            if gap > 0.0 && left > 0 {
                let next = now + gap;
                let due = FrameDue::Packet { left, next, gap };
                return self.agenda.put(Time(next as u64), due, net);
            }
        }
    }

    fn judge(&mut self, flow: FlowId, net: &mut dyn Net) {
        if self.skip && self.connection {
            self.take_back(flow, net);
        }
        if let Some((frame, fate)) = self.frames.judge() {
            net.frame_judged(flow, frame.made, frame.bytes, fate);
            debug_assert!(fate != Fate::Skipped || self.skip);
        }
    }

    /// Take back the frame whose deadline has come, if no byte of it has been sent.
    fn take_back(&mut self, flow: FlowId, net: &mut dyn Net) {
        let Some(bytes) = self.frames.next().map(|f| f.bytes) else {
            return;
        };
        // The bytes written last are the unsent ones; only the ends of the connection know their positions.
        if net.unsent(flow, Side::Source) >= bytes + self.frames.behind_next() {
            net.withdraw(flow, Side::Source, bytes);
            self.frames.skip_next();
        }
    }

    fn on_due(&mut self, due: FrameDue, flow: FlowId, net: &mut dyn Net) {
        match due {
            FrameDue::Frame if !self.stopped => self.make(flow, net),
            FrameDue::Frame => {}
            FrameDue::Packet { left, next, gap } => self.send(flow, left, (next, gap), net),
            FrameDue::Judge => self.judge(flow, net),
        }
    }
}

impl Application for Video {
    fn on(&mut self, e: AppInput, net: &mut dyn Net) {
        let Some(flow) = net.own_flow() else { return };
        match e {
            AppInput::Start if !self.stopped => {
                self.start = net.now();
                self.put_next(net);
            }
            AppInput::Wake => {
                while let Some(due) = self.agenda.take(net) {
                    self.on_due(due, flow, net);
                }
            }
            AppInput::Datagram { number, .. }
            | AppInput::Transport {
                side: Side::Destination,
                event: AppEvent::Packet(number),
                ..
            } => {
                if let Some(frame) = self.frames.packet(number) {
                    net.frame_whole(flow, frame);
                }
            }
            AppInput::Transport {
                side: Side::Destination,
                event: AppEvent::Delivered(bytes),
                ..
            } if self.packets.is_none() => {
                for frame in self.frames.bytes(bytes) {
                    net.frame_whole(flow, frame);
                }
            }
            AppInput::Stop => {
                self.stopped = true;
                if self.connection {
                    net.close(flow, Side::Source);
                }
            }
            _ => {}
        }
    }
}
