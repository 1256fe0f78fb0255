//! What the flows of a group send: transport, and the sizes of packets.
//!
//! What the engine could not run is refused here: bulk data over datagrams, which would know no rate; packets no longer
//! than their header; sources so fast that time would stand still between two packets.

use super::profiles::Profiles;
use crate::library::Library;
use crate::scenario::check::{Filled, Reader, join};
use crate::scenario::document::{Entry, Node, Tree};
use crate::scenario::error::{At, Problem};
use crate::traffic::bulk;
use crate::traffic::conflict::Conflict;
use crate::traffic::entry::{Facts, Output};
use crate::traffic::paced::RATE;
use crate::traffic::sizes::FIXED;
use tailback_base::model::{Raw, Settings};
use tailback_base::{BitRate, Duration};
use tailback_transport::{datagram, tcp};

/// What is known of a source.
fn facts(library: &Library, traffic: &Settings) -> Option<Facts> {
    library.source(traffic.model).ok().map(|e| e.facts)
}

/// Whether a source writes into a stream, whose transport decides when to send and how to cut it.
fn is_stream(library: &Library, traffic: &Settings) -> bool {
    facts(library, traffic).is_some_and(|f| f.output == Output::Stream)
}

/// Whether somebody listens to a source or watches it: it has packets of its own, and a deadline.
fn is_media(library: &Library, traffic: &Settings) -> bool {
    facts(library, traffic).is_some_and(|f| f.output.is_media())
}

/// The deadline of a group: for what arrives as it was sent, packet by packet or frame by frame.
pub fn deadline(
    r: &mut Reader,
    node: &Node,
    path: &str,
    filled: &Filled,
    [traffic, transport]: [Option<&Settings>; 2],
) -> Option<Duration> {
    if filled.settings.is_none("deadline") {
        return None;
    }
    let (traffic, transport) = (traffic?, transport?);
    let has_frames = facts(r.library, traffic).is_some_and(|f| f.output == Output::Media);
    if !has_frames && !r.library.transports.carries_datagrams(transport.model) {
        let (source, name) = (traffic.model.name, transport.model.name);
        let given = node.get("deadline").map(|e| &e.node);
        let problem = format!("{source} over {name} has neither datagrams nor frames that could be late");
        let remedy = "leave the deadline out; tables of flows and of transfers have delays and completion times";
        let at = given.map_or(node.at.clone(), |n| n.at.clone());
        let problem = Problem::new("conflict", at, &join(path, "deadline"), problem, remedy);
        r.complain(problem.value(given.map_or(String::new(), Node::show)));
    }
    Some(filled.settings.time("deadline"))
}

/// A conflict inside the settings of one model.
pub(super) fn inner_conflict(r: &mut Reader, at: At, path: &str, conflict: Conflict) {
    let path = join(path, conflict.param);
    let problem = Problem::new("conflict", at, &path, conflict.problem, conflict.remedy);
    r.complain(match conflict.value {
        Some(value) => problem.value(value),
        None => problem,
    });
}

