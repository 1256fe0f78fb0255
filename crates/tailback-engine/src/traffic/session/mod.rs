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
use tailback_base::{Model, Settings, Stream};

/// A kind of session: what a scenario may say about it, and how a member is made.
pub struct Entry {
    pub model: &'static Model,
    /// The settings have been checked, by `check` too.
    pub build: fn(&Settings, Context) -> Box<dyn Application>,
    /// Values that contradict each other.
    pub check: fn(&Settings) -> Result<(), Conflict>,
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
    pub fn law(&self, s: &Settings, param: &str) -> Option<Box<dyn Draw>> {
        laws::of(self.laws, s, param)
    }
}

/// Every kind, in the order the reference shows them.
pub static SESSIONS: &[&Entry] = &[&requests::ENTRY, &web::ENTRY, &schedule::ENTRY];
