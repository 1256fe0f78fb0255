//! Finds, for shapers, the disciplines inside that store the packets, and the largest rate at which packets leave.

use crate::params::QUEUE;
use crate::registry::facts;
use crate::shape::htb::classes;
use tailback_base::{BitRate, Settings, Value};

/// The discipline inside a shaper; `None` if these settings do not describe a shaper.
pub fn inside(queue: &Settings) -> Option<&Settings> {
    match queue.find(QUEUE.name)? {
        Value::Model(inner) => Some(inner),
        _ => None,
    }
}

/// The settings of the discipline where packets wait: the innermost one, or these settings themselves if there is no
/// shaper.
///
/// ```
/// use tailback_base::Settings;
/// use tailback_queue::testing::TestPacket;
/// use tailback_queue::{Registry, registry, shaped};
///
/// let htb = Settings::defaults(registry::find("htb").unwrap()).with("rate", "19Mbps").with("queue", "codel");
/// let htb = htb.with_models(Registry::<TestPacket>::standard().nested()).unwrap();
/// assert_eq!(shaped::innermost(&htb).model.name, "codel");
/// ```
pub fn innermost(queue: &Settings) -> &Settings {
    inside(queue).map_or(queue, innermost)
}

/// Every discipline where packets wait: the innermost one, and those of the classes of a shaper. With classes, the
/// innermost one is for packets without a class.
pub fn holders(queue: &Settings) -> Vec<&Settings> {
    let inside = inside(queue).map_or_else(|| vec![queue], holders);
    let of_classes = classes::queues(queue).into_iter().flat_map(holders);
    inside.into_iter().chain(of_classes).collect()
}

/// These settings, with the values of their profile and derived values for parameters that are not given. The same is
/// done for the discipline inside.
pub fn laid(queue: Settings) -> Settings {
    let mut laid = queue.with_profile(&[]).unwrap_or(queue);
    if let Some(follow) = facts(laid.model.name).and_then(|f| f.follows) {
        laid = follow(laid);
    }
    if let Some(inner) = inside(&laid).cloned() {
        laid.replace_model(QUEUE.name, self::laid(inner));
    }
    laid
}

/// The keys that lead to [`innermost`] from these settings.
pub fn path(queue: &Settings) -> Vec<&'static str> {
    let mut at = queue;
    let mut keys = vec![];
    while let Some(inner) = inside(at) {
        keys.push(QUEUE.name);
        at = inner;
    }
    keys
}

/// The largest rate at which packets leave: the rate of the line, or that of a slower shaper.
pub fn rate(queue: &Settings, line: BitRate) -> BitRate {
    let own = facts(queue.model.name)
        .and_then(|f| f.shapes)
        .and_then(|p| queue.find(p));
    let shaped = match own {
        Some(Value::Rate(rate)) => line.min(*rate),
        _ => line,
    };
    inside(queue).map_or(shaped, |inner| rate(inner, shaped))
}
