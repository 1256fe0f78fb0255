//! The edge conditioner: a marker, and stages that take into account how TCP reacts to losses.
//!
//! A marker (any meter, or `excess`) gives each packet a colour according to the rate of its aggregate. Stages then
//! change the colour, depending on how much a loss would slow the flow down, and may drop or delay packets. Each stage
//! has its own file. The order of the stages is fixed, whatever their order in the scenario:
//!
//! ```text
//! data:   shaper (if before) -> marker -> small window, SYN, CWR: green -> spacing -> feedback -> policer ->
//!        sender told -> shaper
//! ACKs:   small window and round trips hear those of the other direction; those of this one are green and not metered
//! ```
//!
//! Every data packet is metered, also if a stage protects it, so protected packets use up the profile. In the spacing
//! of marks, a protected packet counts as green.
//!
//! From: Habib, Fahmy and Bhargava, "Traffic conditioner design for assured forwarding in differentiated services
//! networks", Purdue CSD TR 00-015, 2000. The terms are those of RFC 2475 section 2.3.
//!
//! State and cost are those of the stages in use. The state that an edge stores for flows is limited (`most_flows`),
//! counted and reported. The packets of a flow without an entry keep the colour of the marker, and are counted as *not
//! applicable*.

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
