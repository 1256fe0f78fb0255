//! The edge conditioner: a marker, and stages that know how TCP reacts to losses.
//!
//! A marker (any meter, or `excess`) gives each packet a colour according to the rate of its aggregate. Stages then
//! change colours according to what a loss would cost the flow, and may drop or delay packets. Each stage is a file.
//! Their order is fixed, whatever the order in which they are listed:
//!
//! ```text
//! data:   shaper (if before) -> marker -> small window, SYN, CWR: green -> spacing -> feedback -> policer ->
//!        sender told -> shaper
//! ACKs:   small window and round trips hear those of the other direction; those of this one are green and not metered
//! ```
//!
//! Every data packet is metered, also those that a stage protects, so protection uses up the profile. A protected
//! packet passes the spacing of marks as green.
//!
//! From: Habib, Fahmy and Bhargava, "Traffic conditioner design for assured forwarding in differentiated services
//! networks", Purdue CSD TR 00-015, 2000. The words are those of RFC 2475 section 2.3.
//!
//! State and cost: those of the stages in use. What an edge remembers about flows is limited (`most_flows`), counted
//! and reported. A flow without an entry is treated as the marker decides, and counted as *not applicable*.

mod adaptive;
mod build;
mod counts;
mod excess;
mod exchange;
mod feedback;
mod flow_table;
pub mod models;
mod pipeline;
mod round_trips;
mod shaper;
mod small_window;
mod spacing;
mod syn;
mod timeouts;

#[cfg(test)]
mod tests;

pub use build::entry;
