//! Impairments before a link's queue: loss, marks, duplication, reordering and delay of packets.
//!
//! The impairments of a direction act in the order in which they are listed. Losses and marks follow arrival indices,
//! which count every packet that reaches the impairment from 0. A send delay never reorders: a packet is released no
//! earlier than the one before it. A reordered packet is held back alone, so that later packets overtake it. The module
//! [`netem`](super::netem) has the behaviour of `netem`.
//!
//! Each direction draws from its own stream, so that an impairment disturbs no other random choice.
//!
//! Cost: a branch on links without impairments. Otherwise each impairment costs a few instructions, and each packet
//! that is held costs one event.

use crate::declare::impairments::{Harm, Impairment};
use crate::wire::netem::Emulator;
use crate::wire::packet::WirePacket;
use std::collections::VecDeque;
use tailback_base::{Stream, Time};

/// The state of one impairment.
struct ImpairmentState {
    what: Impairment,
    arrivals: u64,
    /// For Gilbert: whether it is in the bad state. For a list of indices: the position in the sorted list.
    bad: bool,
    cursor: usize,
    /// For a send delay: the last release.
    last: Time,
    emulator: Option<Box<Emulator>>,
}

/// All impairments of one direction of a link, and the packets that they delay.
pub struct Impairments {
    stages: Vec<ImpairmentState>,
    rng: Stream,
    /// Delayed packets, ordered by (release, order of arrival).
    held: VecDeque<(Time, u64, WirePacket)>,
    held_so_far: u64,
    /// Time of the pending release event.
    pub release_at: Time,
}

/// A second copy of a packet: it passes all impairments again, and is not copied again.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Again {
    /// The copy was made of a packet that had been marked.
    pub marked: bool,
}

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Treatment {
    pub drop: bool,
    pub mark: bool,
    pub copy: bool,
    /// A second copy arrives, also if this packet is lost.
    pub again: Option<Again>,
    /// The time at which the packet enters the queue; `None` if it enters at once.
    pub hold_until: Option<Time>,
}

impl Impairments {
    /// `None` if there are no impairments.
    pub fn new(list: &[Impairment], mut rng: Stream) -> Option<Box<Impairments>> {
        if list.is_empty() {
            return None;
        }
        let stages = list
            .iter()
            .map(|i| {
                let mut impairment = i.clone();
                let mut emulator = None;
                match &mut impairment {
                    Impairment::ByIndex { indices, .. } => indices.sort_unstable(),
                    Impairment::Netem(of) => emulator = Some(Box::new(Emulator::new(of, &mut rng))),
                    _ => {}
                }
                ImpairmentState {
                    what: impairment,
                    arrivals: 0,
                    bad: false,
                    cursor: 0,
                    last: Time::ZERO,
                    emulator,
                }
            })
            .collect();
        Some(Box::new(Impairments {
            stages,
            rng,
            held: VecDeque::new(),
            held_so_far: 0,
            release_at: Time::NEVER,
        }))
    }

    /// The probability of the first random impairment that drops.
    pub fn set_loss(&mut self, to: f64) {
        let loss = self.stages.iter_mut().find_map(|s| match &mut s.what {
            Impairment::Random {
                probability,
                action: Harm::Drop,
            } => Some(probability),
            _ => None,
        });
        if let Some(probability) = loss {
            *probability = to;
        }
    }

    /// Whether some packets leave twice.
    pub fn copies(&self) -> bool {
        self.stages.iter().any(|s| s.what.copied() > 0.0)
    }

