//! Active queue management: disciplines that signal before the buffer is full. One file an algorithm, in the groups of
//! the reference.
//!
//! | room | what is in it |
//! |---|---|
//! | [`red`] | RED, and what is RED with another ramp, measure or controller |
//! | [`colours`] | RED by colour or precedence |
//! | [`flows`] | AQM that knows flows |
//! | [`load`] | AQM by load, losses or queue |
//! | [`delay`] | AQM by delay |
//! | [`average`], [`ticks`] | the filtered average and the clock of steps that several share |

pub mod average;
pub mod colours;
pub mod delay;
pub mod flows;
pub mod load;
#[cfg(test)]
pub(crate) mod race;
pub mod red;
pub mod ticks;
