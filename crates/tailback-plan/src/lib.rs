//! Plans: an ordered list of runs, executed on all cores, stored, and resumable.
//!
//! Replications, `reproduce` and sweeps are all plans. A plan consists of points (a scenario and its labels) times
//! replications (seeds). Every point uses the same seeds, so that comparisons are paired. Each run has a key, a hash
//! of scenario, seed, version and source; a run whose key is already stored is not run again.
//!
//! Results are in plan order, whatever the number of threads. Everything that needs threads, clocks, a store or Parquet
//! is in this crate.

pub mod axes;
pub mod chunks;
pub mod execute;
pub mod file;
pub mod keeper;
pub mod lock;
pub mod parquet;
pub mod plan;
pub mod report;
pub mod store;
pub mod tables;

pub use axes::{Axis, Combination, dependent, product, zip};
pub use execute::{Execution, Report};
pub use plan::{Plan, Point, Run, source};
pub use report::{RunReport, Status};
pub use store::Keep;
pub use tailback_scenario::key::Key;
