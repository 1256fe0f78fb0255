//! Active queue management: disciplines that signal before the buffer is full. There is one file for each algorithm, in
//! the same groups as in the reference.
//!
//! | module | contents |
//! |---|---|
//! | [`red`] | RED, and variants of RED with another ramp, measure or controller |
//! | [`colours`] | RED by colour or precedence |
//! | [`flows`] | AQMs that distinguish flows |
//! | [`load`] | AQMs that act on the load, on losses or on the queue length |
//! | [`delay`] | AQMs that control the delay |
//! | [`average`], [`ticks`] | the filtered average and the clock of periodic steps, which several AQMs share |

pub mod average;
pub mod colours;
pub mod delay;
pub mod flows;
pub mod load;
#[cfg(test)]
pub(crate) mod race;
pub mod red;
pub mod ticks;
