//! The ports that have names. Each is a combination of pieces, without its own code.
//!
//! A row says which pieces, which of their parameters a scenario may give, and what is known of the whole. The
//! algorithms are in [`pieces`](crate::pieces); a discipline with an algorithm that is not a piece has a file in
//! [`fair`](crate::fair).

use crate::entry::{Facts, Unlimited};
use crate::params::{AQM, BEFORE};
use crate::pieces::assembly::of_pieces;
use crate::pieces::catalogue::POLICY;
use crate::pieces::params::{COUNT_NEWCOMER, port_params, port_probes};
use tailback_base::Param;

/// For each port, makes a module with its declaration and its registry entry.
macro_rules! ports {
    ($(
        $(#[$about:meta])*
        $row:ident {
            name: $name:literal,
            title: $title:literal,
            summary: $summary:literal,
            source: $source:literal,
            params: $params:expr,
            probes: $probes:expr,
            facts: $facts:expr,
            build: $build:expr,
        }
    )*) => {$(
        $(#[$about])*
        pub mod $row {
            use super::*;
            use crate::entry::{Build, Entry};
            use tailback_base::{Model, Packet};

            pub static MODEL: Model = Model {
                name: $name,
                family: "queue",
                title: $title,
                summary: $summary,
                source: $source,
                params: $params,
                probes: $probes,
            };

            /// The registry entry of this port.
            pub const fn entry<P: Packet + 'static>() -> Entry<P> {
                Entry { model: &MODEL, build: Build::OfPieces($build), admission: None, facts: $facts }
            }
        }
    )*};
}

mod flow_queueing;
mod in_linux;
mod rounds;
mod tags;

pub use flow_queueing::{fq_cobalt, fq_codel, fq_pie};
pub use rounds::{drr, dsdrr, dtdrr, qsdrr, srr, tdrr, wdrr};
pub use tags::{fq, fqbit, scfq, wf2q, wf2q_plus};

/// The facts of a port whose drop policy needs a limited buffer. With an unlimited buffer the port is the same as
/// `drr`.
const NEEDS_A_LIMIT: Facts = Facts {
    unlimited: Some(Unlimited::leaves("drr")),
    ..Facts::MAPPED
};

/// The parameters, besides those of the scheduler, of a port that has the name of its scheduler and a queue for each
/// flow.
const UNDER_A_POLICY: &[Param] = &[POLICY, AQM, BEFORE];

ports! {
    /// A port put together by name: any mapper, scheduler, drop policy and AQM.
    ///
    /// The others are ports with one piece or two of their own name. Here the scenario names each piece. `fq-codel` is
    /// the port of hashed queues, `drr-plus-plus`, `batch-drop` and `codel`.
    port {
        name: "port",
        title: "A port of pieces by name",
        summary: "Several queues that share one buffer, with a mapper, scheduler, drop policy and AQM of your choice. \
                  Measure, function and action are those of these parts.",
        source: "tailback",
        params: port_params!(&[POLICY], &[COUNT_NEWCOMER.param]),
        probes: port_probes!(),
        facts: Facts::MAPPED,
        build: of_pieces,
    }
}
