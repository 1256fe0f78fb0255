//! The controllers a scenario can name: one row each.

use super::{Controller, bbr, binomial, cubic, dctcp, prague, reno, scalable, vegas};

/// In the order the reference shows them.
pub static CONTROLLERS: &[Controller] = &[
    Controller {
        model: &reno::MODEL,
        build: reno::build,
    },
    Controller {
        model: &binomial::MODEL,
        build: binomial::build,
    },
    Controller {
        model: &cubic::MODEL,
        build: cubic::build,
    },
    Controller {
        model: &dctcp::MODEL,
        build: dctcp::build,
    },
    Controller {
        model: &vegas::MODEL,
        build: vegas::build,
    },
    Controller {
        model: &bbr::MODEL,
        build: bbr::build,
    },
    Controller {
        model: &prague::MODEL,
        build: prague::build,
    },
    Controller {
        model: &scalable::MODEL,
        build: scalable::build,
    },
];
