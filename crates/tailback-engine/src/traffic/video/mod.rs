//! Video: a frame at even intervals, each cut into packets, and what becomes of the frames.
//!
//! Three published shapes are there as presets. `gop`: groups of pictures, an I frame that stands alone and P frames
//! that build on what came before, with log-normal sizes. `80211ax`: the buffered video of the evaluation methodology
//! of IEEE 802.11ax (document 11-14/0571r12), Weibull sizes. `xr`: 3GPP TR 38.838, extended reality: 60 large frames a
//! second with a bounded normal size, and an encoder that is not always on time.
//!
//! Over datagrams the packets of a frame leave at once, or evenly over a share `spread` of the time to the next frame.
//! Over a connection a frame is written when it is made, and late frames queue behind each other; with `skip` a frame
//! of which nothing has been sent by its deadline is taken back. A frame fails if it is not whole by its deadline; with
//! `chain` the P frames behind a failed one fail with it until the next I frame, as a decoder without concealment has
//! it.
//!
//! State: the frames that are not whole or not judged. Sizes and times are drawn from streams of their own, so that
//! another transport meets the same frames.

mod frames;
mod params;
pub mod sizes;
mod source;

pub use frames::remembered_bytes;
pub use params::{ENTRY, FPS, MODEL};

#[cfg(test)]
mod tests;
