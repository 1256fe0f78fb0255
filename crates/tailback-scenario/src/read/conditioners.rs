//! The keys `conditioner` of links and flows.

use crate::check::{Reader, refused};
use crate::document::Node;
use tailback_base::model::Settings;
use tailback_base::quantity::Refusal;
use tailback_base::{BitRate, Stream};
use tailback_conditioner::{BuildContext, EdgeId, Stands};

/// The part before which a conditioner is placed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Before {
    Link(BitRate),
    /// The access link of a host.
    Host,
}

/// Read a conditioner, and build it once, because its builder finds the settings that contradict each other.
pub fn conditioner(r: &mut Reader, node: &Node, path: &str, before: Before) -> Option<Settings> {
    let filled = r.model(node, path, "conditioner")?;
    let library = r.library;
    let entry = match library.conditioner(filled.settings.model) {
        Ok(e) => e,
        Err(e) => {
            r.complain(refused(&filled, e));
            return None;
        }
    };
    if entry.facts.stands == Stands::InHosts && before != Before::Host {
        let name = entry.model.name;
        let e = Refusal::new(
            format!("{name} uses the state of senders on its host, which a router does not have"),
            "give it to [flows.NAME] instead of a link",
        );
        r.complain(refused(&filled, e));
        return None;
    }
    let context = BuildContext {
        stream: Stream::new(0, "check"),
        rate: match before {
            Before::Link(rate) => rate,
            Before::Host => BitRate(1),
        },
        edge: EdgeId(0),
        edge_count: 0,
        // The other edges may not have been read yet; a name that no edge has is found when the network is built.
        edges: &|_| Ok(EdgeId(0)),
        meters: &library.meters,
    };
    match entry.build(&filled.settings, context) {
        Ok(_) => Some(filled.settings),
        Err(e) => {
            r.complain(refused(&filled, e));
            None
        }
    }
}
