//! An AQM for each queue of a port, made when the queue is first used.
//!
//! State: the AQMs, and for each AQM with a timer, the time when it is due. A call costs as much as the call of the
//! AQM, plus O(log n) if its timer has changed.

use crate::contract::admission::Admission;
use crate::contract::line::Line;
use crate::contract::report::{Backlog, DropReason, ProbeId};
use crate::contract::view::Exit;
use std::collections::BTreeSet;
use tailback_base::quantity::Refusal;
use tailback_base::{Packet, ProbeDef, Settings, Stream, Time};

/// The number of a queue of a discipline. The numbers start at 0 and have no gaps.
pub type QueueId = u32;

/// Makes the AQM of a queue.
pub type MakeAqm<P> = Box<dyn Fn(QueueId) -> Box<dyn Admission<P>>>;

/// The AQMs of all queues.
pub struct QueueAqms<P> {
    make: MakeAqm<P>,
    /// The settings of AQMs that are made from now on, if the settings have changed.
    changed: Option<Box<Settings>>,
    queues: Vec<Member<P>>,
    timers: BTreeSet<(Time, QueueId)>,
    /// An AQM without packets. It provides the declarations, and the probe values of queues that have not been used.
    unused: Box<dyn Admission<P>>,
    /// The packets that an AQM evicts, collected until its call has ended.
    pub(crate) gone: Vec<(P, DropReason)>,
    /// Whether a queue is idle as soon as its last packet has left. Otherwise it becomes idle when it has the turn but
    /// no packet.
    pub(crate) idle_at_once: bool,
}

/// The AQM of a queue (`None` while it is lent), and the time of its entry in the timers.
struct Member<P> {
    aqm: Option<Box<dyn Admission<P>>>,
    due: Option<Time>,
}

/// Makes AQMs with their own random streams, named after their queues.
pub fn seeded<P: Packet>(seed: u64, make: impl Fn(Stream) -> Box<dyn Admission<P>> + 'static) -> QueueAqms<P> {
    QueueAqms::new(Box::new(move |q| make(Stream::new(seed, &format!("aqm.{q}")))))
}

impl<P: Packet> QueueAqms<P> {
    pub fn new(make: MakeAqm<P>) -> QueueAqms<P> {
        QueueAqms {
            unused: make(0),
            make,
            changed: None,
            queues: Vec::new(),
            timers: BTreeSet::new(),
            gone: Vec::new(),
            idle_at_once: true,
        }
    }

    pub fn probes(&self) -> &[ProbeDef] {
        self.unused.probes()
    }

    /// The value of a probe of the AQM of this queue. If the queue has not been used, it is the initial value of the
    /// AQM. This is needed because queues are used in any order, and a sample of all queues ends at the first queue
    /// without a value.
    pub fn read(&self, q: QueueId, probe: ProbeId) -> f64 {
        let aqm = self.queues.get(q as usize).and_then(|m| m.aqm.as_ref());
        aqm.unwrap_or(&self.unused).read(probe, 0)
    }

    /// A new AQM for a queue, for a discipline that stores its AQMs itself.
    pub fn made(&self, q: QueueId) -> Box<dyn Admission<P>> {
        let mut aqm = (self.make)(q);
        if let Some(settings) = &self.changed
            && let Err(e) = aqm.reconfigure(settings)
        {
            unreachable!("the others have taken these values: {e}");
        }
        aqm
    }

    /// Let the AQM of each queue continue with these settings.
    ///
    /// # Errors
    /// Those of the AQM.
    pub(crate) fn reconfigure(&mut self, settings: &Settings) -> Result<(), Refusal> {
        self.unused.reconfigure(settings)?;
        self.changed = Some(Box::new(settings.clone()));
        for q in 0..self.queues.len() {
            let q = q as QueueId;
            if let Some(mut aqm) = self.queues[q as usize].aqm.take() {
                let taken = aqm.reconfigure(settings);
                self.give_back(q, aqm);
                taken?;
            }
        }
        Ok(())
    }

    pub(crate) fn sends_requests(&self) -> bool {
        self.unused.sends_requests()
    }

    /// Lend the AQM of a queue, for a call that needs the port as well. The caller returns it with
    /// [`QueueAqms::give_back`].
    pub(crate) fn lend(&mut self, q: QueueId) -> Box<dyn Admission<P>> {
        if self.queues.len() <= q as usize {
            self.queues
                .resize_with(q as usize + 1, || Member { aqm: None, due: None });
        }
        self.queues[q as usize].aqm.take().unwrap_or_else(|| self.made(q))
    }

    pub(crate) fn give_back(&mut self, q: QueueId, aqm: Box<dyn Admission<P>>) {
        let due = aqm.next_timer();
        let member = &mut self.queues[q as usize];
        member.aqm = Some(aqm);
        if due != member.due {
            self.arm(q, due);
        }
    }

    /// Change the time at which the timer of a queue is due.
    #[cold]
    fn arm(&mut self, q: QueueId, due: Option<Time>) {
        let before = std::mem::replace(&mut self.queues[q as usize].due, due);
        if let Some(t) = before {
            self.timers.remove(&(t, q));
        }
        if let Some(t) = due {
            self.timers.insert((t, q));
        }
    }

    pub(crate) fn left(&mut self, q: QueueId, p: &P, how: Exit, rest: Backlog, line: &Line) {
        // The AQM need not be lent, because this call does not use the port. If it is lent, its own call has evicted
        // the packet.
        let Some(Member { aqm: Some(aqm), due }) = self.queues.get_mut(q as usize) else {
            return;
        };
        aqm.left(p, how, rest, line);
        if rest.packets == 0 && self.idle_at_once {
            // The queue of this AQM is idle from now on, even if the line sends packets of other queues.
            aqm.idle(line);
        }
        let next = aqm.next_timer();
        if next != *due {
            self.arm(q, next);
        }
    }

    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.timers.first().map(|t| t.0)
    }

    /// The queue whose timer is due first, if it is due by `now`.
    pub(crate) fn due(&self, now: Time) -> Option<QueueId> {
        self.timers.first().filter(|t| t.0 <= now).map(|t| t.1)
    }
}
