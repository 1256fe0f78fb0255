//! What a scenario says without being wrong, and its author hardly means: a source that waits for a signal no queue on
//! its way gives; flows that a queue which shares between conversations takes for one; a rule about a buffer that never
//! fills; a setpoint above the window.

use crate::library::Library;
use crate::spec::{GroupSpec, LinkSpec};
use tailback_base::model::Settings;
use tailback_base::{Kind, Size};
use tailback_queue::entry::{Queues, Unlimited};
use tailback_queue::registry::facts;

use super::routes::Hop;

fn marks(queue: &Settings) -> bool {
    facts(queue.model.name).is_some_and(|f| f.marks(queue))
}

/// A warning about flows of this transport over these hops.
pub fn about(transport: &Settings, hops: &[Hop], links: &[LinkSpec]) -> Option<String> {
    let way = || {
        hops.iter().map(|h| {
            let l = &links[h.link];
            if h.reverse { &l.reverse } else { &l.forward }
        })
    };
    match transport.model.name {
        "decbit" if !way().any(|d| marks(&d.queue)) => Some(
            "decbit never sees a congestion bit: no queue on the way sets one; use decsel or fqbit, or a queue with ecn"
                .into(),
        ),
        "packet-pair" => {
            let slowest = way().min_by_key(|d| d.rate)?;
            let one = facts(slowest.queue.model.name).is_some_and(|f| f.queues == Queues::One);
            one.then(|| {
                format!(
                    "packet-pair reads its share from the gaps a fair queue makes, and the slowest line has {}: it will \
                     take the rate of the line for its own; use fq",
                    slowest.queue.model.name
                )
            })
        }
        _ => None,
    }
}

/// A warning about a packet-pair source that can never reach its setpoint. Not an error: a study has one on purpose.
pub fn out_of_reach(transport: &Settings) -> Option<String> {
    if transport.model.name != "packet-pair" {
        return None;
    }
    let (setpoint, wmax) = (transport.real("setpoint"), transport.count("wmax"));
    (setpoint > wmax as f64).then(|| {
        format!(
            "packet-pair is to keep setpoint = {setpoint} packets at the bottleneck, and wmax = {wmax} is all it may have \
             outstanding: the window decides, not the rate; lower setpoint or raise wmax"
        )
    })
}

/// A warning about the queue of a port that data cross: an unlimited buffer leaves its discipline nothing to do. Not an
/// error, since a sweep may end at an unlimited buffer, and ports that only ACKs cross are built so on purpose.
pub fn endless(queue: &Settings) -> Option<String> {
    let name = queue.model.name;
    let Unlimited { leaves, why, unless } = facts(name)?.unlimited?;
    if queue.size("buffer") != Size::Unlimited || unless.is_some_and(|other| !queue.is_none(other)) {
        return None;
    }
    Some(format!(
        "{name} {why}: it is plain {leaves} here; give it a buffer, such as \
         buffer = \"{}\", or say {leaves}",
        queue.model.param("buffer").map_or("100 packets", |p| p.default)
    ))
}

/// The thresholds of a queue that its buffer never lets the backlog reach, with a warning each. Not an error: some studies
/// switch a rule off in this way.
pub fn above_the_buffer(queue: &Settings) -> Vec<(&'static str, String)> {
    let Some(buffer) = queue.model.param("buffer").map(|p| queue.size(p.name)) else {
        return vec![];
    };
    let most = match buffer {
        Size::Packets(n) | Size::Bytes(n) => n as f64,
        Size::Unlimited => return vec![],
    };
    let levels = queue.model.params.iter().filter(|p| p.kind == Kind::Level);
    let above = levels.filter(|p| queue.is_given(p.name) && !queue.is_none(p.name));
    let above = above.filter(|p| queue.level(p.name).resolve(buffer).is_some_and(|level| level > most));
    above
        .map(|p| {
            let level = queue.level(p.name);
            let text = format!(
                "{} = \"{level}\" is above buffer = \"{buffer}\" and never reached; lower it, or give a larger buffer",
                p.name
            );
            (p.name, text)
        })
        .collect()
}

/// A warning about a buffer, in bytes, that holds no packet of these flows.
pub fn too_small(library: &Library, queue: &Settings, flows: &GroupSpec) -> Option<String> {
    let Size::Bytes(buffer) = queue.model.param("buffer").map(|p| queue.size(p.name))? else {
        return None;
    };
    let params = flows.transport.model;
    let packet = match (params.param("payload"), params.param("packet")) {
        (Some(_), _) => flows.transport.count("payload") + flows.transport.count("header"),
        (None, Some(_)) => flows.transport.count("packet"),
        (None, None) => {
            let sizes = library.sizes(flows.sizes.model).ok()?;
            u64::from((sizes.build)(&flows.sizes).smallest())
        }
    };
    (packet > buffer).then(|| {
        format!(
            "buffer = \"{buffer}B\" holds no packet of flows.{}, which have {packet}B: all that must wait are dropped; give \
             at least one packet, such as buffer = \"{}B\"",
            flows.name,
            20 * packet
        )
    })
}

/// A warning about several flows that are one conversation to a queue on the way. `hosts` says whether each flow has a
/// source host and a destination host of its own.
pub fn one_conversation(hosts: (bool, bool), hops: &[Hop], links: &[LinkSpec]) -> Option<String> {
    hops.iter().find_map(|h| {
        let l = &links[h.link];
        let queue = if h.reverse { &l.reverse.queue } else { &l.forward.queue };
        queue.model.param("conversation")?;
        let conversation = queue.text("conversation");
        let apart = match conversation {
            "source" => hosts.0,
            "destination" => hosts.1,
            "pair" => hosts.0 || hosts.1,
            _ => true,
        };
        (!apart).then(|| {
            format!(
                "link {} has {}, which shares between conversations ({conversation}), and to it these flows are one, for \
                 they have the same hosts; give them hosts of their own (access_rate), or the queue conversation = \
                 \"tuple\"",
                l.name, queue.model.name
            )
        })
    })
}
