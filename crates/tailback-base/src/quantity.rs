//! Quantities as people write them: `"500Mbps"`, `"50ms"`, `"1000 packets"`, `"64KB"`, `"20%"`.
//!
//! This is the only parser of units in tailback; the scenario file, `--set`, the Python API and the declared defaults
//! all use it. Decimal prefixes are decimal (KB = 1000 B), binary ones are binary (KiB = 1024 B). A unit that could
//! mean two things is refused, and the message says what to write instead.

use crate::relative;
use crate::split::split;
use crate::time::Duration;
use std::fmt;

/// A rate in bit/s.
///
/// ```
/// use tailback_base::BitRate;
///
/// let line = BitRate(10_000_000);
/// assert_eq!(line.time_of(1500).to_string(), "1.2ms");
/// assert_eq!(line.to_string(), "10Mbps");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BitRate(pub u64);

impl BitRate {
    /// The time this many bytes take on the line, rounded to the nearest nanosecond. At a rate of 0, during an outage,
    /// the time is infinite.
    pub fn time_of(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::FOREVER;
        }
        Duration(((u128::from(bytes) * 8_000_000_000 + u128::from(self.0 / 2)) / u128::from(self.0)) as u64)
    }

    pub fn bits_per_second(self) -> f64 {
        self.0 as f64
    }

    /// The product of this rate and a round trip, in bytes.
    ///
    /// ```
    /// use tailback_base::{BitRate, Duration};
    ///
    /// assert_eq!(BitRate(10_000_000).times(Duration::from_millis(100)), 125_000.0);
    /// ```
    pub fn times(self, rtt: Duration) -> f64 {
        self.bits_per_second() * rtt.0 as f64 / 8e9
    }
}

/// A buffer size or limit: in packets, in bytes, or unlimited.
///
/// ```
/// use tailback_base::Size;
///
/// assert_eq!(Size::Packets(1000).to_string(), "1000 packets");
/// assert_eq!(Size::Unlimited.to_string(), "unlimited");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Size {
    Packets(u64),
    Bytes(u64),
    Unlimited,
}

/// A threshold on a backlog: absolute, or a share of the buffer.
///
/// ```
/// use tailback_base::{Level, Size};
///
/// let threshold = Level::OfBuffer(0.2);
/// assert_eq!(threshold.resolve(Size::Packets(1000)), Some(200.0));
/// assert_eq!(threshold.resolve(Size::Unlimited), None);
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Level {
    Packets(f64),
    Bytes(f64),
    /// A share of the buffer, 0.2 for `"20%"`.
    OfBuffer(f64),
}

impl Level {
    /// The level in the unit of `buffer`; `None` if the units differ or the buffer is unlimited.
    pub fn resolve(self, buffer: Size) -> Option<f64> {
        match (self, buffer) {
            (Level::Packets(n), Size::Packets(_) | Size::Unlimited) => Some(n),
            (Level::Bytes(n), Size::Bytes(_) | Size::Unlimited) => Some(n),
            (Level::OfBuffer(x), Size::Packets(n) | Size::Bytes(n)) => Some(x * n as f64),
            _ => None,
        }
    }
}

/// The reason why a text is not the expected quantity, and the text to write instead.
///
/// ```
/// use tailback_base::quantity::Refusal;
///
/// let e = Refusal::new("the rate is zero", "give at least 1 bps").within("rate").within("link");
/// assert_eq!(e.to_string(), "the rate is zero; give at least 1 bps");
/// assert_eq!(e.path, "link.rate");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    pub problem: String,
    pub remedy: String,
    /// The place of the error in the settings, such as `policy.tie`; empty if it concerns all of them.
    pub path: String,
}

impl Refusal {
    pub fn new(problem: impl Into<String>, remedy: impl Into<String>) -> Refusal {
        Refusal {
            problem: problem.into(),
            remedy: remedy.into(),
            path: String::new(),
        }
    }

    /// The same refusal, for settings under this key.
    pub fn within(mut self, key: &str) -> Refusal {
        self.path = match self.path.is_empty() {
            true => key.to_string(),
            false => format!("{key}.{}", self.path),
        };
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}; {}", self.problem, self.remedy)
    }
}

