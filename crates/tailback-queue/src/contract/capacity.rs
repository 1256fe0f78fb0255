//! The arithmetic of buffer limits in packets and in bytes, in one place.
//!
//! A discipline measures in the unit of its buffer limit. If the limit is in packets, it counts packets; if the limit
//! is in bytes, it counts bytes; without a limit it counts packets. Thresholds are converted to that unit. If a
//! threshold is in packets and the buffer in bytes, each packet of the threshold counts as a packet of the mean size,
//! because RED's defaults are written in this way.

use crate::contract::report::Backlog;
use tailback_base::quantity::Refusal;
use tailback_base::{Key, Level, Settings, Size};

/// The space that a packet of this size takes, in the unit of `limit`.
#[inline]
pub fn cost(limit: Size, bytes: u32) -> u64 {
    match limit {
        Size::Bytes(_) => u64::from(bytes),
        Size::Packets(_) | Size::Unlimited => 1,
    }
}

/// The space that a packet of the mean size takes, in the unit of `limit`.
pub fn packet(limit: Size, mean_packet: u64) -> f64 {
    match limit {
        Size::Bytes(_) => mean_packet as f64,
        Size::Packets(_) | Size::Unlimited => 1.0,
    }
}

/// The backlog in the unit of `limit`.
#[inline]
pub fn level(limit: Size, backlog: Backlog) -> u64 {
    match limit {
        Size::Bytes(_) => backlog.bytes,
        Size::Packets(_) | Size::Unlimited => backlog.packets,
    }
}

/// Whether a packet of `bytes` fits in addition to `backlog`.
#[inline]
pub fn fits(limit: Size, backlog: Backlog, bytes: u32) -> bool {
    match limit {
        Size::Packets(n) => backlog.packets < n,
        Size::Bytes(n) => backlog.bytes.saturating_add(u64::from(bytes)) <= n,
        Size::Unlimited => true,
    }
}

/// Whether a packet of `bytes` fits into the empty buffer.
#[inline]
pub fn fits_alone(limit: Size, bytes: u32) -> bool {
    fits(limit, Backlog::default(), bytes)
}

/// The size of a buffer from now on. The unit must stay the same, because measures and thresholds use it.
///
/// # Errors
/// The new size is in another unit.
pub fn resized(limit: Size, new: Size) -> Result<Size, Refusal> {
    match (limit, new) {
        (Size::Bytes(_), Size::Bytes(_)) => Ok(new),
        (Size::Packets(_) | Size::Unlimited, Size::Packets(_) | Size::Unlimited) => Ok(new),
        (from, to) => Err(Refusal::new(
            format!("buffer = \"{to}\" is in another unit than \"{from}\", in whose unit the discipline counts"),
            "give the buffer in the unit that it has from the beginning",
        )),
    }
}

/// A threshold in the unit of `limit`. If the threshold is in packets and the buffer in bytes, each packet counts as
/// `mean_packet` bytes.
pub fn threshold(settings: &Settings, key: &Key<Level>, limit: Size, mean_packet: u64) -> Result<f64, Refusal> {
    resolve(key.name, settings.get(key), limit, mean_packet)
}

/// The same as [`threshold`], for a threshold that may be absent.
pub fn threshold_if_given(
    settings: &Settings,
    key: &Key<Option<Level>>,
    limit: Size,
    mean_packet: u64,
) -> Result<Option<f64>, Refusal> {
    let level = settings.get(key);
    level
        .map(|level| resolve(key.name, level, limit, mean_packet))
        .transpose()
}

/// The same as [`threshold`], for each value of a list.
pub fn thresholds(
    settings: &Settings,
    key: &Key<Vec<Level>>,
    limit: Size,
    mean_packet: u64,
) -> Result<Vec<f64>, Refusal> {
    let levels = settings.get(key).into_iter();
    levels
        .map(|level| resolve(key.name, level, limit, mean_packet))
        .collect()
}

fn resolve(name: &str, given: Level, limit: Size, mean_packet: u64) -> Result<f64, Refusal> {
    let refuse = |why: &str, remedy: String| {
        Err(Refusal::new(
            format!("{name} = \"{given}\" with buffer = \"{limit}\": {why}"),
            remedy,
        ))
    };
    match (given, limit) {
        (Level::Packets(n), Size::Bytes(_)) => Ok(n * mean_packet as f64),
        (Level::Bytes(_), Size::Packets(_) | Size::Unlimited) => refuse(
            "the queue is counted in packets",
            format!("give {name} in packets, or the buffer in bytes"),
        ),
        (Level::OfBuffer(_), Size::Unlimited) => refuse(
            "a share of an unlimited buffer",
            format!("give {name} in packets, or a buffer"),
        ),
        (given, limit) => Ok(given.resolve(limit).unwrap_or(f64::INFINITY)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELD: Backlog = Backlog {
        packets: 3,
        bytes: 4500,
    };

    #[test]
    fn the_limit_names_the_unit() {
        assert_eq!((cost(Size::Packets(9), 1500), level(Size::Packets(9), HELD)), (1, 3));
        assert_eq!((cost(Size::Bytes(9), 1500), level(Size::Bytes(9), HELD)), (1500, 4500));
        assert_eq!((cost(Size::Unlimited, 1500), level(Size::Unlimited, HELD)), (1, 3));
    }

    #[test]
    fn a_buffer_may_be_filled_to_the_brim() {
        assert!(fits(Size::Packets(4), HELD, 9999) && !fits(Size::Packets(3), HELD, 1));
        assert!(fits(Size::Bytes(6000), HELD, 1500) && !fits(Size::Bytes(5999), HELD, 1500));
        assert!(fits(Size::Unlimited, HELD, u32::MAX));
        assert!(fits_alone(Size::Bytes(1500), 1500) && !fits_alone(Size::Bytes(1499), 1500));
    }
}
