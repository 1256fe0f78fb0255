//! Traffic: the contract of applications ([`application`]), and the sources a scenario can name ([`registry`]), each in
//! the file of its name: its declaration and its code. Sessions, which open connections while the run goes on, are in
//! [`session`].

pub mod agenda;
pub mod application;
pub mod bulk;
pub mod bursts;
pub mod cbr;
pub mod churn;
pub mod conflict;
pub mod entry;
pub mod laws;
pub mod on_off;
pub mod paced;
pub mod poisson;
pub mod registry;
pub mod session;
pub mod sizes;
pub mod telnet;
pub mod trains;
pub mod transfer;
pub mod video;
pub mod voice;
