//! Warnings about flows: about a source that waits for a signal that no queue on its way gives, about several flows
//! that a queue with a share for each conversation takes for one, and about a setpoint above the window.

use crate::read::marking;
use crate::read::routes::Hop;
use tailback_base::KeyField;
use tailback_base::model::{Choice, Settings};
use tailback_queue::entry::Queues;
use tailback_queue::pieces::classify::conversations::CONVERSATION;
use tailback_queue::registry::facts;
use tailback_queue::shaped;
use tailback_sim::spec::LinkSpec;
use tailback_transport::keshav::params::{SETPOINT, WMAX};

/// A warning about flows of this transport over these hops, in a network that marks packets or does not.
pub fn about(transport: &Settings, hops: &[Hop], links: &[LinkSpec], network_marks: bool) -> Option<String> {
    let way = || {
        hops.iter().map(|h| {
            let l = &links[h.link];
            if h.reverse { &l.reverse } else { &l.forward }
        })
    };
    match transport.model.name {
        "decbit" if !marking::on_the_way(hops, links, network_marks) => Some(
            "decbit never sees a congestion bit: no queue on the way sets one; use decsel or fqbit, or a queue with ecn"
                .into(),
        ),
        "packet-pair" => {
            let slowest = way().min_by_key(|d| shaped::rate(&d.queue, d.rate))?;
            let queue = shaped::innermost(&slowest.queue);
            let has_one_queue = facts(queue.model.name).is_some_and(|f| f.queues == Queues::One);
            has_one_queue.then(|| {
                format!(
                    "packet-pair computes its share from the gaps that a fair queue makes, but the slowest line has \
                     {}: the source will use the whole rate of the line; use fq",
                    queue.model.name
                )
            })
        }
        _ => None,
    }
}

/// A warning about a packet-pair source that can never reach its setpoint. This is not an error, because a study has
/// such a source on purpose.
pub fn out_of_reach(transport: &Settings) -> Option<String> {
    if transport.model.name != "packet-pair" {
        return None;
    }
    let (setpoint, wmax) = (transport.get(&SETPOINT), transport.get(&WMAX));
    (setpoint > f64::from(wmax)).then(|| {
        format!(
            "packet-pair is to keep setpoint = {setpoint} packets at the bottleneck, but may have only wmax = {wmax} \
             outstanding: the window limits it, not the rate; lower setpoint or raise wmax"
        )
    })
}

/// A warning about several flows that are one conversation to a queue on the way. `hosts` says whether each flow has a
/// source host and a destination host of its own.
pub fn one_conversation(hosts: (bool, bool), hops: &[Hop], links: &[LinkSpec]) -> Option<String> {
    hops.iter().find_map(|h| {
        let link = &links[h.link];
        let queue = shaped::innermost(if h.reverse {
            &link.reverse.queue
        } else {
            &link.forward.queue
        });
        let conversation = queue.find_key(&CONVERSATION)?;
        let hosts_apart = match conversation {
            KeyField::Source => hosts.0,
            KeyField::Destination => hosts.1,
            KeyField::Pair => hosts.0 || hosts.1,
            _ => true,
        };
        (!hosts_apart).then(|| {
            format!(
                "link {} has {}, which shares the line between conversations ({}), but these flows are one \
                 conversation, because they have the same hosts; give them hosts of their own (access_rate), or the \
                 queue conversation = \"tuple\"",
                link.name,
                queue.model.name,
                conversation.word()
            )
        })
    })
}
