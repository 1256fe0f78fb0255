//! The outcome of one run, and its cost.

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Done,
    Failed(String),
}

/// The cost of one run. It is not in the tables, because these are the same on every machine.
#[derive(Clone, Debug, Default)]
pub struct RunReport {
    pub cpu_s: f64,
    pub packet_hops: u64,
    pub events: u64,
}
