//! A port's calls to the AQMs of its queues: each AQM sees its own queue as if it were a FIFO.

use super::{Port, Silent};
use crate::contract::admission::{Decision, Waiting};
use crate::contract::discipline::{Backlog, DropReason, Line, Out, Place};
use crate::contract::view::{Exit, Handle, PacketSource, QueueView};
use crate::pieces::classify::Classifier;
use crate::pieces::drop::{DropPolicy, Scene};
use crate::pieces::schedule::Scheduler;
use crate::pieces::store::QueueId;
use tailback_base::{Packet, Size, Stream};

impl<P, C, S, D> Port<P, C, S, D>
where
    P: Packet,
    C: Classifier<P>,
    S: Scheduler<P>,
    D: DropPolicy<P>,
{
    /// The packet, marked or not, if the AQM of its queue admits it.
    pub(super) fn admitted(&mut self, q: QueueId, mut p: P, line: &Line, out: &mut dyn Out<P>) -> Option<P> {
        let Some(aqms) = &mut self.aqms else { return Some(p) };
        let (mut aqm, mut gone) = (aqms.lend(q), std::mem::take(&mut aqms.gone));
        let mut view = OneQueue { port: self, q, line };
        let decision = aqm.admit(&mut p, &mut Waiting::new(&mut view, &mut gone, line), line, out);
        self.report(q, &mut *aqm, gone, line, out);
        if matches!(decision, Decision::Drop(_)) && self.store.packets(q) == 0 {
            // The queue was empty and stays empty, because the AQM has dropped the packet. With a FIFO, the next
            // dequeue would report this to the AQM.
            aqm.idle(line);
        }
        if let Some(aqms) = &mut self.aqms {
            aqms.give_back(q, aqm);
        }
        match decision {
            Decision::Store => Some(p),
            Decision::Drop(why) => {
                self.classifier.refused(&p, q, line.now);
                out.dropped(p, Place::Arriving, why);
                None
            }
        }
    }

    /// The packet that the AQM of this queue sends.
    pub(super) fn taken(&mut self, q: QueueId, line: &Line, out: &mut dyn Out<P>) -> Option<P> {
        let mut aqm = self.aqms.as_mut()?.lend(q);
        let mut p = aqm.take(&mut OneQueue { port: self, q, line }, line, out);
        match &mut p {
            Some(p) => aqm.leaving(p, line, out),
            None => aqm.idle(line),
        }
        self.aqms.as_mut()?.give_back(q, aqm);
        p
    }

    pub(super) fn aqm_timer(&mut self, q: QueueId, line: &Line, out: &mut dyn Out<P>) {
        let Some(aqms) = &mut self.aqms else { return };
        let (mut aqm, mut gone) = (aqms.lend(q), std::mem::take(&mut aqms.gone));
        let mut view = OneQueue { port: self, q, line };
        aqm.on_timer(&mut Waiting::new(&mut view, &mut gone, line), line, out);
        self.report(q, &mut *aqm, gone, line, out);
        if let Some(aqms) = &mut self.aqms {
            aqms.give_back(q, aqm);
        }
    }

    /// Report the packets that the AQM evicted, to the AQM itself and to `out`.
    fn report(
        &mut self,
        q: QueueId,
        aqm: &mut dyn crate::contract::admission::Admission<P>,
        mut gone: Vec<(P, DropReason)>,
        line: &Line,
        out: &mut dyn Out<P>,
    ) {
        let backlog = self.store.backlog_of(q);
        for (p, why) in gone.drain(..) {
            aqm.left(&p, Exit::Evicted(why), backlog, line);
            out.dropped(p, Place::Queued, why);
        }
        if let Some(aqms) = &mut self.aqms {
            aqms.gone = gone;
        }
    }
}

/// One queue of a port, as its AQM sees it: its own packets, and the limit of the shared buffer.
struct OneQueue<'a, P, C, S, D> {
    port: &'a mut Port<P, C, S, D>,
    q: QueueId,
    line: &'a Line,
}

impl<P, C, S, D> QueueView<P> for OneQueue<'_, P, C, S, D>
where
    P: Packet,
    C: Classifier<P>,
    S: Scheduler<P>,
    D: DropPolicy<P>,
{
    fn stored(&self) -> Backlog {
        self.port.store.backlog_of(self.q)
    }

    fn limit(&self) -> Size {
        self.port.store.size()
    }

    fn fits(&self, bytes: u32) -> bool {
        self.port.fits(bytes)
    }

    /// A random packet of the queue. This visits the packets before it one by one.
    fn draw(&self, stream: &mut Stream) -> Option<Handle> {
        let n = u64::from(self.port.store.packets(self.q));
        let k = (n > 0).then(|| stream.below(n) as u32)?;
        let slot = self.port.store.nth_of(self.q, k)?;
        Some(Handle(u64::from(slot)))
    }

    fn oldest(&self) -> Option<Handle> {
        self.port.store.head(self.q).map(|slot| Handle(u64::from(slot)))
    }

    fn newest(&self) -> Option<Handle> {
        self.port.store.tail(self.q).map(|slot| Handle(u64::from(slot)))
    }

    /// The packet that leaves after `k` others. This visits the packets before it one by one.
    fn nth(&self, k: u64) -> Option<Handle> {
        let slot = self.port.store.nth_of(self.q, u32::try_from(k).ok()?)?;
        Some(Handle(u64::from(slot)))
    }

    fn get(&self, at: Handle) -> Option<&P> {
        self.port.store.packet(u32::try_from(at.0).ok()?)
    }

    fn remove(&mut self, at: Handle, _why: DropReason, line: &Line) -> Option<P> {
        let (q, p) = self.port.take_out(u32::try_from(at.0).ok()?, line, &mut Silent)?;
        self.port.evicted += u64::from(p.bytes());
        self.port.classifier.left(&p, q, line.now);
        Some(p)
    }
}

impl<P, C, S, D> PacketSource<P> for OneQueue<'_, P, C, S, D>
where
    P: Packet,
    C: Classifier<P>,
    S: Scheduler<P>,
    D: DropPolicy<P>,
{
    fn pop(&mut self) -> Option<P> {
        let slot = self.port.store.head(self.q)?;
        self.port.store.remove(slot).map(|x| x.1)
    }

    fn waiting(&self) -> Backlog {
        self.port.store.backlog_of(self.q)
    }

    /// Drop a packet that was taken out. The scheduler does not charge the queue for it. The tags of the other packets
    /// do not change.
    fn drop(&mut self, p: P, why: DropReason, out: &mut dyn Out<P>) {
        let (port, q, line) = (&mut *self.port, self.q, self.line);
        match port.store.packets(q) {
            0 => port.scheduler.deactivate(q, &port.store, line),
            _ => port.scheduler.head_changed(q, &port.store, line),
        }
        let scene = &mut Scene {
            store: &port.store,
            line,
            queues: port.configured.max(port.store.queues()),
            order: &port.scheduler,
            out: &mut *out,
            ids: &port.ids,
        };
        port.policy.after_evict(q, &p, scene);
        port.evicted += u64::from(p.bytes());
        port.classifier.left(&p, q, line.now);
        out.dropped(p, Place::Dequeued, why);
    }
}
