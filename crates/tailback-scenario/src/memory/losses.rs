//! The most packets that may be lost or marked: the rows of the log of drops.
//!
//! The long-run losses of TCP follow from its window w in packets: 1.5 / w² for Reno (Mathis et al. 1997, "The
//! macroscopic behavior of the TCP congestion avoidance algorithm"), more for controls that recover faster, and 2 / w
//! marks for controls that respond to each mark. Datagrams lose the load that the line does not carry.

use super::lines::{Line, Lines, Use, buffer, struck};

/// Factor above Reno's law: for controls that grow faster, queues that are never full, and losses in bursts.
const MARGIN: f64 = 6.0;
/// The share of datagrams that an AQM or a full queue may drop although the line could carry them: on a line that is
/// nearly full, and on any other line.
const DATAGRAMS: (f64, f64) = (0.2, 0.05);
/// A group may get this many times its share of a line.
const SHARE: f64 = 3.0;

/// Rows of the log in the whole run, by group of flows and then by session.
pub fn rows(lines: &Lines) -> f64 {
    let mut rows = 0.0;
    for used in lines.flows.iter().chain(&lines.sessions) {
        let b = &used.brings;
        let share: f64 = used.way.iter().map(|p| struck(&lines.all[*p])[1]).sum();
        rows += share.min(1.0) * used.carried;
        let Some(l) = used
            .way
            .iter()
            .map(|p| &lines.all[*p])
            .min_by(|x, y| x.rate.total_cmp(&y.rate))
        else {
            continue;
        };
        rows += match b.connection {
            true => {
                let shares_port = |u: &&Use| u.way.iter().any(|p| used.way.contains(p));
                let flows: f64 = lines
                    .flows
                    .iter()
                    .chain(&lines.sessions)
                    .filter(shares_port)
                    .map(|u| u.brings.flows)
                    .sum();
                let share = (SHARE * b.flows / flows.max(1.0)).min(1.0);
                let controlled = share * used.carried * lost(used, l, flows);
                (controlled + 2.0 * used.outstanding + b.flows + b.flows * b.again).min(used.sent)
            }
            false => {
                let brought = b.packets.min(used.private * b.seconds / 8.0 / b.packet);
                let all: f64 = lines
                    .flows
                    .iter()
                    .filter(|u| !u.brings.connection)
                    .map(|u| u.brings.rate)
                    .sum();
                let windows = lines
                    .flows
                    .iter()
                    .any(|u| u.brings.connection && u.way.iter().any(|p| used.way.contains(p)));
                let over = if windows { 1.0 } else { (1.0 - l.rate / all).max(0.0) };
                let unlucky = if all > 0.9 * l.rate { DATAGRAMS.0 } else { DATAGRAMS.1 };
                brought * (over + unlucky).min(1.0)
            }
        };
    }
    rows
}

/// The share of its packets that a connection loses, or that are marked.
fn lost(used: &Use, l: &Line, flows: f64) -> f64 {
    let packet = used.brings.packet;
    let pipe = l.rate * used.round_trip / 8.0 / packet + 0.25 * buffer(l.spec, packet).min(l.waiting);
    let window = (pipe / flows.max(1.0)).clamp(2.0, used.brings.cap.max(2.0));
    let control = used.brings.control;
    if control.ignores_losses {
        return 0.5;
    }
    match (control.needs_marks, control.capable) {
        (true, _) => (8.0 / window).min(1.0),
        (false, true) => (2.0 * MARGIN * 1.5 / window.powi(2)).min(1.0),
        (false, false) => (MARGIN * 1.5 / window.powi(2)).min(0.6),
    }
}
