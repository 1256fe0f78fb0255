//! Binary frames: a header as JSON, then the numbers as 32-bit floats, little-endian.
//!
//! ```text
//! bytes 0 to 3     length of the header, little-endian
//! header           UTF-8, filled up with spaces to a multiple of four
//! numbers          one array after another; the header has where each begins and how many values it has
//! ```

use serde_json::{Value, json};

/// The arrays of a frame, in order.
#[derive(Default)]
pub struct FrameNumbers {
    bytes: Vec<u8>,
}

impl FrameNumbers {
    /// Add values; returns the position of the first value, and the number of values.
    pub fn add(&mut self, values: impl IntoIterator<Item = f32>) -> Value {
        let from = self.bytes.len() / 4;
        for value in values {
            self.bytes.extend(value.to_le_bytes());
        }
        json!([from, self.bytes.len() / 4 - from])
    }
}

/// A frame of a header and its numbers.
pub fn frame(header: &Value, numbers: &FrameNumbers) -> Vec<u8> {
    let mut text = header.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
    bytes.extend(text);
    bytes.extend(&numbers.bytes);
    bytes
}

/// A frame without numbers.
pub fn message(header: &Value) -> Vec<u8> {
    frame(header, &FrameNumbers::default())
}
