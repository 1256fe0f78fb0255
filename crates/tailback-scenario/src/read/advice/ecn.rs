//! Warnings about a congestion control and a use of ECN that do not go together: a control that needs marks and gets no
//! marks, or one that ignores marks and gets marks instead of drops. A warning for each control names all groups
//! concerned.

use crate::check::{Reader, join};
use crate::document::Node;
use crate::error::At;
use crate::read::names::place;
use tailback_base::Param;
use tailback_sim::declare::tables::top;
use tailback_sim::spec::{GroupSpec, SessionSpec};
use tailback_transport::tcp::MODEL;
use tailback_transport::tcp::config::Misfit;
use tailback_transport::tcp::params::ECN;

/// The groups of one control with one kind of misfit.
struct Concerned {
    control: &'static str,
    misfit: Misfit,
    at: At,
    /// The names of the groups, as in `flows.web`.
    groups: Vec<String>,
}

/// Warn of all groups and sessions.
pub fn warn(r: &mut Reader, root: &Node, groups: &[GroupSpec], sessions: &[SessionSpec]) {
    let of_groups = groups.iter().map(|g| (&top::FLOWS, &g.name, &g.transport));
    let of_sessions = sessions.iter().map(|s| (&top::SESSIONS, &s.name, &s.transport));
    let mut all: Vec<Concerned> = Vec::new();
    for (table, name, transport) in of_groups.chain(of_sessions) {
        let Some(config) = r.library.transports.tcp(transport) else {
            continue;
        };
        let Some(misfit) = config.misfit() else { continue };
        let (control, group) = (config.controller.model.name, join(table.name, name));
        match all.iter_mut().find(|c| (c.control, c.misfit) == (control, misfit)) {
            Some(concerned) => concerned.groups.push(group),
            None => all.push(Concerned {
                control,
                misfit,
                at: at(root, table, name),
                groups: vec![group],
            }),
        }
    }
    for c in all {
        r.warn(c.at, c.groups.join(", "), of_flows(c.control, c.misfit));
    }
}

/// The place of a group's use of ECN, or of the innermost table around it that was given.
fn at(root: &Node, table: &Param, name: &str) -> At {
    let group = root.given(table).and_then(|t| t.get(name));
    group.map_or(At::Nowhere, |e| place(&e.node, &[MODEL.name, ECN.name]))
}

fn of_flows(control: &str, misfit: Misfit) -> String {
    let ecn = ECN.name;
    match misfit {
        Misfit::NeedsMarks => format!(
            "{control} needs marks, but with {ecn} = \"off\" it gets no marks, so that only losses slow it; leave out \
             {ecn}, or give {ecn} = \"on\""
        ),
        Misfit::IgnoresMarks => format!(
            "{control} ignores marks, and with ECN its packets are marked instead of dropped: it takes the line from \
             all others; leave out {ecn}, or give {ecn} = \"off\""
        ),
    }
}

/// The warning about a control that takes over open connections.
pub fn of_change(control: &str, misfit: Misfit) -> String {
    match misfit {
        Misfit::NeedsMarks => {
            format!("{control} needs marks, but these flows were opened without ECN: only losses will slow it")
        }
        Misfit::IgnoresMarks => format!(
            "{control} ignores marks, and these flows were opened with ECN: their packets are marked instead of \
             dropped; give the flows {} = \"off\"",
            ECN.name
        ),
    }
}
