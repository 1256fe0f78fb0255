//! Transfers: the data that applications requested, when the data arrived, when the sender got the acknowledgement, and
//! the time that they would take on an empty path.
//!
//! An application gives the transfer for the bytes that it writes ([`Net::send`]). The end of a transfer in its
//! connection's stream is stored until it is acknowledged, so that a delayed ACK for one transfer is not taken for one
//! of the next. The number of stored ends grows with the transfers under way; the number of rows grows with the
//! transfers that were requested.
//!
//! [`Net::send`]: crate::traffic::application::Net::send

use super::Sim;
use super::ideal::NO_PATH;
use crate::sim::flow::{Carrier, Hears, NOTHING_AWAITED};
use crate::traffic::application::{AppInput, Page, PageId, Part, Repairs, Side, Transfer, TransferId};
use std::collections::{BTreeMap, VecDeque};
use tailback_base::{Duration, FlowId, Time};
use tailback_transport::{Amount, AppEvent, Endpoint};

/// The state of a transfer.
#[derive(Clone, Copy, Debug)]
pub struct TransferRow {
    /// Slot of the flow or member whose application requested it.
    pub member: u32,
    pub transfer: Transfer,
    /// Bytes that have arrived.
    pub arrived: u64,
    /// The least time by the papers and the kind of path, for a transfer of a workload.
    pub ideal: Duration,
    pub path: u32,
}

impl TransferRow {
    /// This many bytes of it have arrived.
    pub fn deliver(&mut self, bytes: u64, now: Time) {
        self.arrived += bytes;
        self.transfer.first.get_or_insert(now);
    }
}

/// The state of a page.
#[derive(Clone, Copy, Debug)]
pub struct PageRow {
    /// Slot of the member.
    pub member: u32,
    pub page: Page,
}

/// A transfer that has been written, and whose end has not been acknowledged yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenTransfer {
    /// The number of bytes that had been written to its side, up to and including its last byte.
    written: u64,
    id: TransferId,
    /// The counts of its sender before the transfer.
    before: Repairs,
}

/// The transfers that wait for their last acknowledgement, by flow and side.
pub(crate) type Awaited = BTreeMap<(u32, bool), VecDeque<OpenTransfer>>;

/// The sequence number from which on to check whether a transfer is acknowledged. An end that keeps no count may
/// complete it with any segment.
fn threshold(written: u64) -> u64 {
    if written == u64::MAX { 0 } else { written }
}

fn repairs(end: &dyn Endpoint, now: Time) -> Repairs {
    let r = end.report(now);
    Repairs {
        timeouts: r.timeouts as u32,
        resent: r.retransmitted_packets as u32,
    }
}

impl Sim {
    pub(super) fn ask(&mut self, app: u32, bytes: u64) -> TransferId {
        let id = TransferId(self.apps.transfers.len() as u32);
        self.apps.transfers.push(TransferRow {
            member: self.apps.all[app as usize].own_flow.map_or(0, |f| f.0),
            transfer: Transfer {
                bytes,
                asked: self.now,
                first: None,
                done: None,
                acked: None,
                repairs: Repairs::default(),
                least: Duration::ZERO,
            },
            arrived: 0,
            ideal: Duration::ZERO,
            path: NO_PATH,
        });
        id
    }

    /// Write `bytes` to one side for a transfer.
    pub(super) fn send(&mut self, id: TransferId, flow: FlowId, side: Side, bytes: u64, part: Part) {
        let least = self.least(flow, side, bytes);
        self.apps.transfers[id.0 as usize].transfer.least += least;
        let now = self.now;
        let f = &mut self.flows.all[flow.0 as usize];
        let Carrier::Connection(ends) = &mut f.carrier else {
            return;
        };
        let end = &mut ends[side as usize];
        end.write(Amount::Bytes(bytes), now);
        if part == Part::Data {
            let written = end.progress().map_or(u64::MAX, |p| p.written);
            if f.awaits[side as usize] == NOTHING_AWAITED {
                f.awaits[side as usize] = threshold(written);
            }
            if f.hears == Hears::Transfers {
                f.coming.add(bytes, id.0, side.other());
            }
            let repairs_before = repairs(&**end, now);
            let key = (flow.0, side == Side::Destination);
            self.apps.awaited.entry(key).or_default().push_back(OpenTransfer {
                written,
                id,
                before: repairs_before,
            });
        }
        self.pump(flow, side);
    }