/// The refusal of a unit. A unit that depends on the path, such as `bdp`, is known only in scenarios.
fn no_unit(text: &str, unit: &str, what: &str, remedy: &str) -> Refusal {
    let problem = match relative::parse(text) {
        Some(_) => format!("\"{text}\" depends on the path, so it gives no {what} here"),
        None => format!("\"{unit}\" is not a unit of {what}"),
    };
    Refusal::new(problem, remedy)
}

/// A length of time: `ns`, `us`, `ms`, `s`, `min`, `h`.
///
/// ```
/// use tailback_base::{Duration, quantity::parse_time};
///
/// assert_eq!(parse_time("1.5ms"), Ok(Duration::from_micros(1500)));
/// // A unit that may mean two things is refused.
/// let e = parse_time("50m").unwrap_err();
/// assert_eq!(e.remedy, "write \"ms\" for milliseconds or \"min\" for minutes");
/// ```
pub fn parse_time(text: &str) -> Result<Duration, Refusal> {
    let remedy = "write a number with ns, us, ms, s, min or h, such as \"50ms\"";
    let (magnitude, unit) = split(text).ok_or_else(|| Refusal::new(format!("\"{text}\" is not a time"), remedy))?;
    let scale = match unit {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" | "sec" | "second" | "seconds" => 1e9,
        "min" => 60e9,
        "h" => 3600e9,
        "m" => {
            return Err(Refusal::new(
                "the unit \"m\" is ambiguous",
                "write \"ms\" for milliseconds or \"min\" for minutes",
            ));
        }
        "" => return Err(Refusal::new(format!("the time \"{text}\" has no unit"), remedy)),
        _ => return Err(no_unit(text, unit, "time", remedy)),
    };
    if magnitude < 0.0 {
        return Err(Refusal::new(
            format!("the time \"{text}\" is negative"),
            "a time here is 0 or more",
        ));
    }
    let ns = magnitude * scale;
    if ns > 9.2e18 {
        return Err(Refusal::new(
            format!("the time \"{text}\" is too long"),
            "at most 292 years can be counted",
        ));
    }
    Ok(Duration(libm::round(ns) as u64))
}

/// A rate: `bps`, `kbps`, `Mbps`, `Gbps`, `Tbps`, or the same as `Mbit/s` or `Mb/s`.
///
/// ```
/// use tailback_base::{BitRate, quantity::parse_rate};
///
/// assert_eq!(parse_rate("500Mbps"), Ok(BitRate(500_000_000)));
/// assert_eq!(parse_rate("500 Mbit/s"), parse_rate("500Mbps"));
/// assert!(parse_rate("1MB/s").unwrap_err().remedy.contains("8Mbps"));
/// ```
pub fn parse_rate(text: &str) -> Result<BitRate, Refusal> {
    match parse_rate_or_zero(text)? {
        BitRate(0) => Err(no_rate(text)),
        rate => Ok(rate),
    }
}

fn no_rate(text: &str) -> Refusal {
    Refusal::new(format!("the rate \"{text}\" is not above zero"), "give at least 1 bps")
}

/// Parse a rate that may be 0, such as that of a line in an outage: `"0bps"`.
///
/// # Errors
/// The errors are those of [`parse_rate`], and an amount between 0 and 1 bit/s.
pub fn parse_rate_or_zero(text: &str) -> Result<BitRate, Refusal> {
    let remedy = "write a number with bps, kbps, Mbps, Gbps or Tbps, such as \"500Mbps\"";
    let (magnitude, unit) = split(text).ok_or_else(|| Refusal::new(format!("\"{text}\" is not a rate"), remedy))?;
    if unit.is_empty() {
        return Err(Refusal::new(format!("the rate \"{text}\" has no unit"), remedy));
    }
    let unknown = || no_unit(text, unit, "rate", remedy);
    let stem = ["bit/s", "bits/s", "bps", "b/s"]
        .iter()
        .find_map(|tail| unit.strip_suffix(tail));
    let Some(prefix) = stem else {
        if ["Bps", "B/s", "bytes/s"].iter().any(|tail| unit.ends_with(tail)) {
            return Err(Refusal::new(
                format!("\"{unit}\" counts bytes"),
                "rates are in bits per second: write \"8Mbps\" for 1 MB/s",
            ));
        }
        return Err(unknown());
    };
    let scale = match prefix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "m" => {
            return Err(Refusal::new(
                format!("\"{unit}\" would be thousandths of a bit per second"),
                "write \"Mbps\" with a capital M",
            ));
        }
        _ => return Err(unknown()),
    };
    let bits = libm::round(magnitude * scale);
    if bits < 1.0 && magnitude != 0.0 {
        return Err(no_rate(text));
    }
    if bits > 1e14 {
        return Err(Refusal::new(
            format!("the rate \"{text}\" is too high"),
            "at most 100 Tbps",
        ));
    }
    Ok(BitRate(bits as u64))
}

