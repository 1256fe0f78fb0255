//! Spacing of marks: two packets of a flow do not get a high drop precedence within `gap` packets.
//!
//! Consecutive losses cause a timeout of TCP, while a loss that is followed by enough packets is repaired by a fast
//! retransmit. A mark that would come too early is postponed: the packet stays green, and a later packet of the flow is
//! marked instead.
//!
//! ```text
//! asked for a mark, fewer than gap packets since the last   green; the debt of that colour grows by one, to max_debt
//! asked for green, at least gap packets since, some debt    a mark of the debt, red before yellow
//! else                                                      as asked
//! ```
//!
//! From: Habib, Fahmy and Bhargava, Purdue CSD TR 00-015, 2000, which only states the aim. The algorithm is our choice;
//! its idea is that of the TCP-friendly marker that the report cites (Feroz et al., 2000).
//!
//! The share of marks of a flow is preserved if it is clearly less than 1/(gap + 1). If it is larger, the debt is
//! always full, and the share is limited to this value. With `cap = false` a packet that finds the debt of its colour
//! full keeps its mark.
//!
//! State: for each flow the packets since its last mark and two debts ([`FlowTable`]). If the table is full, packets
//! keep their colour and count as *not applicable*. Cost of a packet: a search in the table.

use super::counts::Remembers;
use super::flow_table::{FlowTable, TableBounds};
use tailback_base::{Colour, FlowId, Time};

/// The entry of a flow.
struct FlowSpacing {
    /// The number of packets since the last mark.
    since: u64,
    /// The numbers of postponed marks, yellow and red.
    debt: [u64; 2],
}

/// The stage, with its parameters and state.
pub struct Spacing {
    gap: u64,
    max_debt: u64,
    cap: bool,
    flows: FlowTable<FlowSpacing>,
}

impl Spacing {
    pub fn new(gap: u64, max_debt: u64, cap: bool, memory: TableBounds) -> Spacing {
        Spacing {
            gap,
            max_debt,
            cap,
            flows: FlowTable::new(memory),
        }
    }

    fn marks(&mut self, flow: FlowId, now: Time) -> Option<&mut FlowSpacing> {
        self.flows.entry(flow, now, || FlowSpacing {
            since: u64::MAX,
            debt: [0; 2],
        })
    }

    /// The final colour of a packet that has the colour `asked` so far; `None` if the stage is not applicable.
    pub fn space(&mut self, flow: FlowId, asked: Colour, now: Time) -> Option<Colour> {
        let (gap, max_debt, cap) = (self.gap, self.max_debt, self.cap);
        let marks = self.marks(flow, now)?;
        let debt_of = |c: Colour| usize::from(c == Colour::Red);
        let early = marks.since < gap;
        let colour = if asked != Colour::Green && early {
            let debt = &mut marks.debt[debt_of(asked)];
            let full = *debt >= max_debt;
            *debt = (*debt + 1).min(max_debt);
            if full && !cap { asked } else { Colour::Green }
        } else if asked == Colour::Green && !early {
            let owed = [Colour::Red, Colour::Yellow]
                .into_iter()
                .find(|c| marks.debt[debt_of(*c)] > 0);
            if let Some(owed) = owed {
                marks.debt[debt_of(owed)] -= 1;
            }
            owed.unwrap_or(Colour::Green)
        } else {
            asked
        };
        marks.since = match colour {
            Colour::Green => marks.since.saturating_add(1),
            _ => 0,
        };
        Some(colour)
    }

    /// A packet passes that another stage protects. It counts as a packet between marks, but no postponed mark is put
    /// on it.
    pub fn protected(&mut self, flow: FlowId, now: Time) {
        if let Some(m) = self.marks(flow, now) {
            m.since = m.since.saturating_add(1);
        }
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
    use tailback_base::{Duration, Stream};

    const F: FlowId = FlowId(0);
    const MEMORY: TableBounds = TableBounds {
        timeout: Duration(5_000_000_000),
        limit: 100,
    };
    use Colour::{Green, Red, Yellow};

    fn colours(s: &mut Spacing, asked: &[Colour]) -> Vec<Colour> {
        asked.iter().map(|c| s.space(F, *c, Time(0)).unwrap()).collect()
    }

    #[test]
    fn marks_in_a_row_are_put_off() {
        let mut s = Spacing::new(3, 4, true, MEMORY);
        // The first mark passes. Postponed red marks are set before yellow ones.
        let asked_colours = [
            Yellow, Yellow, Red, Green, Green, Green, Green, Green, Green, Green, Green,
        ];
        let got = [
            Yellow, Green, Green, Green, Red, Green, Green, Green, Yellow, Green, Green,
        ];
        assert_eq!(colours(&mut s, &asked_colours), got);
    }

    #[test]
    fn protected_packets_count_between_marks_and_pay_nothing() {
        let mut s = Spacing::new(3, 4, true, MEMORY);
        assert_eq!(colours(&mut s, &[Red, Red]), [Red, Green]);
        for _ in 0..5 {
            s.protected(F, Time(0));
        }
        assert_eq!(
            colours(&mut s, &[Green, Green]),
            [Red, Green],
            "the debt is still there"
        );
    }

    #[test]
    fn without_the_cap_a_full_debt_lets_marks_through() {
        let mut s = Spacing::new(3, 1, false, MEMORY);
        assert_eq!(colours(&mut s, &[Red, Red, Red, Green]), [Red, Green, Red, Green]);
        let mut s = Spacing::new(3, 1, true, MEMORY);
        assert_eq!(colours(&mut s, &[Red, Red, Red, Green]), [Red, Green, Green, Green]);
    }

    /// The percentage of marked packets, if marks for this share of the packets are requested at random.
    fn share(asked: f64, of: &[Colour], cap: bool) -> f64 {
        let mut s = Spacing::new(3, 4, cap, MEMORY);
        let mut rng = Stream::new(7, "spacing");
        let n = 1_000_000;
        let marked = (0..n).filter(|_| {
            let colour = match rng.chance(asked) {
                true => of[rng.below(of.len() as u64) as usize],
                false => Green,
            };
            s.space(F, colour, Time(0)) != Some(Green)
        });
        100.0 * marked.count() as f64 / f64::from(n)
    }

    /// A share well below one in four is preserved, and a larger share is limited to one in four.
    #[test]
    fn the_share_of_marks_is_kept_or_capped() {
        let both = [(0.1, 10.0), (0.2, 19.8), (0.3, 24.7), (0.6, 25.0)];
        for (asked, got) in both {
            let share = share(asked, &[Yellow, Red], true);
            assert!((share - got).abs() < 0.1, "{asked}: {share}");
        }
        let one = [(0.1, 10.0), (0.2, 19.6), (0.3, 24.5), (0.6, 25.0)];
        for (asked, got) in one {
            let share = share(asked, &[Red], true);
            assert!((share - got).abs() < 0.1, "{asked}: {share}");
        }
        for asked in [0.1, 0.3, 0.6] {
            let share = share(asked, &[Yellow, Red], false);
            assert!((share - 100.0 * asked).abs() < 0.2, "{asked}: {share}");
        }
    }
}
