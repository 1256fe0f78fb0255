//! Answers messages as a page with the engine inside answers them, one JSON object a line, and prints the headers: what
//! a browser computes is compared with it.

use std::io::{BufRead, Write};
use tailback_web::page::{EnginePage, Progress};

fn main() {
    let mut page = EnginePage::default();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("text");
        if !page.take(line.as_bytes()) {
            while page.advance(1 << 14) == Progress::MoreToDo {}
        }
        let frame = page.answer(0.0);
        let header = frame
            .get(..4)
            .map_or(0, |n| u32::from_le_bytes([n[0], n[1], n[2], n[3]]) as usize);
        out.write_all(frame.get(4..4 + header).unwrap_or_default())
            .expect("written");
        out.write_all(b"\n").expect("written");
    }
}
