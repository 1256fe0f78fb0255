//! Video: frames at even intervals, each cut into packets, and the fates of the frames.
//!
//! Three published shapes are available as presets. `gop`: groups of pictures, an I frame that is independent and P
//! frames that build on earlier frames, with log-normal sizes. `80211ax`: the buffered video of the evaluation
//! methodology of IEEE 802.11ax (document 11-14/0571r12), with Weibull sizes. `xr`: extended reality, 3GPP TR 38.838:
//! 60 large frames per second with a bounded normal size, from an encoder that is not always on time.
//!
//! Over datagrams the packets of a frame are sent at once, or evenly over a share `spread` of the time to the next
//! frame. Over a connection a frame is written when it is made, and late frames queue behind each other. With `skip` a
//! frame is taken back if no byte of it has been sent by its deadline. A frame fails if it is not complete by its
//! deadline. With `chain` the P frames after a failed one fail too until the next I frame, as in a decoder without
//! concealment.
//!
//! Over a transport that requests a rate of its source, the encoder follows that rate (`encoder`): sizes of frames are
//! in proportion to the rate.
//!
//! State: the frames that are incomplete or not yet judged. Sizes and times are drawn from separate streams, so that
//! another transport gets the same frames.

mod encoder;
mod frames;
mod params;
pub mod sizes;
mod source;

pub use frames::remembered_bytes;
pub use params::{FPS, MODEL};

use crate::traffic::entry::{Entry, Facts, Offer, Output};
use params::{HEADERS, I_RATIO, PAYLOAD, RATE, check};
use source::Video;

pub static ENTRY: Entry = Entry {
    model: &MODEL,
    build: |s, context| Box::new(Video::new(s, &context)),
    check,
    offer: |s, _| {
        let (rate, frames) = (s.get(&RATE).bits_per_second(), s.get(&FPS));
        let header_bytes = f64::from(s.get(&HEADERS));
        let frame = rate / 8.0 / frames;
        // Each frame ends with a packet that is not full; most frames are smaller than the mean.
        let packets = 0.5 + (frame / s.get(&PAYLOAD) as f64).max(0.5);
        Offer::Paced {
            rate: rate + frames * packets * 8.0 * header_bytes,
            at_once: (frame + packets * header_bytes) * s.get(&I_RATIO).max(2.0),
            packet: frame / packets + header_bytes,
        }
    },
    facts: Facts {
        output: Output::Media,
        listens: true,
        own_address: false,
    },
};

#[cfg(test)]
mod tests;
