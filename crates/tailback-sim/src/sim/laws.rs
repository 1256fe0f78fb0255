//! Laws that hold in every run. `--check-laws` checks them during the run.
//!
//! * No line idles while its discipline would give it a waiting packet. A free line has asked its discipline; a
//!   discipline that waits is asked again at the instant that it named. Everything that was due has happened.
//! * A line sends one packet after the other, never faster than its rate, and in all at most the bits that it offered.
//! * Packets that came to a port went out, were dropped, or are still there. Packets that left their ends arrived, were
//!   dropped, or are in the network.
//! * Data that arrive at the ends have come over their links ([`carried`]).
//!
//! The checks of a port read two things: the state of its server after each call (`wire/port`), and the last answer of
//! its discipline ([`Witness`](tailback_queue::witness::Witness)). A run that does not check laws pays for neither.
//!
//! State for each port: its answer, what is due, and when the packet before has left. The checks cost some thirty
//! instructions for each call of an explicit port. A fused port, whose departures are arithmetic, is checked at the
//! end.

mod carried;

use super::{Broken, Sim};
use crate::wire::port::Queue;
use std::cell::Cell;
use std::rc::Rc;
use tailback_base::work::counted_as;
use tailback_base::{BitRate, Time};
use tailback_queue::server::Server;
use tailback_queue::witness::Answer;

/// The reaction to a broken law.
const REMEDY: &str = "send this message with the scenario and the seed to who wrote the discipline, or to tailback";

/// The laws of a run.
#[derive(Default)]
pub struct Laws {
    ports: Vec<PortLaw>,
    /// Packets inside of each port when counting began.
    inside: Vec<u64>,
    /// The flows, when counting began.
    flows: Vec<carried::FlowBefore>,
}

#[derive(Default)]
struct PortLaw {
    answer: Option<Rc<Cell<Answer>>>,
    /// The time at which the port is to be served.
    due: Time,
    free_at: Time,
}

/// The state of a port after a call.
#[derive(Clone, Copy, Debug)]
struct Served {
    now: Time,
    free_at: Time,
    due: Time,
    timer: Time,
    waiting: u64,
    /// The line takes packets at any instant.
    open: bool,
    answer: Answer,
    /// Bytes of the packet that was sent last, and the rate of the line.
    last: u32,
    rate: BitRate,
}

impl PortLaw {
    /// The broken law, in words that follow the name of the queue.
    fn check(&mut self, s: Served) -> Result<(), String> {
        if self.due < s.now {
            return Err(format!(
                "was to be asked for a packet at {} and was not",
                self.due.seconds()
            ));
        }
        if s.free_at != self.free_at {
            if s.now < self.free_at {
                return Err(format!(
                    "sent a packet before the one before it had left, at {}",
                    self.free_at.seconds()
                ));
            }
            let took = u128::from((s.free_at - s.now).0 + 1) * u128::from(s.rate.0);
            if s.open && took < u128::from(s.last) * 8_000_000_000 {
                return Err(format!("sent {} B in {} at {}", s.last, s.free_at - s.now, s.rate));
            }
        }
        (self.due, self.free_at) = (s.due, s.free_at);
        if s.waiting == 0 || !s.open {
            return Ok(());
        }
        let latest = match s.answer {
            _ if s.free_at > s.now => s.free_at,
            Answer::Waits(t) => t,
            Answer::Open => s.now,
        };
        match s.due.min(s.timer.max(s.now)) <= latest {
            true => Ok(()),
            false => Err(format!(
                "has {} packets waiting while its line is free, and is not asked",
                s.waiting
            )),
        }
    }
}

impl Laws {
    /// The laws for a network with this number of ports. `answers` has the states of explicit ports, by number.
    pub fn new(ports: usize, answers: impl IntoIterator<Item = (u32, Rc<Cell<Answer>>)>) -> Laws {
        let law = || PortLaw {
            due: Time::NEVER,
            ..PortLaw::default()
        };
        let mut laws = Laws {
            ports: (0..ports).map(|_| law()).collect(),
            inside: vec![0; ports],
            flows: vec![],
        };
        for (port, answer) in answers {
            laws.ports[port as usize].answer = Some(answer);
        }
        laws
    }
}

impl Sim {
    /// Check a port that was served, or that a packet came to.
    pub(super) fn check_service(&mut self, port: u32) {
        let Some(laws) = &mut self.watch.laws else { return };
        let Queue::Explicit(e) = &self.net.ports[port as usize].queue else {
            return;
        };
        let law = &mut laws.ports[port as usize];
        let Some(answer) = law.answer.as_ref().map(|a| a.get()) else {
            return;
        };
        let verdict = law.check(served(&e.server, answer, self.now));
        if let Err(does) = verdict {
            self.break_law(port, does);
        }
    }

    /// The rate of a line has changed, and with it the time at which the line is to be served.
    pub(super) fn note_due(&mut self, port: u32) {
        let Some(laws) = &mut self.watch.laws else { return };
        if let Queue::Explicit(e) = &self.net.ports[port as usize].queue {
            laws.ports[port as usize].due = e.server.service_at();
        }
    }

    /// Counting begins: note how many packets each port contains, because these arrived before.
    pub(super) fn note_inside(&mut self) {
        if self.watch.laws.is_none() {
            return;
        }
        let inside = counted_as(8, 0..self.ports())
            .map(|p| self.conservation(p).inside)
            .collect();
        let flows = self.flows_before();
        if let Some(laws) = &mut self.watch.laws {
            (laws.inside, laws.flows) = (inside, flows);
        }
    }

