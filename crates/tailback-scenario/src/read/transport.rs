//! Reads the transport of a group's flows, and the sizes of their packets.
//!
//! Combinations that the engine could not run are refused here: bulk data over datagrams, which would have no rate;
//! packets that are no longer than their header; sources so fast that no time would pass between two packets.

use super::profiles::Profiles;
use crate::check::{Filled, Reader, join};
use crate::document::{Entry, Node, Tree};
use crate::error::{At, Problem};
use tailback_base::model::{Param, Raw, Settings};
use tailback_base::{BitRate, Duration};
use tailback_sim::declare::tables::flows;
use tailback_sim::library::Library;
use tailback_sim::traffic::bulk;
use tailback_sim::traffic::conflict::Conflict;
use tailback_sim::traffic::entry::{Facts, Output};
use tailback_sim::traffic::paced::RATE;
use tailback_sim::traffic::packet_sizes::{self, FIXED};
use tailback_transport::{datagram, tcp};

/// The facts about a source.
fn facts(library: &Library, traffic: &Settings) -> Option<Facts> {
    library.source(traffic.model).ok().map(|e| e.facts)
}

/// Whether a source writes into a stream, whose transport decides when to send the data and how to segment them.
fn is_stream(library: &Library, traffic: &Settings) -> bool {
    facts(library, traffic).is_some_and(|f| f.output == Output::Stream)
}

/// Whether a source has a listener or a viewer: it has packets of its own, and a deadline.
fn is_media(library: &Library, traffic: &Settings) -> bool {
    facts(library, traffic).is_some_and(|f| f.output.is_media())
}

/// Whether data arrive in the units in which they were sent: datagrams, or frames.
pub fn frames_or_datagrams(library: &Library, traffic: &Settings, transport: &Settings) -> bool {
    let output = facts(library, traffic).map(|f| f.output);
    output == Some(Output::Media)
        || (output == Some(Output::Datagrams) && library.transports.adapts(transport.model))
        || library.transports.carries_datagrams(transport.model)
}

