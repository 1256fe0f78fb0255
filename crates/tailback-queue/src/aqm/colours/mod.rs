//! RED by colour or precedence, and the counts for each colour that several of them keep.

pub mod mred;
pub mod populations;
pub mod precedence;
pub mod redn;
pub mod rio;
pub mod wred;