    /// The run is over: look at all ports and flows.
    pub(crate) fn check_end(&mut self) {
        let Some(laws) = &self.watch.laws else { return };
        let now = self.now;
        let mut broken = None;
        let mut inside: u64 = self.edges.all.iter().map(|e| e.conditioner.held()).sum();
        for port in counted_as(16, 0..self.ports()) {
            let p = &self.net.ports[port as usize];
            let c = self.conservation(port);
            inside += c.inside + p.impair.as_ref().map_or(0, |i| i.held());
            let before = laws.inside[port as usize];
            if before + c.arrived != c.delivered + c.dropped + c.inside {
                let does = format!(
                    "has lost or invented packets: {before} were there and {} arrived, {} left, {} were dropped, \
                     {} are there",
                    c.arrived, c.delivered, c.dropped, c.inside
                );
                broken.get_or_insert((port, does));
            }
            match &p.queue {
                Queue::Explicit(e) => {
                    let law = &laws.ports[port as usize];
                    let (sent_bits, offered_bits) = e.server.carried(now);
                    if law.answer.is_some() && law.due < now {
                        let does = format!("was to be asked for a packet at {} and was not", law.due.seconds());
                        broken.get_or_insert((port, does));
                    }
                    // The bits are sums of billionths.
                    if sent_bits > offered_bits * (1.0 + 1e-9) + 1.0 {
                        broken.get_or_insert((
                            port,
                            format!("has sent {sent_bits} bits of {offered_bits} that its line offered"),
                        ));
                    }
                }
                Queue::Fused(_) => {
                    let (busy, seconds) = (p.busy_seconds(now), now.since(p.stats.since).seconds());
                    if busy > seconds * (1.0 + 1e-9) {
                        broken.get_or_insert((port, format!("was busy for {busy} s of {seconds}")));
                    }
                }
            }
        }
        let under_way: u64 = counted_as(8, &self.flows.all).map(|f| u64::from(f.in_flight)).sum();
        if under_way != inside {
            let does =
                format!("is one of those that hold {inside} packets, while the flows have {under_way} under way");
            broken.get_or_insert((0, does));
        }
        if let Err((port, does)) = self.check_carried(&laws.flows) {
            broken.get_or_insert((port, does));
        }
        if let Some((port, does)) = broken {
            self.break_law(port, does);
        }
    }

    #[cold]
    fn break_law(&mut self, port: u32, does: String) {
        self.give_up(Broken {
            port,
            does: format!("breaks a law: it {does}"),
            remedy: REMEDY.into(),
        });
    }
}

fn served<P: tailback_base::Packet>(server: &Server<P>, answer: Answer, now: Time) -> Served {
    Served {
        now,
        free_at: server.free_at(),
        due: server.service_at(),
        timer: server.timer_at(),
        waiting: server.queue.backlog().packets,
        open: server.is_open(),
        answer,
        last: server.last_sent().unwrap_or(0),
        rate: server.rate(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of 1000 B waits at 10 ms on a line of 8 Mb/s that has been free since 5 ms, and is asked for at once.
    fn idle() -> Served {
        Served {
            now: Time(10_000_000),
            free_at: Time(5_000_000),
            due: Time(10_000_000),
            timer: Time::NEVER,
            waiting: 1,
            open: true,
            answer: Answer::Open,
            last: 1000,
            rate: BitRate(8_000_000),
        }
    }

    fn law() -> PortLaw {
        PortLaw {
            due: Time(10_000_000),
            free_at: Time(5_000_000),
            answer: None,
        }
    }

    fn said(s: Served) -> String {
        law().check(s).err().unwrap_or_default()
    }

    #[test]
    fn what_is_due_now_breaks_no_law() {
        assert_eq!(said(idle()), "");
        let waits = Answer::Waits(Time(12_000_000));
        assert_eq!(
            said(Served {
                answer: waits,
                due: Time(12_000_000),
                ..idle()
            }),
            ""
        );
        let gate = Served {
            answer: Answer::Waits(Time::NEVER),
            due: Time::NEVER,
            timer: Time(11_000_000),
            ..idle()
        };
        assert_eq!(said(gate), "");
        assert_eq!(
            said(Served {
                waiting: 0,
                due: Time::NEVER,
                ..idle()
            }),
            ""
        );
        assert_eq!(
            said(Served {
                free_at: Time(11_000_000),
                due: Time(11_000_000),
                ..idle()
            }),
            ""
        );
    }

    #[test]
    fn each_mutant_of_a_server_breaks_its_law() {
        let stranded = Served {
            due: Time::NEVER,
            ..idle()
        };
        assert!(said(stranded).contains("is not asked"), "{}", said(stranded));
        let late_service = Served {
            answer: Answer::Waits(Time(12_000_000)),
            due: Time(13_000_000),
            ..idle()
        };
        assert!(said(late_service).contains("is not asked"), "{}", said(late_service));
        let busy = Served {
            free_at: Time(11_000_000),
            due: Time(11_000_001),
            ..idle()
        };
        assert!(said(busy).contains("is not asked"), "{}", said(busy));
        let fast = Served {
            free_at: Time(10_999_998),
            due: Time(10_999_998),
            ..idle()
        };
        assert!(said(fast).contains("sent 1000 B in"), "{}", said(fast));
        let lost = Served {
            now: Time(10_000_001),
            ..idle()
        };
        assert!(
            said(lost).contains("was to be asked for a packet at 0.01 and was not"),
            "{}",
            said(lost)
        );
        let mut overlap = law();
        overlap.free_at = Time(10_500_000);
        let outcome = overlap.check(Served {
            free_at: Time(11_500_000),
            due: Time(11_500_000),
            ..idle()
        });
        assert!(outcome.unwrap_err().contains("before the one before it had left"));
    }
}
