//! The messages about dialogues that cannot be read or played.

use super::{Driven, Net, PAYLOAD, play, read};
use crate::tcp::{Config, MODEL, new_pair};
use std::sync::Arc;
use tailback_base::Settings;

/// The line and the word of each fault, as a user sees them.
#[test]
fn a_wrong_dialogue_is_said() {
    for (text, says) in [
        (
            "0ms jump 3",
            "line 1, `jump`: there is no such step; there are open, write,",
        ),
        (
            "10ms write 1\n5ms write 1",
            "line 2, `ms`: this is before the step above it",
        ),
        ("0ms write none", "line 1, `none`: write a whole number from 0"),
        ("0ms < ack 3 sock 4", "line 1, `sock`: an acknowledgement has sack"),
        ("0ms > 5-3", "line 1, `3`: this range ends before it begins"),
        ("0ms > 5 ecn", "line 1, `ecn`: a segment has cwr"),
        ("0ms cwnd = 3 / 4", "line 1, `/`: there is no '/' here; write + - or *"),
        ("0ms cwnd 3", "line 1, `cwnd`: there is no such step"),
        ("0ms path 3", "line 1, `3`: write a time here"),
        ("0ms path 3ms room 4", "write how long the line takes for a segment"),
        ("0ms path 3ms each 1ms room 4 bucket 2", "in a bucket nothing waits"),
        ("late 3\n5ms write 1", "line 2, `5`: write a time here"),
        ("# nothing", "line 1: the dialogue has no steps"),
        (
            "0ms write 999999999999999999999",
            "this is too many; write a whole number up to 1000000",
        ),
        ("0ms < ack 99999999999", "this is too many"),
        ("0ms lose 1-99999999999", "this is too many"),
        ("0ms lose 5 x99999999999999", "write x1 to x1000000"),
        (
            "99999999999999999999s write 1",
            "this time is too long; write at most 100000s",
        ),
        ("0ms path 99999999999999999999s", "this time is too long"),
        (
            "write 1 write 2",
            "line 1, `write`: a step ends here; write `;` or a new line",
        ),
        ("says A SYN; read 3", "line 1, `3`: write `read on` or `read off`"),
        ("> at least 2 cwr", "line 1, `cwr`: write cwr-first or nothing"),
        ("copies 3 40ms", "line 1, `40`: write the times after `at`"),
        ("keep 3 = 3", "line 1, `3`: write `keep NAME = STATE`"),
    ] {
        let fault = read(text).expect_err(text).to_string();
        assert!(fault.contains(says), "{text}: {fault}");
    }
}

fn played(text: &str) -> String {
    let settings = Settings::defaults(&MODEL).with("payload", &format!("{PAYLOAD}B"));
    let cfg = Arc::new(Config::resolve(&settings, &[]).unwrap());
    let (a, b) = new_pair(&cfg);
    let mut net = Net::new(Box::new(Driven::new(Box::new(a))), Box::new(Driven::new(Box::new(b))));
    play(&read(text).unwrap(), &mut net).unwrap_err().to_string()
}

#[test]
fn what_does_not_hold_is_said() {
    for (text, says) in [
        (
            "open 10ms\nwidow = 3",
            "line 2, 0 ms: expected `widow = 3`; there is no state 'widow'; there are advmss,",
        ),
        ("open 10ms; write 3; 5ms > 1-2", "expected `> 1-2`; it sent 1-3 at 0 ms"),
        (
            "open 10ms; write 3; > 1-3 cwr",
            "segment 1 has no-cwr, no-ece, ect0, and not cwr",
        ),
        ("open 10ms; write 3; > at most 2", "it sent 1-3 at 0 ms"),
        ("open 10ms; write 3; again 2", "expected `again 2`; it sent nothing"),
        ("open 10ms; write 3; copies 2 at 1ms", "it was sent at 0 ms"),
        (
            "open 10ms; write 3; keep W = sent; sent < 2 * W - 4",
            "sent is 3, and W is 2",
        ),
        (
            "open 10ms; < ack 0 of 7",
            "segment 7 has not been sent, so its time stamp cannot be echoed",
        ),
        (
            "path 10ms; write 1; 1s says A SYN, B SYN",
            "they said A SYN, B SYN+ACK, A ACK 1000, B ACK",
        ),
        ("path 10ms; lose 1; write 2; 16ms B > ack 1", "it sent ack 0 [(2, 2)]"),
        (
            "path 10ms; write 2; path 10ms every 2; 16ms B received = 2",
            "received is 1",
        ),
        ("B > ack 1", "it sent no ack"),
        (
            "path 10ms; write forever; 100s cwnd > 1",
            "more than 200000 segments were sent; lose one",
        ),
        ("wait timeouts = 3", "timeouts is 0"),
    ] {
        let broken = played(text);
        assert!(broken.contains(says), "{text}: {broken}");
    }
}
