//! A line: a sentence of an RFC, as what the path does and what must be seen. The path has 100 Mb/s and a round trip of
//! 40 ms; the payload of a full datagram is 1200 B.

use crate::seen::{Look, Receiving, Seen, Treated};
use tailback_path::Ecn;

pub struct Line {
    pub section: &'static str,
    pub name: &'static str,
    pub sentence: &'static str,
    /// So many datagrams are written.
    pub datagrams: u64,
    pub treated: fn() -> Treated,
    pub needs: Needs,
    /// What is wrong, if something is.
    pub judge: fn(&View) -> Result<(), String>,
}

/// What a line needs of both ends.
#[derive(Clone, Copy, PartialEq)]
pub enum Needs {
    /// Datagrams, acknowledgements and a window.
    Nothing,
    /// The handshake of QUIC.
    Handshake,
    /// That the sender asks for acknowledgements so (draft-ietf-quic-ack-frequency).
    Asked(Asked),
}

/// An ACK_FREQUENCY frame.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Asked {
    /// So many packets may arrive without an acknowledgement.
    pub threshold: u32,
    pub delay_ms: u64,
    pub reordering: u32,
}

/// What was seen of both ends, without their types. Times are milliseconds.
pub struct View {
    /// When datagrams with data left, with their ECN codepoints.
    pub sent: Vec<(f64, Ecn)>,
    pub looks: Vec<Look>,
    pub falls: Vec<(u64, u64)>,
    /// The ECN codepoint of its first datagram of all.
    pub first: Option<Ecn>,
    /// When data arrived at the receiver, by the number of its datagram.
    pub arrived: Vec<(u32, f64)>,
    /// When the receiver answered after the first data.
    pub answers: Vec<f64>,
    /// Bytes of UDP payload that reached the receiver, and those that it sent, in all.
    pub bytes: [u64; 2],
    in_the_dark: Vec<f64>,
    lost: Vec<Option<f64>>,
}

impl View {
    pub fn of<E, R>(seen: &Seen<E>, receiver: &Receiving<R>) -> View {
        View {
            sent: seen.sent.iter().map(|s| (s.at, s.ecn)).collect(),
            looks: seen.looks.clone(),
            falls: seen.falls(),
            first: seen.first,
            arrived: receiver.arrived.clone(),
            answers: receiver.answers.clone(),
            bytes: [seen.bytes, receiver.bytes],
            in_the_dark: seen.in_the_dark.clone(),
            lost: (1..=3).map(|n| seen.lost_at(n)).collect(),
        }
    }

    /// How long it waited with each probe in the dark; several datagrams may leave together (RFC 9002 section 6.2.4).
    pub fn waits(&self) -> Vec<f64> {
        let gaps = self.in_the_dark.windows(2).map(|t| t[1] - t[0]);
        gaps.filter(|gap| *gap > 50.0).collect()
    }

    /// When the first was lost for the sender, after the n-th datagram left.
    pub fn lost_after(&self, n: usize) -> Result<f64, String> {
        let at = self.lost[0].ok_or("nothing was lost for it")?;
        Ok(at - self.sent.get(n).ok_or("too few datagrams")?.0)
    }

    pub fn arrived_at(&self, number: u32) -> Result<f64, String> {
        Ok(self.arrived.iter().find(|(n, _)| *n == number).ok_or("too few datagrams")?.1)
    }

    /// How long the receiver waited with its answer, after the datagram with this number arrived.
    pub fn answered_after(&self, number: u32) -> Result<f64, String> {
        let at = self.arrived_at(number)?;
        let answer = self.answers.iter().find(|answer| **answer >= at).ok_or("no answer")?;
        Ok(answer - at)
    }
}

pub fn check(holds: bool, said: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(said()) }
}

pub fn nothing() -> Treated {
    Treated::default()
}

pub fn dropped(numbers: &[u32]) -> Treated {
    Treated { dropped: numbers.to_vec(), ..Treated::default() }
}