/// The number of bytes that a unit stands for; `None` if it is not a unit of bytes.
fn byte_unit(unit: &str) -> Result<Option<f64>, Refusal> {
    Ok(Some(match unit {
        "B" | "byte" | "bytes" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1048576.0,
        "GiB" => 1073741824.0,
        "K" | "k" | "M" | "G" => {
            return Err(Refusal::new(
                format!("the unit \"{unit}\" does not say what it counts"),
                format!("write \"{}B\" for bytes", unit.to_uppercase()),
            ));
        }
        "b" | "kb" | "Kb" | "Mb" | "Gb" | "kbit" | "Mbit" | "Gbit" => {
            return Err(Refusal::new(
                format!("\"{unit}\" counts bits"),
                "sizes are in bytes: write \"KB\", \"MB\" or \"KiB\"",
            ));
        }
        _ => return Ok(None),
    }))
}

fn is_packets(unit: &str) -> bool {
    matches!(unit, "packet" | "packets" | "pkt" | "pkts")
}

fn whole(text: &str, x: f64) -> Result<u64, Refusal> {
    if x < 0.0 {
        return Err(Refusal::new(format!("\"{text}\" is negative"), "a size is 0 or more"));
    }
    if x > 9e15 {
        return Err(Refusal::new(
            format!("\"{text}\" is too large"),
            "write \"unlimited\" for no limit",
        ));
    }
    if (x - libm::round(x)).abs() > 1e-9 {
        return Err(Refusal::new(
            format!("\"{text}\" is not a whole number"),
            "give a whole number of packets or bytes",
        ));
    }
    Ok(libm::round(x) as u64)
}

/// A size in packets or bytes, or `"unlimited"`.
///
/// ```
/// use tailback_base::{Size, quantity::parse_size};
///
/// assert_eq!(parse_size("1000 packets"), Ok(Size::Packets(1000)));
/// assert_eq!(parse_size("64KiB"), Ok(Size::Bytes(65_536)));
/// assert_eq!(parse_size("unlimited"), Ok(Size::Unlimited));
/// ```
pub fn parse_size(text: &str) -> Result<Size, Refusal> {
    let remedy = "write a number with packets, B, KB or KiB, such as \"1000 packets\" or \"64KB\", or \"unlimited\"";
    if text.trim() == "unlimited" {
        return Ok(Size::Unlimited);
    }
    let (magnitude, unit) = split(text).ok_or_else(|| Refusal::new(format!("\"{text}\" is not a size"), remedy))?;
    if unit.is_empty() {
        return Err(Refusal::new(format!("the size \"{text}\" has no unit"), remedy));
    }
    if is_packets(unit) {
        return Ok(Size::Packets(whole(text, magnitude)?));
    }
    match byte_unit(unit)? {
        Some(scale) => Ok(Size::Bytes(whole(text, magnitude * scale)?)),
        None => Err(no_unit(text, unit, "size", remedy)),
    }
}

/// An amount of bytes.
///
/// ```
/// use tailback_base::quantity::parse_bytes;
///
/// assert_eq!(parse_bytes("1.5KB"), Ok(1500));
/// assert!(parse_bytes("3 packets").is_err());
/// ```
pub fn parse_bytes(text: &str) -> Result<u64, Refusal> {
    match parse_size(text)? {
        Size::Bytes(n) => Ok(n),
        _ => Err(Refusal::new(
            format!("\"{text}\" is not a number of bytes"),
            "write it with B, KB, MB or KiB, such as \"1500B\"",
        )),
    }
}

