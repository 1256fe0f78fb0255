//! All tests of this crate that use it from outside: one program, so that it is linked once.

mod conservation;
mod declarations;
mod fair_queueing;
mod in_front_of_a_scheduler;
mod mean_rates;
mod opportunities;
mod schedulers;