    /// The time that these bytes take from one side to the other if nothing else is on the way and no window holds them
    /// back. It is the sum of a round trip if the connection is not open yet, the delay, and the time on the slowest
    /// line.
    fn least(&self, flow: FlowId, side: Side, bytes: u64) -> Duration {
        let ways = self.net.ways[flow.0 as usize];
        let Carrier::Connection(ends) = &self.flows.all[flow.0 as usize].carrier else {
            return Duration::ZERO;
        };
        let paths = ways.map(|way| self.net.one_path(way));
        let ports = |way: usize| paths[way].iter().map(|p| &self.net.ports[*p as usize]);
        let delay = |way: usize| Duration(ports(way).map(|p| p.delay.0).sum());
        let end = &ends[side as usize];
        let slowest = ports(side as usize).map(|p| p.rate().bits_per_second());
        let slowest = slowest.fold(f64::INFINITY, f64::min);
        let opening = match end.progress() {
            Some(p) if p.opening => delay(0) + delay(1),
            _ => Duration::ZERO,
        };
        let line = Duration::from_seconds(end.wire_bytes(bytes) as f64 * 8.0 / slowest);
        opening + delay(side as usize) + line
    }

    pub(super) fn arrived(&mut self, id: TransferId, bytes: u64) -> Option<Transfer> {
        let row = &mut self.apps.transfers[id.0 as usize];
        row.deliver(bytes, self.now);
        if row.arrived < row.transfer.bytes || row.transfer.done.is_some() {
            return None;
        }
        row.transfer.done = Some(self.now);
        Some(row.transfer)
    }

    pub(super) fn begin_page(&mut self, app: u32, objects: u64, bytes: u64) -> PageId {
        let id = PageId(self.apps.pages.len() as u32);
        self.apps.pages.push(PageRow {
            member: self.apps.all[app as usize].own_flow.map_or(0, |f| f.0),
            page: Page {
                objects,
                bytes,
                asked: self.now,
                done: None,
            },
        });
        id
    }

    pub(super) fn end_page(&mut self, id: PageId) {
        self.apps.pages[id.0 as usize].page.done.get_or_insert(self.now);
    }

    /// A segment has reached an end that waits for the acknowledgement of transfers.
    #[cold]
    pub(super) fn look_for_acknowledged(&mut self, flow: FlowId, side: Side) {
        let key = (flow.0, side == Side::Destination);
        let Carrier::Connection(ends) = &self.flows.all[flow.0 as usize].carrier else {
            return;
        };
        let acknowledged = match ends[side as usize].progress() {
            Some(p) => p.acknowledged,
            None => {
                // An end that keeps no count reports when everything is acknowledged.
                let event = AppEvent::AllAcknowledged;
                let all = AppInput::Transport { flow, side, event };
                if self.apps.news.iter().any(|n| n.1 == all) {
                    u64::MAX
                } else {
                    0
                }
            }
        };
        let Some(waiting) = self.apps.awaited.get_mut(&key) else {
            return;
        };
        if waiting.front().is_some_and(|w| w.written > acknowledged) {
            return;
        }
        let so_far = repairs(&*ends[side as usize], self.now);
        while let Some(w) = waiting.front().copied()
            && w.written <= acknowledged
        {
            waiting.pop_front();
            let transfer = &mut self.apps.transfers[w.id.0 as usize].transfer;
            transfer.acked = Some(self.now);
            transfer.repairs = Repairs {
                timeouts: so_far.timeouts - w.before.timeouts,
                resent: so_far.resent - w.before.resent,
            };
        }
        let next_awaited = waiting.front().map_or(NOTHING_AWAITED, |w| threshold(w.written));
        if next_awaited == NOTHING_AWAITED {
            self.apps.awaited.remove(&key);
        }
        self.flows.all[flow.0 as usize].awaits[side as usize] = next_awaited;
    }

    /// A connection is over: bytes that are not acknowledged by now never will be.
    pub(super) fn forget_awaited(&mut self, flow: FlowId) {
        let awaits = std::mem::replace(&mut self.flows.all[flow.0 as usize].awaits, [NOTHING_AWAITED; 2]);
        for backward in [false, true] {
            if awaits[usize::from(backward)] != NOTHING_AWAITED {
                self.apps.awaited.remove(&(flow.0, backward));
            }
        }
    }
}