/// A threshold: packets, bytes, or a percentage of the buffer.
///
/// ```
/// use tailback_base::{Level, quantity::parse_level};
///
/// assert_eq!(parse_level("20%"), Ok(Level::OfBuffer(0.2)));
/// assert_eq!(parse_level("5 packets"), Ok(Level::Packets(5.0)));
/// ```
pub fn parse_level(text: &str) -> Result<Level, Refusal> {
    let remedy = "write packets, bytes or a share of the buffer, such as \"5 packets\", \"30KB\" or \"20%\"";
    let (magnitude, unit) =
        split(text).ok_or_else(|| Refusal::new(format!("\"{text}\" is not a threshold"), remedy))?;
    if magnitude < 0.0 {
        return Err(Refusal::new(format!("the threshold \"{text}\" is negative"), remedy));
    }
    match unit {
        "%" => Ok(Level::OfBuffer(magnitude / 100.0)),
        "" => Err(Refusal::new(format!("the threshold \"{text}\" has no unit"), remedy)),
        _ if is_packets(unit) => Ok(Level::Packets(magnitude)),
        _ => match byte_unit(unit)? {
            Some(scale) => Ok(Level::Bytes(magnitude * scale)),
            None => Err(no_unit(text, unit, "threshold", remedy)),
        },
    }
}

/// Write the shortest text that is read back as this rate.
impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (scale, unit) in [
            (1_000_000_000_000, "Tbps"),
            (1_000_000_000, "Gbps"),
            (1_000_000, "Mbps"),
            (1_000, "kbps"),
        ] {
            if self.0 >= scale && self.0.is_multiple_of(scale / 1000) {
                return write!(f, "{}{unit}", self.0 as f64 / scale as f64);
            }
        }
        write!(f, "{}bps", self.0)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (scale, unit) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
            if self.0 >= scale && self.0.is_multiple_of(scale / 1000) {
                return write!(f, "{}{unit}", self.0 as f64 / scale as f64);
            }
        }
        if self.0 == 0 {
            write!(f, "0s")
        } else {
            write!(f, "{}ns", self.0)
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Size::Packets(n) => write!(f, "{n} packets"),
            Size::Bytes(n) => write!(f, "{n}B"),
            Size::Unlimited => write!(f, "unlimited"),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Level::Packets(n) => write!(f, "{n} packets"),
            Level::Bytes(n) => write!(f, "{n}B"),
            Level::OfBuffer(x) => write!(f, "{}%", x * 100.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_written() {
        assert_eq!(parse_time("50ms").unwrap(), Duration(50_000_000));
        assert_eq!(parse_time("1.5 s").unwrap(), Duration(1_500_000_000));
        assert_eq!(parse_time("2e-3s").unwrap(), Duration(2_000_000));
        assert_eq!(parse_rate("500Mbps").unwrap(), BitRate(500_000_000));
        assert_eq!(parse_rate("1.2 Gbit/s").unwrap(), BitRate(1_200_000_000));
        assert_eq!(parse_size("1000 packets").unwrap(), Size::Packets(1000));
        assert_eq!(parse_size("64KB").unwrap(), Size::Bytes(64_000));
        assert_eq!(parse_size("64KiB").unwrap(), Size::Bytes(65_536));
        assert_eq!(parse_level("20%").unwrap(), Level::OfBuffer(0.2));
        assert_eq!(BitRate(500_000_000).time_of(1500), Duration(24_000));
    }

    #[test]
    fn ambiguous_or_wrong_units_are_refused_with_a_remedy() {
        for (text, hint) in [("5m", "min"), ("5", "ms"), ("5parsec", "ms"), ("-5ms", "0 or more")] {
            assert!(parse_time(text).unwrap_err().remedy.contains(hint), "{text}");
        }
        for (text, hint) in [
            ("5mbps", "Mbps"),
            ("5MB/s", "bits"),
            ("0Mbps", "1 bps"),
            ("5", "Mbps"),
            ("fast", "Mbps"),
        ] {
            assert!(parse_rate(text).unwrap_err().remedy.contains(hint), "{text}");
        }
        for (text, hint) in [
            ("64K", "KB"),
            ("64Kb", "bytes"),
            ("10", "packets"),
            ("1.5 packets", "whole"),
        ] {
            assert!(parse_size(text).unwrap_err().remedy.contains(hint), "{text}");
        }
    }

    #[test]
    fn what_is_printed_reads_back() {
        for bits in [
            1,
            999,
            1_000,
            1_500_000,
            500_000_000,
            1_200_000_000,
            123_456_789,
            100_000_000_000_000,
        ] {
            assert_eq!(parse_rate(&BitRate(bits).to_string()).unwrap(), BitRate(bits));
        }
        for ns in [0, 1, 999, 1_000, 49_500_000, 1_500_000_000, 123_456_789] {
            assert_eq!(parse_time(&Duration(ns).to_string()).unwrap(), Duration(ns));
        }
    }
}
