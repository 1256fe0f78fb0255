//! The controllers a scenario can name: one row each.

use super::{Controller, reno};

/// In the order the reference shows them.
pub static CONTROLLERS: &[Controller] = &[Controller {
    model: &reno::MODEL,
    build: reno::build,
}];

/// The same names, for the declaration of the parameter `congestion`.
pub const NAMES: &[&str] = &["reno"];

pub fn find(name: &str) -> Option<&'static Controller> {
    CONTROLLERS.iter().find(|c| c.model.name == name)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_names_declared_are_the_controllers_there_are() {
        let rows: Vec<&str> = super::CONTROLLERS.iter().map(|c| c.model.name).collect();
        assert_eq!(rows, super::NAMES);
    }
}
