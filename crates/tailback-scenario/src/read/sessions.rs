//! The `[sessions.NAME]` tables: the ends, the transport, and the kind of session with its own parameters.
//!
//! The parameters of the kind are in the same table as the other keys. Hosts and links are those of `[flows.NAME]`,
//! with one difference: `rtt` sets the delay of the clients' links, because several clients may share a server.

use super::flows::{Around, Sets, delays, ends, private_link, route};
use super::instants::{in_order, instants};
use super::profiles::with_preset;
use super::routes::Routes;
use super::transport::{inner_conflict, transport};
use crate::check::{Filled, Reader, join};
use crate::document::{Entry, Node, Tree};
use crate::error::Problem;
use tailback_base::model::Raw;
use tailback_base::{Duration, Model, Param, Settings, Time};
use tailback_sim::declare::instants::Instants;
use tailback_sim::declare::tables::SESSIONS;
use tailback_sim::declare::tables::sessions::*;
use tailback_sim::spec::{AccessSpec, GroupSpec, SessionSpec};
use tailback_sim::traffic::laws;
use tailback_sim::traffic::session::web::PAGE_SERVERS;
use tailback_sim::traffic::session::{self, ServersAsked};

/// Read all tables. `groups` are the flows, whose names are taken.
pub fn sessions(
    r: &mut Reader,
    entries: &[&Entry],
    around: &Around,
    groups: &[GroupSpec],
    routes: &mut Routes,
) -> Vec<SessionSpec> {
    let mut sessions = vec![];
    for entry in entries {
        if groups.iter().any(|g| g.name == entry.key) {
            let problem = format!("there are flows and sessions called \"{}\"", entry.key);
            let remedy = "give each its own name: results tell them apart by it";
            let path = join("sessions", &entry.key);
            r.complain(Problem::new("conflict", entry.key_at.clone(), &path, problem, remedy));
        }
        sessions.extend(session(r, entry, around, routes));
    }
    sessions
}

/// The model that `kind` names.
pub(super) fn kind(r: &mut Reader, node: &Node, path: &str) -> Option<&'static Model> {
    let path = join(path, "kind");
    match node.get("kind").map(|e| &e.node) {
        Some(n) => match &n.tree {
            Tree::Scalar(Raw::Text(name)) => r.model_named(name, n, &path, "session"),
            _ => {
                let problem = format!("the kind {} is not a name", n.show());
                let remedy = r.choices("session");
                r.complain(Problem::new("value", n.at.clone(), &path, problem, remedy).value(n.show()));
                None
            }
        },
        None => {
            let remedy = format!("add kind = \"NAME\"; {}", r.choices("session"));
            let problem = "the sessions here have no kind";
            r.complain(Problem::new("missing", node.at.clone(), &path, problem, remedy));
            None
        }
    }
}

