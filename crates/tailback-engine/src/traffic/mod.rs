//! Traffic: the contract of applications ([`application`]), and the sources a scenario can name ([`registry`]), each in
//! the file of its name: its declaration and its code.

pub mod application;
pub mod bulk;
pub mod bursts;
pub mod cbr;
pub mod churn;
pub mod on_off;
pub mod paced;
pub mod poisson;
pub mod registry;
pub mod sizes;
pub mod transfer;