/// `transport = ...`, or a table named after a transport, or what suits the traffic.
pub fn transport(
    r: &mut Reader,
    node: &Node,
    path: &str,
    names: &[&str],
    traffic: Option<&Settings>,
    profiles: &Profiles,
) -> Option<Settings> {
    let given = node.get("transport");
    let short: Vec<&Entry> = node
        .entries()
        .iter()
        .filter(|e| names.contains(&e.key.as_str()))
        .collect();
    if let [_, second, ..] = short[..] {
        let problem = format!("both \"{}\" and \"{}\" are given", short[0].key, second.key);
        r.complain(Problem::new(
            "conflict",
            second.key_at.clone(),
            &join(path, &second.key),
            problem,
            "keep the one transport these flows use",
        ));
        return None;
    }
    let mut settings = match (given, short.first()) {
        (given, Some(short)) => {
            // `transport = "tcp"` beside `tcp = { ... }` says the same thing twice, which is allowed.
            if let Some(g) = given.filter(|g| !matches!(&g.node.tree, Tree::Scalar(Raw::Text(t)) if *t == short.key)) {
                let problem = format!("\"{}\" and transport = {} are both given", short.key, g.node.show());
                let remedy = format!("keep one: transport = \"NAME\", or {} = {{ ... }}", short.key);
                r.complain(
                    Problem::new("conflict", g.node.at.clone(), &join(path, "transport"), problem, remedy)
                        .value(g.node.show()),
                );
                return None;
            }
            let model = r.library.catalogue.find("transport", &short.key)?;
            r.fill(&short.node, &join(path, &short.key), model, &[])?.settings
        }
        (Some(g), None) => r.model(&g.node, &join(path, "transport"), "transport")?.settings,
        (None, None) => {
            let streams = traffic.is_none_or(|t| is_stream(r.library, t));
            Settings::defaults(if streams { &tcp::MODEL } else { &datagram::MODEL })
        }
    };
    if let Some((problem, remedy)) = traffic.and_then(|t| misfit(r.library, t, &settings)) {
        let at = given.map(|g| &g.node).or(short.first().map(|s| &s.node));
        let at = at.map_or(node.at.clone(), |n| n.at.clone());
        let p = Problem::new("conflict", at, &join(path, "transport"), problem, remedy);
        r.complain(p.value(settings.model.name));
        return None;
    }
    let (table, key) = match (short.first(), given) {
        (Some(short), _) => (&short.node, short.key.as_str()),
        (None, Some(given)) => (&given.node, "transport"),
        (None, None) => (node, "transport"),
    };
    let key_path = join(path, "traffic");
    let path = join(path, key);
    if !profiles.lay_under(r, &mut settings, table, &path) {
        return None;
    }
    match r.library.transports.connection(&settings) {
        Err(e) => {
            r.complain(Problem::new("conflict", table.at.clone(), &path, e.problem, e.remedy));
            return None;
        }
        Ok(connection) if traffic.is_some_and(sends_back) && connection.as_ref().is_none_or(|c| !c.is_two_way()) => {
            let problem = "`back` has the destination send too, and this connection carries data one way";
            let remedy = "add tcp = { connection = \"two-way\" }, or leave out back";
            let at = node.get("traffic").map_or(table.at.clone(), |e| e.node.at.clone());
            r.complain(Problem::new("conflict", at, &key_path, problem, remedy));
            return None;
        }
        Ok(_) => {}
    }
    Some(settings)
}

/// Whether the destination is to send as well.
fn sends_back(traffic: &Settings) -> bool {
    std::ptr::eq(traffic.model, &bulk::MODEL) && bulk::back_after(traffic).is_some()
}

/// What traffic cannot be carried by a transport: problem and remedy.
fn misfit(library: &Library, traffic: &Settings, transport: &Settings) -> Option<(String, &'static str)> {
    let (source, name) = (traffic.model.name, transport.model.name);
    let facts = facts(library, traffic)?;
    if library.transports.carries_datagrams(transport.model) {
        return (facts.output == Output::Stream).then(|| {
            (
                format!("{source} traffic over udp would know no rate"),
                "give traffic = { kind = \"cbr\", rate = \"1Mbps\" }, or poisson or on-off; or use tcp",
            )
        });
    }
    if facts.own_address {
        return Some((
            format!("{source} changes addresses between packets, and a connection over {name} has one for its life"),
            "leave the transport out, or give transport = \"udp\"; for connections that come and go: \
             traffic = \"transfer\" with start = { kind = \"poisson\", ... }",
        ));
    }
    if facts.output == Output::Datagrams {
        return Some((
            format!("packets of {source} leave when they are made, and {name} would decide when to send them"),
            "leave the transport out, or give transport = \"udp\"; traffic = \"video\" can be written to a connection",
        ));
    }
    (facts.listens && !library.transports.repeats_losses(transport.model)).then(|| {
        (
            format!("{source} traffic waits until its data have arrived, and {name} does not repeat what is lost"),
            "use tcp, or traffic that goes on whatever arrives, such as bulk, cbr or on-off",
        )
    })
}

