//! The number of bulk flows of each host, for fairness between hosts.

use crate::pieces::classify::conversations::Mixed;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// The number of a host in a table.
pub type HostId = u32;

/// The hosts, numbered by their address in the order of arrival, and the number of bulk flows of each host.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    numbers: HashMap<u64, HostId, BuildHasherDefault<Mixed>>,
    bulk: Vec<u32>,
}

impl Hosts {
    /// The number of this address; a new number if the address is new.
    pub fn number(&mut self, address: u64) -> HostId {
        let next = self.bulk.len() as HostId;
        let host = *self.numbers.entry(address).or_insert(next);
        if host == next {
            self.bulk.push(0);
        }
        host
    }

    pub fn bulk(&self, host: HostId) -> u32 {
        self.bulk[host as usize]
    }

    pub fn one_more(&mut self, host: HostId) {
        self.bulk[host as usize] += 1;
    }

    pub fn one_less(&mut self, host: HostId) {
        self.bulk[host as usize] -= 1;
    }
}
