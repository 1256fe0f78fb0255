//! Sessions: applications that open connections during the run. This file has the list of kinds that a scenario can
//! name, and the context with which each is built.
//!
//! A table `[sessions.NAME]` makes one member for each client. A member has its own application, its own random
//! streams and its own row in the results, however many connections it opens one after another.
//!
//! To add a kind, write a file with its `MODEL` and its [`Entry`], and add a row here.

pub mod exchange;
pub mod incast;
pub mod objects;
pub mod requests;
pub mod schedule;
pub mod web;

use super::application::{Application, NodeId, TransportId};
use super::conflict::Conflict;
use super::laws::{self, Draw, Law};
use tailback_base::model::Registered;
use tailback_base::{Model, Param, Settings, Stream};

/// A kind of session: its declaration, and how a member is made.
pub struct Entry {
    pub model: &'static Model,
    pub servers: ServersAsked,
    /// The settings have been checked, also by `check`.
    pub build: fn(&Settings, Context) -> Box<dyn Application>,
    /// Finds values that contradict each other.
    pub check: fn(&Settings) -> Result<(), Conflict>,
    /// The load of one client, for computations before a run.
    pub asks: fn(&Settings) -> Asks,
}

/// The servers of its table to which a client sends requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServersAsked {
    /// One server; the clients take the servers in turn.
    One,
    All,
}

impl Registered for Entry {
    const FAMILY: &'static str = "session";
    const WHAT: &'static str = "kind of session";
    fn model(&self) -> &'static Model {
        self.model
    }
}

/// The load of one client of a session, from its parameters alone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Asks {
    /// Mean time between requests (of pages, if there are pages), seconds, without the time that the network takes.
    pub gap: f64,
    /// Requests come at their own times, independent of earlier ones.
    pub open: bool,
    /// The largest number of requests.
    pub most: f64,
    /// Mean number of transfers per request.
    pub transfers: f64,
    /// The number of these transfers that may be in progress at one time.
    pub at_once: f64,
    /// The bytes of a transfer: about the median.
    pub bytes: f64,
    /// Each transfer has its own connection.
    pub new_connections: bool,
}

/// The mean of the law that a parameter contains, bytes or seconds.
pub(crate) fn mean_of(s: &Settings, param: &Param) -> Option<f64> {
    let law = s.nested(param.name)?;
    law.number("mean")
        .or_else(|| law.number("values"))
        .or_else(|| laws::known_mean(law))
}

/// The median of a law of sizes, bytes: far below the mean if the tail is heavy.
pub(crate) fn median_of(s: &Settings, param: &Param) -> Option<f64> {
    let (mean, law) = (mean_of(s, param)?, s.nested(param.name)?);
    Some(match law.model.name {
        "constant" => mean,
        "exponential" => 0.69 * mean,
        "listed" => law
            .list("values")
            .iter()
            .filter_map(tailback_base::Value::number)
            .fold(mean, f64::min),
        _ => mean / 5.0,
    })
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.model.name)
    }
}

/// The context in which a member is built, in addition to its own settings.
pub struct Context<'a> {
    /// Number of the member.
    pub index: u32,
    /// The node of its data's source, and the node of their destination.
    pub server: NodeId,
    pub client: NodeId,
    /// Every server, for a kind that sends requests to all of them.
    pub servers: &'a [NodeId],
    /// Each page draws its server from these, if there are any.
    pub page_servers: Vec<NodeId>,
    /// The transport of its connections.
    pub transport: TransportId,
    /// Whether both ends of a connection may send.
    pub two_way: bool,
    /// A separate random stream of the member for each quantity, by the quantity's name, so that another transport or
    /// another discipline does not change any draws.
    pub stream: &'a dyn Fn(&str) -> Stream,
    /// The laws that a scenario can name.
    pub laws: &'a [&'static Law],
}

impl Context<'_> {
    /// The law that a parameter contains; `None` if the value is `none`.
    pub fn law(&self, s: &Settings, param: &Param) -> Option<Box<dyn Draw>> {
        laws::of(self.laws, s, param)
    }

    /// The law that a parameter always contains.
    pub fn law_within(&self, s: &Settings, param: &Param) -> Box<dyn Draw> {
        laws::within(self.laws, s, param)
    }
}

/// Every kind, in the order of the reference page.
pub static SESSIONS: &[&Entry] = &[&requests::ENTRY, &incast::ENTRY, &web::ENTRY, &schedule::ENTRY];
