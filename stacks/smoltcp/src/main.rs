//! One end of smoltcp by hand: commands by line on standard input, with times in ns. Each answer is the packets that it
//! has sent, as a time and hexadecimal digits, and a line with a full stop.
//!
//! `advance TIME`, `receive PACKET`, `write BYTES`. The argument is its congestion control: `reno` or `cubic`.

use smoltcp::socket::tcp::CongestionControl;
use smoltcp_stack::Smoltcp;
use std::io::{BufRead, Write, stdin, stdout};
use tailback_path::{Amount, Endpoint, Time};

/// Of each direction, bytes: more than a dialogue sends.
const BUFFER: usize = 1 << 20;

struct Hand {
    end: Smoltcp,
    now: Time,
}

impl Hand {
    fn say(&mut self) {
        while let Some(packet) = self.end.transmit(self.now) {
            let digits: String = packet.data.iter().map(|byte| format!("{byte:02x}")).collect();
            println!("{} {digits}", self.now.0);
        }
    }

    fn advance(&mut self, until: Time) {
        while let Some(due) = self.end.timeout().filter(|due| *due <= until) {
            self.now = due.max(self.now);
            self.end.on_timeout(self.now);
            self.say();
        }
        self.now = until;
    }

    fn obey(&mut self, words: &[&str]) -> Option<()> {
        match words {
            ["advance", until] => self.advance(Time(until.parse().ok()?)),
            ["receive", digits] => {
                let byte = |i| u8::from_str_radix(digits.get(i..i + 2)?, 16).ok();
                let packet = (0..digits.len()).step_by(2).map(byte).collect::<Option<_>>()?;
                self.end.receive(packet, tailback_path::Ecn::NotEct, self.now);
            }
            ["write", bytes] => self.end.write(Amount::Bytes(bytes.parse().ok()?), self.now),
            _ => return None,
        }
        self.say();
        Some(())
    }
}

fn main() {
    let control = match std::env::args().nth(1).as_deref() {
        Some("reno") => CongestionControl::Reno,
        Some("cubic") => CongestionControl::Cubic,
        other => panic!("reno or cubic, not {other:?}"),
    };
    let mut hand = Hand { end: Smoltcp::client(1, control, BUFFER), now: Time::ZERO };
    hand.end.start(Time::ZERO);
    for line in stdin().lock().lines() {
        let line = line.expect("a line of text");
        let words: Vec<&str> = line.split_whitespace().collect();
        hand.obey(&words).unwrap_or_else(|| panic!("{line:?} is no command"));
        println!(".");
        stdout().flush().expect("somebody listens");
    }
}