/// The keys of a table that are not among those of all sessions.
pub(super) fn other_keys(model: &Model, transports: &[&'static str]) -> Vec<&'static str> {
    let own = model.params.iter().map(|p| p.name);
    transports.iter().copied().chain(["kind"]).chain(own).collect()
}

/// The nodes that pages draw their servers from. Each needs a way to the clients, and `from` is one of them.
fn page_servers(
    r: &mut Reader,
    own: &Filled,
    around: &Around,
    [from, to]: [&String; 2],
    routes: &mut Routes,
) -> Vec<String> {
    let servers = own.settings.find_key(&PAGE_SERVERS).unwrap_or_default();
    let mut complain = |value: &str, problem: String, remedy: String| {
        let at = own.node.at.clone();
        r.complain(Problem::new("value", at, &own.key(&PAGE_SERVERS), problem, remedy).value(value));
    };
    for server in &servers {
        if around.whole && routes.path(server, to).is_none() {
            let whole_network = Routes::new(around.links);
            let nodes = whole_network.node_names().collect::<Vec<_>>().join(", ");
            let problem = format!("no links lead from the server \"{server}\" to \"{to}\"");
            complain(
                server,
                problem,
                format!("name nodes that clients can reach: of {nodes}"),
            );
        }
    }
    if !servers.is_empty() && !servers.contains(from) {
        let problem =
            format!("each page draws its server from page_servers, but from = \"{from}\" is not in that list");
        complain(
            from,
            problem,
            format!("add \"{from}\" to page_servers, or set `from` to a node of that list"),
        );
    }
    servers
}

fn session(r: &mut Reader, entry: &Entry, around: &Around, routes: &mut Routes) -> Option<SessionSpec> {
    let problems_before = r.seen();
    let path = join("sessions", &entry.key);
    let node = &entry.node;
    let model = kind(r, node, &path)?;
    let transports: Vec<&'static str> = r.library.catalogue.family("transport").iter().map(|m| m.name).collect();
    let keys = other_keys(model, &transports);
    let filled = r.fill(node, &path, &SESSIONS, &keys);
    // A key that the kind does not have belongs to the table, which has just been read.
    let others: Vec<&str> = node.entries().iter().map(|e| e.key.as_str()).collect();
    let others: Vec<&str> = others.into_iter().filter(|k| model.param(k).is_none()).collect();
    let own_settings = r.fill(node, &path, model, &others);
    let part = |param: &Param| node.given(param).map(|n| (n, join(&path, param.name)));
    let transport = transport(r, node, &path, &transports, None, around.profiles);
    let lossy = transport
        .as_ref()
        .filter(|t| !r.library.transports.repeats_losses(t.model));
    if let Some(t) = lossy {
        let name = t.model.name;
        let problem = if r.library.transports.carries_datagrams(t.model) {
            format!("sessions open connections, but {name} has no connections")
        } else {
            format!("sessions wait for all that they ask for, but {name} does not send lost packets again")
        };
        let remedy = "leave the transport out, or give transport = \"tcp\"";
        let (at, key) = (node.place_of(&TRANSPORT), join(&path, TRANSPORT.name));
        r.complain(Problem::new("conflict", at, &key, problem, remedy).value(name));
    }
    let start = match part(&START) {
        Some((n, key)) => instants(r, n, &key, false),
        None => Some(Instants::Listed(vec![Time::ZERO])),
    };
    let stop = part(&STOP).map(|(n, key)| instants(r, n, &key, true));
    let (filled, mut own_settings) = (filled?, own_settings?);
    own_settings.settings = with_preset(r, own_settings.settings, node, &path)?;
    let kind = r
        .library
        .sessions
        .iter()
        .copied()
        .find(|e| std::ptr::eq(e.model, model))?;
    if let Err(conflict) = (kind.check)(&own_settings.settings) {
        inner_conflict(r, node.at.clone(), &path, conflict);
    }
    if let Some((param, conflict)) = laws::conflict(&r.library.laws, &own_settings.settings) {
        inner_conflict(r, node.place_of(param), &join(&path, param.name), conflict);
    }
    let s = &filled.settings;
    let clients = s.get(&CLIENTS);
    let servers = servers(r, s, (node, &path), kind);
    let (from, to) = ends(r, &filled, around)?;
    let page_servers = page_servers(r, &own_settings, around, [&from, &to], routes);
    let path_delay = route(r, &filled, &from, &to, around, routes);
    let (access, exit) = links(r, &filled, path_delay, [servers, clients]);
    if let (Some(start), Some(Some(stop))) = (&start, &stop) {
        in_order(r, &filled, clients, (start, stop));
    }
    if r.seen() > problems_before {
        return None;
    }
    Some(SessionSpec {
        name: entry.key.clone(),
        clients,
        servers,
        from,
        to,
        page_servers,
        paths: s.get(&PATHS).unwrap_or(around.paths),
        weight: s.get(&WEIGHT),
        access,
        exit,
        transport: transport?,
        kind,
        settings: own_settings.settings,
        dscp: s.get(&DSCP),
        tunnel: s.get(&TUNNEL).map(|name| (name, s.get(&TUNNEL_HASH))),
        start: start?,
        stop: stop.flatten(),
    })
}

/// The number of servers. A kind that sends requests to all servers must give their number.
fn servers(r: &mut Reader, s: &Settings, (node, path): (&Node, &str), kind: &session::Entry) -> u32 {
    if kind.servers == ServersAsked::All && !s.gives(&SERVERS) {
        r.missing(&SERVERS, node, path, kind.model);
    }
    s.get(&SERVERS).unwrap_or_else(|| s.get(&CLIENTS))
}

/// The links of the servers and of the clients, if they have such links.
fn links(
    r: &mut Reader,
    filled: &Filled,
    path: Option<Duration>,
    [servers, clients]: [u32; 2],
) -> (Option<AccessSpec>, Option<AccessSpec>) {
    let s = &filled.settings;
    let access = private_link(s.get(&ACCESS_RATE), s.get(&ACCESS_DELAY), vec![]);
    // The clients take the servers in turn, and the servers take the delays in turn.
    let far = match access.as_ref().map(|a| &a.delay[..]) {
        None => vec![Duration::ZERO],
        Some([one]) => vec![*one],
        Some(all) => all.iter().copied().cycle().take(servers as usize).collect(),
    };
    let sets = Sets {
        key: &EXIT_DELAY,
        what: "the delay of the clients' links",
    };
    let delay = delays(r, filled, &sets, &far, path, clients);
    (access, private_link(s.get(&EXIT_RATE), delay, vec![]))
}
