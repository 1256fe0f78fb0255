//! Fair shares of the line: combinations of a scheduler and a drop policy. One file for each discipline.

pub mod cake;
pub mod diffserv;
pub mod drr;
pub mod fq;
pub mod fq_cobalt;
pub mod fq_codel;
pub mod fq_pie;
pub mod fqbit;
pub mod port;
pub mod scfq;
pub mod sfq;
pub mod srr;
pub mod wdrr;
pub mod wf2q;
pub mod wf2q_plus;
