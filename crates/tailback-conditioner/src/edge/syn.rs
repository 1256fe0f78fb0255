//! SYN: protects packets that open a connection, because their sender has no measured round-trip time yet and would
//! wait long after a loss.
//!
//! The plain form examines only the SYN flag and has no state. With `first`, this number of data segments is protected
//! too, counted from the initial sequence number, which is stored for each flow ([`FlowTable`]). If the edge has not
//! seen a flow's SYN, the data of the flow is not protected. If a SYN finds the table full, only the SYN is protected.
//!
//! From: Habib, Fahmy and Bhargava, Purdue CSD TR 00-015, 2000.

use super::counts::Remembers;
use super::flow_table::{FlowTable, TableBounds};
use tailback_base::{FlowId, Time};

/// The first sequence number of a flow.
struct Start {
    first_byte: u64,
    mss: u32,
}

/// The stage, with its parameters and state.
pub struct Syn {
    /// The number of protected data segments after the SYN.
    first: u64,
    flows: FlowTable<Start>,
}

impl Syn {
    pub fn new(first: u64, memory: TableBounds) -> Syn {
        Syn {
            first,
            flows: FlowTable::new(memory),
        }
    }

    /// Whether a packet that ends before byte `end` and has this payload is protected: it is a SYN, or one of the first
    /// data segments.
    pub fn protects(&mut self, flow: FlowId, syn: bool, end: u64, payload: u32, now: Time) -> bool {
        if self.first == 0 {
            return syn;
        }
        if syn {
            let new = || Start {
                first_byte: end,
                mss: 0,
            };
            if let Some(start) = self.flows.entry(flow, now, new) {
                start.first_byte = end;
            }
            return true;
        }
        let Some(start) = self.flows.known(flow, now) else {
            return false;
        };
        start.mss = start.mss.max(payload);
        end.saturating_sub(start.first_byte) <= self.first * u64::from(start.mss)
    }

    /// Whether this stage stores flows.
    pub fn needs_flows(&self) -> bool {
        self.first > 0
    }

    /// The table of flows of this stage.
    pub fn memory(&self) -> &impl Remembers {
        &self.flows
    }

    pub fn clear(&mut self) {
        self.flows.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_base::Duration;

    const F: FlowId = FlowId(0);
    const MEMORY: TableBounds = TableBounds {
        timeout: Duration(5_000_000_000),
        limit: 1,
    };

    #[test]
    fn the_plain_form_remembers_nothing() {
        let mut s = Syn::new(0, MEMORY);
        assert!(s.protects(F, true, 1, 0, Time(0)));
        assert!(!s.protects(F, false, 1001, 1000, Time(0)));
        assert_eq!(s.memory().held().most, 0);
    }

    #[test]
    fn the_first_segments_are_protected_each_time_they_are_sent() {
        let mut s = Syn::new(3, MEMORY);
        assert!(s.protects(F, true, 501, 0, Time(0)));
        let verdicts: Vec<_> = [1501, 2501, 3501, 4501, 2501]
            .map(|end| s.protects(F, false, end, 1000, Time(0)))
            .into();
        assert_eq!(verdicts, [true, true, true, false, true]);
        let other_flow = FlowId(1);
        assert!(s.protects(other_flow, true, 1, 0, Time(0)), "no room, but a SYN it is");
        assert!(!s.protects(other_flow, false, 1001, 1000, Time(0)));
        assert_eq!(s.memory().held().refused, 1);
    }
}
