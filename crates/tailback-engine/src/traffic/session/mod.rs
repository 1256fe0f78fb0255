//! Sessions: applications that open connections while the run goes on. The list of kinds a scenario can name, and what
//! each is built with.
//!
//! A table `[sessions.NAME]` makes one member for each client; a member has its own application, its own random streams
//! and its own row in the results, whatever number of connections it opens one after another.
//!
//! To add a kind: a file with its `MODEL` and its [`Entry`], and a row here.

pub mod exchange;
pub mod objects;
pub mod requests;
pub mod schedule;
pub mod web;

use super::application::{Application, NodeId, TransportId};
use super::conflict::Conflict;
use super::laws::{self, Draw, Law};
use tailback_base::model::Registered;
use tailback_base::{Model, Param, Settings, Stream};

/// A kind of session: what a scenario may say about it, and how a member is made.
pub struct Entry {
    pub model: &'static Model,
    /// The settings have been checked, by `check` too.
    pub build: fn(&Settings, Context) -> Box<dyn Application>,
    /// Values that contradict each other.
    pub check: fn(&Settings) -> Result<(), Conflict>,
    /// What one client asks for, for what is computed before a run.
    pub asks: fn(&Settings) -> Asks,
}

impl Registered for Entry {
    const FAMILY: &'static str = "session";
    const WHAT: &'static str = "kind of session";
    fn model(&self) -> &'static Model {
        self.model
    }
}

/// What one client of a session asks for, by its parameters alone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Asks {
    /// Mean time from one request (of a page, where there are pages) to the next, seconds, not counting what the
    /// network takes.
    pub gap: f64,
    /// Requests come at their own times, whatever became of those before.
    pub open: bool,
    /// How many at most.
    pub most: f64,
    /// Transfers of a request, on average.
    pub transfers: f64,
    /// How many of them may go on at one time.
    pub at_once: f64,
    /// Bytes of a transfer: half of all have no more, about.
    pub bytes: f64,
    /// Each transfer has a connection of its own.
    pub new_connections: bool,
}

/// The mean of the law that a parameter holds, bytes or seconds.
pub(crate) fn mean_of(s: &Settings, param: &Param) -> Option<f64> {
    let law = s.nested(param.name)?;
    law.number("mean").or_else(|| law.number("values"))
}

/// What half of the draws of a law of sizes do not exceed, bytes: far below the mean where the tail is heavy.
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

/// What a member is built with, beside its own settings.
pub struct Context<'a> {
    /// Number of the member.
    pub index: u32,
    /// Where its data come from, and where they go to.
    pub server: NodeId,
    pub client: NodeId,
    /// Of which each page draws its server, if there are any.
    pub page_servers: Vec<NodeId>,
    /// How its connections are made.
    pub transport: TransportId,
    /// Both ends of a connection may send.
    pub two_way: bool,
    /// A random stream of the member's own for each quantity, by the quantity's name, so that another transport or
    /// another discipline leaves all draws as they were.
    pub stream: &'a dyn Fn(&str) -> Stream,
    /// The laws that a scenario can name.
    pub laws: &'a [&'static Law],
}

impl Context<'_> {
    /// The law that a parameter holds; none where it says `none`.
    pub fn law(&self, s: &Settings, param: &Param) -> Option<Box<dyn Draw>> {
        laws::of(self.laws, s, param)
    }

    /// The law that a parameter always holds.
    pub fn law_within(&self, s: &Settings, param: &Param) -> Box<dyn Draw> {
        laws::within(self.laws, s, param)
    }
}

/// Every kind, in the order the reference shows them.
pub static SESSIONS: &[&Entry] = &[&requests::ENTRY, &web::ENTRY, &schedule::ENTRY];