/// `sizes`, or `packet_size` for short.
pub fn sizes(
    r: &mut Reader,
    node: &Node,
    path: &str,
    filled: Option<&Filled>,
    traffic: Option<&Settings>,
    transport: Option<&Settings>,
) -> Option<Settings> {
    let (short, long) = (node.get("packet_size"), node.get("sizes"));
    if let (Some(short), Some(_)) = (short, long) {
        let problem = "both packet_size and sizes are given";
        r.complain(
            Problem::new(
                "conflict",
                short.node.at.clone(),
                &join(path, "packet_size"),
                problem,
                "keep one of the two",
            )
            .value(short.node.show()),
        );
        return None;
    }
    let given = short.or(long);
    let streams = traffic.is_some_and(|t| is_stream(r.library, t));
    if let (Some(g), true, Some(model)) = (given, streams, transport.map(|t| t.model))
        && !r.library.transports.carries_datagrams(model)
    {
        let name = model.name;
        let problem = format!("\"{}\" does nothing here: {name} cuts its data itself", g.key);
        r.complain(
            Problem::new(
                "conflict",
                g.node.at.clone(),
                &join(path, &g.key),
                problem,
                format!("leave it out, or set the size of packets among the parameters of {name}"),
            )
            .value(g.node.show()),
        );
        return None;
    }
    if let (Some(g), Some(t)) = (given, traffic.filter(|t| is_media(r.library, t))) {
        let problem = format!(
            "\"{}\" does nothing here: {} has packets of its own",
            g.key, t.model.name
        );
        let remedy = "leave it out, or give payload and headers in the table of the traffic";
        let at = g.node.at.clone();
        r.complain(Problem::new("conflict", at, &join(path, &g.key), problem, remedy).value(g.node.show()));
        return None;
    }
    if let Some(short) = short {
        let filled = filled?;
        let mut settings = Settings::defaults(FIXED.model);
        let bytes = Raw::Text(format!("{}B", filled.settings.count("packet_size")));
        if let Err(e) = settings.set("bytes", &bytes) {
            r.complain(Problem::new(
                "value",
                short.node.at.clone(),
                &join(path, "packet_size"),
                e.problem,
                e.remedy,
            ));
            return None;
        }
        return Some(settings);
    }
    let Some(long) = long else {
        return Some(Settings::defaults(FIXED.model));
    };
    let filled = r.model(&long.node, &join(path, "sizes"), "sizes")?;
    if let Err(conflict) = (r.library.sizes(filled.settings.model).ok()?.check)(&filled.settings) {
        inner_conflict(r, long.node.at.clone(), &filled.path, conflict);
        return None;
    }
    Some(filled.settings)
}

/// Sizes must leave room for a header, and rates must leave a nanosecond between packets, or the gap rounds to 0 ns.
pub fn packets(r: &mut Reader, node: &Node, path: &str, traffic: &Settings, transport: &Settings, sizes: &Settings) {
    let Ok(drawn) = r.library.sizes(sizes.model) else {
        return;
    };
    if is_media(r.library, traffic) {
        return packets_of_media(r, node, path, traffic, transport);
    }
    let smallest = u64::from((drawn.build)(sizes).smallest());
    let header = if r.library.transports.carries_datagrams(transport.model) {
        transport.count("header")
    } else {
        0
    };
    if smallest <= header {
        let at = node
            .get("packet_size")
            .or(node.get("sizes"))
            .map_or(node.at.clone(), |e| e.node.at.clone());
        let problem = format!("a packet of {smallest}B is no more than its header of {header}B");
        r.complain(
            Problem::new(
                "conflict",
                at,
                &join(path, "sizes"),
                problem,
                "give larger packets or a smaller header",
            )
            .value(format!("{smallest}B")),
        );
    }
    let Ok(source) = r.library.source(traffic.model) else {
        return;
    };
    if let Err(conflict) = (source.check)(traffic) {
        let at = node.get("traffic").map_or(node.at.clone(), |e| e.node.at.clone());
        inner_conflict(r, at, &join(path, "traffic"), conflict);
    }
    if source.facts.output != Output::Packets || traffic.model.param("rate").is_none_or(|p| p.kind != RATE) {
        return;
    }
    let Some(fastest) = traffic.rates("rate").into_iter().max() else {
        return;
    };
    if u128::from(smallest) * 8_000_000_000 < u128::from(fastest.0) {
        let at = node.get("traffic").map_or(node.at.clone(), |e| e.node.at.clone());
        let problem = format!("packets of {smallest}B at {fastest} follow each other within less than a nanosecond");
        let remedy = format!(
            "give a rate of at most {}, or larger packets",
            BitRate(smallest * 8_000_000_000)
        );
        r.complain(Problem::new("limit", at, &join(path, "traffic.rate"), problem, remedy).value(fastest.to_string()));
    }
}

/// A source with packets of its own has headers of its own too, and values that may not fit together.
fn packets_of_media(r: &mut Reader, node: &Node, path: &str, traffic: &Settings, transport: &Settings) {
    let at = |key: &str| node.get(key).map_or(node.at.clone(), |e| e.node.at.clone());
    if let Ok(source) = r.library.source(traffic.model)
        && let Err(conflict) = (source.check)(traffic)
    {
        inner_conflict(r, at("traffic"), &join(path, "traffic"), conflict);
    }
    let (name, header) = (transport.model.name, "header");
    if transport.model.param(header).is_some() && transport.is_given(header) {
        let problem = format!(
            "the header of {name} does nothing here: {} has headers of its own",
            traffic.model.name
        );
        let remedy = "leave it out, or give headers in the table of the traffic";
        r.complain(Problem::new(
            "conflict",
            at(name),
            &join(path, "udp.header"),
            problem,
            remedy,
        ));
    }
}
