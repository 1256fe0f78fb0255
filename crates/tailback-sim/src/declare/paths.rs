//! The choice among several equal paths, and the effect of a failing link: words and keys.

use super::kinds::{SOME_TIME, TIME};
use tailback_base::model::{Choice, Key, Kind};
use tailback_base::{Duration, params};

tailback_base::choice! {
    /// The choice of packets among all shortest paths.
    pub enum Paths {
        First = "first",
        Flow = "flow",
        Packet = "packet",
        Flowlet = "flowlet",
    }

    /// The fate of packets on a link that fails.
    pub enum OnFailure {
        Lose = "lose",
        Keep = "keep",
    }

    /// The seeds of the hashes of nodes.
    pub enum PathSeeds {
        Own = "own",
        One = "one",
    }
}

impl Paths {
    /// A rule that allows all paths that this rule allows, for code that has to know all of them.
    pub fn any(self) -> Paths {
        match self {
            Paths::First => Paths::First,
            _ => Paths::Packet,
        }
    }
}

params! {
    pub PATHS: Paths = Key::choice("paths", "first",
        "Which of all paths with the fewest hops packets take: the first one, by delay and name; one that a hash \
         chooses for each flow; the next one for each packet; or a random one for each flowlet. ACKs take the links \
         of the data only with \"first\". A group of flows or sessions may have its own `paths`.", "RFC 2992");
    pub PATH_SEED: Option<u64> = Key::new("path_seed", Kind::Count { min: 0, max: i64::MAX as u64 }, "none",
        "The seed of the hash of paths. Default: the seed of the run.", "");
    pub PATH_SEEDS: PathSeeds = Key::choice("path_seeds", "own",
        "Whether each node has its own seed, or all nodes have the same one. With the same seed, flows that meet at \
         one layer of switches choose alike at the next layer.", "");
    pub FLOWLET_GAP: Duration = Key::new("flowlet_gap", SOME_TIME, "500us",
        "A flow that pauses for longer begins a new flowlet.", "Alizadeh et al., CONGA, SIGCOMM 2014");
    pub ROUTE_DELAY: Duration = Key::new("route_delay", TIME, "0s",
        "The time from the failure or the return of a link until the routes change. Packets that reach a failed link \
         before this change are lost.",
        "");
    pub ON_FAILURE: OnFailure = Key::choice("on_failure", "lose",
        "Whether packets that are on the way over a link when it fails are lost, or still arrive.", "");
    pub OWN_PATHS: Option<Paths> = Key::new("paths", Kind::Choice(Paths::WORDS), "none",
        "Which of all paths with the fewest hops packets take. Default: the value of `paths` at the top of the \
         scenario.", "RFC 2992");
    pub VIA: Vec<String> = Key::new("via", Kind::List(&Kind::Text), "none",
        "Nodes that the packets pass, in this order; ACKs take the same links back. Between two of these nodes, \
         packets take the first path.", "");
}
