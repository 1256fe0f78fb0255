//! The rate controls that a scenario can name, with one entry for each.

use super::{RateController, ReportRule, gcc, nada, scream};

/// The rate controls, in the order of the reference page.
pub static RATE_CONTROLLERS: &[&RateController] = &[
    &RateController {
        model: &nada::MODEL,
        rule: ReportRule::RFC8888,
        build: nada::build,
    },
    &RateController {
        model: &scream::MODEL,
        rule: scream::RULE,
        build: scream::build,
    },
    &RateController {
        model: &gcc::MODEL,
        rule: gcc::RULE,
        build: gcc::build,
    },
];
