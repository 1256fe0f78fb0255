//! Meters: they give a packet a colour that depends on the earlier traffic.
//!
//! A meter compares the traffic with a profile, and its result is green, yellow or red. It is part of a conditioner. It
//! can be alone in a [`Painter`](crate::painter), which sets the code point of the colour on packets, or it can be the
//! marker of another conditioner (`marker = { kind = "tsw3cm", ... }`). The terms are those of RFC 2475 section 2.3.3.
//!
//! To add a meter, write a file with its `MODEL`, its type and its `ROW`, and add the row to [`list`].

pub mod list;
pub mod marking_engine;
pub mod meters;
pub mod params;
pub mod sliding_window;
pub mod srtcm;
pub mod token_bucket;
pub mod trtcm;
pub mod tsw2cm;
pub mod tsw3cm;

pub use list::MeterList;
pub use meters::Meters;

use crate::conditioner::SenderState;
use tailback_base::model::Registered;
use tailback_base::quantity::Refusal;
use tailback_base::{Colour, Model, Settings, Stream, Time};

/// A rule that gives packets a colour. `now` never decreases. Every packet for which the meter is called is sent.
pub trait Meter {
    /// The colour of a packet of this number of bytes, headers included. `came` is the colour with which the packet
    /// arrived; green if it had none.
    fn colour(&mut self, bytes: u32, came: Colour, now: Time) -> Colour;
    /// The state of the sender, if the meter is on the sender's host.
    fn sender(&mut self, _state: SenderState, _now: Time) {}
    /// The present value of the probe with this index in its model.
    fn read(&self, _probe: usize, _now: Time) -> f64 {
        f64::NAN
    }
}

/// Makes a meter that draws from this random stream.
pub type BuildMeter = fn(&Settings, Stream) -> Result<Box<dyn Meter>, Refusal>;

impl Registered for MeterRow {
    const FAMILY: &'static str = "marker";
    const WHAT: &'static str = "meter";
    fn model(&self) -> &'static Model {
        self.model
    }
}

/// A meter that a scenario can name.
#[derive(Clone, Copy)]
pub struct MeterRow {
    pub model: &'static Model,
    pub build: BuildMeter,
}
