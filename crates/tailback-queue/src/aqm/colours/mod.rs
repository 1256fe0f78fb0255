//! Variants of RED that treat colours or precedences differently, and the counts for each colour that several of these
//! use.

pub mod mred;
pub mod populations;
pub mod precedence;
pub mod redn;
pub mod rio;
pub mod wred;
