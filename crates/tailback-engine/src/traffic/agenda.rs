//! What an application has to do at several instants, over its one wake.

use super::application::Net;
use std::collections::BTreeMap;
use tailback_base::Time;

/// Things to do, by instant; those of one instant in the order in which they were put down.
pub struct Agenda<T> {
    due: BTreeMap<(Time, u64), T>,
    put: u64,
}

impl<T> Default for Agenda<T> {
    fn default() -> Agenda<T> {
        Agenda {
            due: BTreeMap::new(),
            put: 0,
        }
    }
}

impl<T> Agenda<T> {
    /// Do this then.
    pub fn put(&mut self, at: Time, what: T, net: &mut dyn Net) {
        self.due.insert((at, self.put), what);
        self.put += 1;
        self.arm(net);
    }

    /// The next thing that is due. Ask until there is none: then the wake for the rest is set.
    pub fn take(&mut self, net: &mut dyn Net) -> Option<T> {
        match self.due.first_entry() {
            Some(first) if first.key().0 <= net.now() => Some(first.remove()),
            _ => {
                self.arm(net);
                None
            }
        }
    }

    /// Nothing more is to be done.
    pub fn clear(&mut self) {
        self.due.clear();
    }

    fn arm(&self, net: &mut dyn Net) {
        if let Some(((at, _), _)) = self.due.first_key_value() {
            net.wake(*at);
        }
    }
}
