//! Meters: what colour a packet has, by how much of it there has been.
//!
//! A meter compares what passes with a profile, and says green, yellow or red. It stands in a conditioner: by itself in
//! [`Painter`](crate::painter), which gives packets the code point of their colour, or as the marker of another
//! (`marker = { kind = "tsw3cm", ... }`). The words are those of RFC 2475 section 2.3.3.
//!
//! To add one: a file with its `MODEL`, its type and its `ROW`, and a row in [`list`].

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

/// Says the colour of packets. `now` never decreases; every packet that is shown is sent.
pub trait Meter {
    /// The colour of a packet of so many bytes, headers included, that came with this colour; green if it came with
    /// none.
    fn colour(&mut self, bytes: u32, came: Colour, now: Time) -> Colour;
    /// The state of the sender, where the meter stands on its host.
    fn sender(&mut self, _state: SenderState, _now: Time) {}
    /// The present value of the i-th probe of its model.
    fn read(&self, _probe: usize, _now: Time) -> f64 {
        f64::NAN
    }
}

/// Makes a meter, which draws from this stream.
pub type BuildMeter = fn(&Settings, Stream) -> Result<Box<dyn Meter>, Refusal>;

impl Registered for MeterRow {
    const FAMILY: &'static str = "marker";
    const WHAT: &'static str = "meter";
    fn model(&self) -> &'static Model {
        self.model
    }
}

/// One meter a scenario can name.
#[derive(Clone, Copy)]
pub struct MeterRow {
    pub model: &'static Model,
    pub build: BuildMeter,
}
