//! The tasks of an application at several instants, using its single wake.

use super::application::Net;
use std::collections::BTreeMap;
use tailback_base::Time;

/// Tasks, by instant; those of one instant are in the order in which they were added.
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
    /// Add a task for an instant.
    pub fn put(&mut self, at: Time, what: T, net: &mut dyn Net) {
        self.due.insert((at, self.put), what);
        self.put += 1;
        self.arm(net);
    }

    /// Take the next task that is due. Call this until it returns `None`: the wake for the remaining tasks is set
    /// then.
    pub fn take(&mut self, net: &mut dyn Net) -> Option<T> {
        match self.due.first_entry() {
            Some(first) if first.key().0 <= net.now() => Some(first.remove()),
            _ => {
                self.arm(net);
                None
            }
        }
    }

    /// Remove all tasks.
    pub fn clear(&mut self) {
        self.due.clear();
    }

    fn arm(&self, net: &mut dyn Net) {
        if let Some(((at, _), _)) = self.due.first_key_value() {
            net.wake(*at);
        }
    }
}
