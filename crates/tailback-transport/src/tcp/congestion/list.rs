//! The controllers that a scenario can name, with one entry for each.

use super::{
    Controller, bbr, bbr3, binomial, copa, cubic, dctcp, ledbat_plus_plus, prague, reno, scalable, two_windows, vegas,
};
use tailback_base::model::Alias;

/// The controllers, in the order of the reference page.
pub static CONTROLLERS: &[Controller] = &[
    Controller {
        model: &reno::MODEL,
        also: &[Alias::ns2("Reno"), Alias::ns3("TcpLinuxReno"), Alias::ns3("TcpNewReno")],
        facts: reno::FACTS,
        build: reno::build,
    },
    Controller {
        model: &binomial::MODEL,
        also: &[],
        facts: binomial::FACTS,
        build: binomial::build,
    },
    Controller {
        model: &cubic::MODEL,
        also: &[Alias::ns3("TcpCubic")],
        facts: cubic::FACTS,
        build: cubic::build,
    },
    Controller {
        model: &dctcp::MODEL,
        also: &[Alias::ns3("TcpDctcp")],
        facts: dctcp::FACTS,
        build: dctcp::build,
    },
    Controller {
        model: &vegas::MODEL,
        also: &[Alias::ns2("Vegas"), Alias::ns3("TcpVegas")],
        facts: vegas::FACTS,
        build: vegas::build,
    },
    Controller {
        model: &ledbat_plus_plus::MODEL,
        also: &[],
        facts: ledbat_plus_plus::FACTS,
        build: ledbat_plus_plus::build,
    },
    Controller {
        model: &copa::MODEL,
        also: &[],
        facts: copa::FACTS,
        build: copa::build,
    },
    Controller {
        model: &bbr::MODEL,
        also: &[Alias::ns3("TcpBbr")],
        facts: bbr::FACTS,
        build: bbr::build,
    },
    Controller {
        model: &bbr3::MODEL,
        also: &[],
        facts: bbr3::FACTS,
        build: bbr3::build,
    },
    Controller {
        model: &prague::MODEL,
        also: &[],
        facts: prague::FACTS,
        build: prague::build,
    },
    Controller {
        model: &scalable::MODEL,
        also: &[Alias::ns3("TcpScalable")],
        facts: scalable::FACTS,
        build: scalable::build,
    },
    Controller {
        model: &two_windows::MODEL,
        also: &[],
        facts: two_windows::FACTS,
        build: two_windows::build,
    },
];