    /// Decide about the packet of this size that arrives now. `capable` packets can be marked; `is_copy` is the value
    /// of [`Treatment::again`].
    pub fn judge(&mut self, now: Time, bytes: u32, capable: bool, is_copy: bool) -> Treatment {
        let mut treatment = Treatment {
            drop: false,
            mark: false,
            copy: false,
            again: None,
            hold_until: None,
        };
        for s in &mut self.stages {
            let index = s.arrivals;
            s.arrivals += 1;
            let rng = &mut self.rng;
            let mut harm = |strikes: bool, action: Harm| {
                if strikes {
                    match action {
                        Harm::Drop => treatment.drop = true,
                        Harm::Mark => treatment.mark = true,
                    }
                }
            };
            match &s.what {
                Impairment::ByIndex { indices, action } => {
                    let strikes = indices.get(s.cursor) == Some(&index);
                    while indices.get(s.cursor).is_some_and(|i| *i <= index) {
                        s.cursor += 1;
                    }
                    harm(strikes, *action);
                }
                Impairment::BlackHole { mtu } => harm(u64::from(bytes) > *mtu, Harm::Drop),
                Impairment::EveryNth { n, action } => harm((index + 1) % n == 0, *action),
                Impairment::Random { probability, action } => harm(rng.chance(*probability), *action),
                Impairment::Gilbert {
                    to_bad,
                    to_good,
                    loss_good,
                    loss_bad,
                    action,
                } => {
                    if rng.chance(if s.bad { *to_good } else { *to_bad }) {
                        s.bad = !s.bad;
                    }
                    harm(rng.chance(if s.bad { *loss_bad } else { *loss_good }), *action);
                }
                Impairment::Duplicate { probability } => treatment.copy |= rng.chance(*probability),
                Impairment::Reorder { probability, delay } => {
                    if rng.chance(*probability) {
                        treatment.hold_until = Some(treatment.hold_until.unwrap_or(now) + *delay);
                    }
                }
                Impairment::SendDelay { max } => {
                    let wait = tailback_base::Duration(rng.below(max.0.saturating_add(1)));
                    let release = (treatment.hold_until.unwrap_or(now) + wait).max(s.last);
                    s.last = release;
                    treatment.hold_until = Some(release);
                }
                Impairment::Netem(_) => {
                    let arrives = treatment.hold_until.unwrap_or(now);
                    let Some(emulator) = &mut s.emulator else { continue };
                    let emulated = emulator.take(arrives, bytes, capable, is_copy, rng);
                    treatment.mark |= emulated.marked;
                    if emulated.copied {
                        treatment.again = Some(Again { marked: treatment.mark });
                    }
                    match emulated.leaves {
                        None => treatment.drop = true,
                        leaves => treatment.hold_until = leaves,
                    }
                }
            }
            if treatment.drop {
                return treatment;
            }
        }
        treatment.hold_until = treatment.hold_until.filter(|t| *t > now || !self.held.is_empty());
        treatment
    }

    /// Keep a packet until `release`.
    pub fn hold(&mut self, p: WirePacket, release: Time) {
        let key = (release, self.held_so_far);
        self.held_so_far += 1;
        // Releases are nearly in order: search from the back.
        let position = self
            .held
            .iter()
            .rposition(|(t, n, _)| (*t, *n) <= key)
            .map_or(0, |i| i + 1);
        self.held.insert(position, (key.0, key.1, p));
    }

    /// The number of packets that are held back.
    pub fn held(&self) -> u64 {
        self.held.len() as u64
    }

    pub fn next_release(&self) -> Option<Time> {
        self.held.front().map(|h| h.0)
    }

    /// The next packet whose time has come.
    pub fn release(&mut self, now: Time) -> Option<WirePacket> {
        self.held.front().filter(|h| h.0 <= now)?;
        self.held.pop_front().map(|h| h.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_base::Duration;

    fn fates(what: Impairment, n: u64) -> Vec<u64> {
        let mut i = Impairments::new(&[what], Stream::new(1, "test")).unwrap();
        (0..n).filter(|k| i.judge(Time(*k), 1000, false, false).drop).collect()
    }

    #[test]
    fn losses_strike_where_told() {
        assert_eq!(
            fates(
                Impairment::ByIndex {
                    indices: vec![7, 2, 2],
                    action: Harm::Drop
                },
                20
            ),
            [2, 7]
        );
        assert_eq!(
            fates(
                Impairment::EveryNth {
                    n: 5,
                    action: Harm::Drop
                },
                16
            ),
            [4, 9, 14]
        );
        let random = fates(
            Impairment::Random {
                probability: 0.1,
                action: Harm::Drop,
            },
            100_000,
        )
        .len();
        assert!((9_700..10_300).contains(&random), "{random}");
    }

    #[test]
    fn gilbert_loses_in_bursts() {
        let impairment = Impairment::Gilbert {
            to_bad: 0.01,
            to_good: 0.25,
            loss_good: 0.0,
            loss_bad: 1.0,
            action: Harm::Drop,
        };
        let lost = fates(impairment, 400_000);
        let share = lost.len() as f64 / 400_000.0;
        // The share of time in the bad state is 0.01 / 0.26, and the mean burst is 4 packets.
        assert!((share - 0.01 / 0.26).abs() < 0.002, "{share}");
        let bursts = lost.windows(2).filter(|w| w[1] != w[0] + 1).count() + 1;
        let mean = lost.len() as f64 / bursts as f64;
        assert!((mean - 4.0).abs() < 0.2, "{mean}");
    }

    #[test]
    fn a_send_delay_never_reorders() {
        let mut i = Impairments::new(&[Impairment::SendDelay { max: Duration(1000) }], Stream::new(1, "test")).unwrap();
        let mut last_arrival = Time::ZERO;
        for k in 0..10_000 {
            let t = i
                .judge(Time(k * 10), 1000, false, false)
                .hold_until
                .unwrap_or(Time(k * 10));
            assert!(t >= last_arrival && t <= Time(k * 10 + 1000).max(last_arrival));
            last_arrival = t;
        }
    }
}