/// The deadline of a group whose data arrive in the units in which they were sent, packet by packet or frame by frame.
pub fn deadline(r: &mut Reader, filled: &Filled, [traffic, transport]: [Option<&Settings>; 2]) -> Option<Duration> {
    let deadline = filled.settings.get(&flows::DEADLINE)?;
    let (traffic, transport) = (traffic?, transport?);
    if !frames_or_datagrams(r.library, traffic, transport) {
        let (source, name) = (traffic.model.name, transport.model.name);
        let node = filled.node.given(&flows::DEADLINE);
        let problem = format!("{source} over {name} has neither datagrams nor frames that could be late");
        let remedy = "leave the deadline out; tables of flows and of transfers have delays and completion times";
        let problem = filled.problem("conflict", &flows::DEADLINE, problem, remedy);
        r.complain(problem.value(node.map_or(String::new(), Node::show)));
    }
    Some(deadline)
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

/// `transport = ...`, or a table named after a transport, or else a transport that suits the traffic.
pub fn transport(
    r: &mut Reader,
    node: &Node,
    path: &str,
    names: &[&str],
    traffic: Option<&Settings>,
    profiles: &Profiles,
) -> Option<Settings> {
    let transport_node = node.given(&flows::TRANSPORT);
    let own_path = join(path, flows::TRANSPORT.name);
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
    let mut settings = match (transport_node, short.first()) {
        (transport_node, Some(short)) => {
            // `transport = "tcp"` beside `tcp = { ... }` says the same thing twice, which is allowed.
            if let Some(g) =
                transport_node.filter(|g| !matches!(&g.tree, Tree::Scalar(Raw::Text(t)) if *t == short.key))
            {
                let problem = format!("\"{}\" and transport = {} are both given", short.key, g.show());
                let remedy = format!("keep one: transport = \"NAME\", or {} = {{ ... }}", short.key);
                r.complain(Problem::new("conflict", g.at.clone(), &own_path, problem, remedy).value(g.show()));
                return None;
            }
            let model = r.library.catalogue.find("transport", &short.key)?;
            r.fill(&short.node, &join(path, &short.key), model, &[])?.settings
        }
        (Some(g), None) => r.model(g, &own_path, "transport")?.settings,
        (None, None) => {
            let streams = traffic.is_none_or(|t| is_stream(r.library, t));
            Settings::defaults(if streams { &tcp::MODEL } else { &datagram::MODEL })
        }
    };
    if let Some((problem, remedy)) = traffic.and_then(|t| misfit(r.library, t, &settings)) {
        let place = transport_node
            .or(short.first().map(|s| &s.node))
            .unwrap_or(node)
            .at
            .clone();
        let p = Problem::new("conflict", place, &own_path, problem, remedy);
        r.complain(p.value(settings.model.name));
        return None;
    }
    let (table, key) = match (short.first(), transport_node) {
        (Some(short), _) => (&short.node, short.key.as_str()),
        (None, transport_node) => (transport_node.unwrap_or(node), flows::TRANSPORT.name),
    };
    let key_path = join(path, flows::TRAFFIC.name);
    let path = join(path, key);
    if !profiles.lay_under(r, &mut settings, table, &path) {
        return None;
    }
    if std::ptr::eq(settings.model, &datagram::MODEL) {
        answers(r, table, &path, &settings);
    }
    match r.library.transports.connection(&settings) {
        Err(e) => {
            r.complain(Problem::new("conflict", table.at.clone(), &path, e.problem, e.remedy));
            return None;
        }
        Ok(connection) if traffic.is_some_and(sends_back) && connection.as_ref().is_none_or(|c| !c.is_two_way()) => {
            let problem = "with `back` the destination sends too, but this connection carries data one way";
            let remedy = "add tcp = { connection = \"two-way\" }, or leave out back";
            let at = node.given(&flows::TRAFFIC).unwrap_or(table).at.clone();
            r.complain(Problem::new("conflict", at, &key_path, problem, remedy));
            return None;
        }
        Ok(_) => {}
    }
    Some(settings)
}

/// Check answers to datagrams: their size is meaningless without answers, and must leave room for a header.
fn answers(r: &mut Reader, table: &Node, path: &str, s: &Settings) {
    let Some(bytes) = s.get(&datagram::ECHO_SIZE) else {
        return;
    };
    let header = s.get(&datagram::HEADER);
    let (problem, remedy) = if !s.get(&datagram::ECHO) {
        (
            format!("echo_size asks for answers of {bytes}B, but no datagram is answered"),
            "add echo = true, or leave out echo_size",
        )
    } else if bytes <= header {
        (
            format!("an answer of {bytes}B is no more than its header of {header}B"),
            "give larger answers or a smaller header",
        )
    } else {
        return;
    };
    let (at, key) = (
        table.place_of(&datagram::ECHO_SIZE),
        join(path, datagram::ECHO_SIZE.name),
    );
    r.complain(Problem::new("conflict", at, &key, problem, remedy).value(format!("{bytes}B")));
}

/// Whether the destination is to send as well.
fn sends_back(traffic: &Settings) -> bool {
    std::ptr::eq(traffic.model, &bulk::MODEL) && traffic.get(&bulk::BACK).is_some()
}

/// If a transport cannot carry this traffic: problem and remedy.
fn misfit(library: &Library, traffic: &Settings, transport: &Settings) -> Option<(String, &'static str)> {
    let (source, name) = (traffic.model.name, transport.model.name);
    let facts = facts(library, traffic)?;
    if library.transports.carries_datagrams(transport.model) {
        return (facts.output == Output::Stream).then(|| {
            (
                format!("{source} traffic over udp has no rate"),
                "give traffic = { kind = \"cbr\", rate = \"1Mbps\" }, or poisson or on-off; or use tcp",
            )
        });
    }
    if facts.own_address {
        return Some((
            format!("{source} changes addresses between packets, but a connection over {name} keeps one address"),
            "leave the transport out, or give transport = \"udp\"; for connections that come and go: \
             traffic = \"transfer\" with start = { kind = \"poisson\", ... }",
        ));
    }
    if facts.output == Output::Datagrams && !library.transports.adapts(transport.model) {
        return Some((
            format!("packets of {source} leave when they are made, but {name} would decide when to send them"),
            "leave the transport out, or give transport = \"udp\"; traffic = \"video\" can be written to a connection",
        ));
    }
    // Frames are numbered over a transport that adapts its rate, so that a lost frame is detected.
    let numbers = facts.output == Output::Media && library.transports.adapts(transport.model);
    (facts.listens && !numbers && !library.transports.repeats_losses(transport.model)).then(|| {
        (
            format!("{source} traffic waits until its data have arrived, but {name} does not send lost packets again"),
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
    let (short, long) = (node.get(flows::PACKET_SIZE.name), node.get(flows::SIZES.name));
    if let (Some(short), Some(_)) = (short, long) {
        let problem = "both packet_size and sizes are given";
        r.complain(
            Problem::new(
                "conflict",
                short.node.at.clone(),
                &join(path, flows::PACKET_SIZE.name),
                problem,
                "keep one of the two",
            )
            .value(short.node.show()),
        );
        return None;
    }
    let sizes_node = short.or(long);
    let streams = traffic.is_some_and(|t| is_stream(r.library, t));
    if let (Some(g), true, Some(model)) = (sizes_node, streams, transport.map(|t| t.model))
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
    if let (Some(g), Some(t)) = (sizes_node, traffic.filter(|t| is_media(r.library, t))) {
        let problem = format!(
            "\"{}\" does nothing here: {} has packets of its own",
            g.key, t.model.name
        );
        let remedy = "leave it out, or give payload and headers in the table of the traffic";
        let at = g.node.at.clone();
        r.complain(Problem::new("conflict", at, &join(path, &g.key), problem, remedy).value(g.node.show()));
        return None;
    }
    if short.is_some() {
        let filled = filled?;
        let mut settings = Settings::defaults(FIXED.model);
        let bytes = filled.settings.get(&flows::PACKET_SIZE)?;
        if let Err(e) = settings.set(packet_sizes::BYTES.name, &Raw::Text(format!("{bytes}B"))) {
            r.complain(filled.problem("value", &flows::PACKET_SIZE, e.problem, e.remedy));
            return None;
        }
        return Some(settings);
    }
    let Some(long) = long else {
        return Some(Settings::defaults(FIXED.model));
    };
    let filled = r.model(&long.node, &join(path, flows::SIZES.name), "sizes")?;
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
    let smallest = (drawn.build)(sizes).smallest();
    let header = if r.library.transports.carries_datagrams(transport.model) {
        transport.get(&datagram::HEADER)
    } else {
        0
    };
    if smallest <= header {
        let size_node = node.given(&flows::PACKET_SIZE).or(node.given(&flows::SIZES));
        let at = size_node.unwrap_or(node).at.clone();
        let problem = format!("a packet of {smallest}B is no more than its header of {header}B");
        r.complain(
            Problem::new(
                "conflict",
                at,
                &join(path, flows::SIZES.name),
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
        let at = node.place_of(&flows::TRAFFIC);
        inner_conflict(r, at, &join(path, flows::TRAFFIC.name), conflict);
    }
    let is_rate = |p: &Param| p.kind == RATE.kind;
    let is_paced = source.facts.output == Output::Packets && traffic.model.param(RATE.name).is_some_and(is_rate);
    let rates = is_paced.then(|| traffic.get(&RATE));
    let Some(fastest) = rates.into_iter().flatten().max() else {
        return;
    };
    if u128::from(smallest) * 8_000_000_000 < u128::from(fastest.0) {
        let place = node.place_of(&flows::TRAFFIC);
        let problem = format!("packets of {smallest}B at {fastest} follow each other within less than a nanosecond");
        let remedy = format!(
            "give a rate of at most {}, or larger packets",
            BitRate(u64::from(smallest) * 8_000_000_000)
        );
        let key = join(&join(path, flows::TRAFFIC.name), RATE.name);
        r.complain(Problem::new("limit", place, &key, problem, remedy).value(fastest.to_string()));
    }
}

/// A source with packets of its own has headers of its own too, and values that may not fit together.
fn packets_of_media(r: &mut Reader, node: &Node, path: &str, traffic: &Settings, transport: &Settings) {
    if let Ok(source) = r.library.source(traffic.model)
        && let Err(conflict) = (source.check)(traffic)
    {
        let at = node.place_of(&flows::TRAFFIC);
        inner_conflict(r, at, &join(path, flows::TRAFFIC.name), conflict);
    }
    let name = transport.model.name;
    if transport.gives(&datagram::HEADER) {
        let problem = format!(
            "the header of {name} does nothing here: {} has headers of its own",
            traffic.model.name
        );
        let remedy = "leave it out, or give headers in the table of the traffic";
        r.complain(Problem::new(
            "conflict",
            node.get(name).map_or(node, |e| &e.node).at.clone(),
            &join(path, "udp.header"),
            problem,
            remedy,
        ));
    }
}
