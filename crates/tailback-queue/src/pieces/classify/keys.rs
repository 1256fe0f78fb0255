//! What a packet is told apart by, under the name a scenario gives it.

use tailback_base::KeyField;
use tailback_base::quantity::Refusal;

const KEYS: [(&str, KeyField); 5] = [
    ("destination", KeyField::Destination),
    ("source", KeyField::Source),
    ("pair", KeyField::Pair),
    ("tuple", KeyField::Tuple),
    ("label", KeyField::Label),
];

/// The field of this name.
///
/// # Errors
/// A name that is not in the list.
pub fn named(name: &str) -> Result<KeyField, Refusal> {
    match KEYS.iter().find(|k| k.0 == name) {
        Some((_, key)) => Ok(*key),
        None => Err(Refusal::new(
            format!("packets have no key \"{name}\""),
            format!("give one of {}", KEYS.map(|k| k.0).join(", ")),
        )),
    }
}
