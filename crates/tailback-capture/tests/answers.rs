//! A trace shows the answers to datagrams: at each port, in the other direction, with size and number.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use tailback_capture::trace::{PacketTrace as Trace, Traced};
use tailback_scenario::load_text;
use tailback_sim::build::hooks::Hooks;
use tailback_sim::run::run;
use tailback_sim::wire::tap::{Names, Tap};

/// A file in memory.
#[derive(Clone, Default)]
struct Page(Rc<RefCell<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn answers_are_shown() {
    let text = "duration = \"70ms\"\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"10Mbps\"\ndelay = \"20ms\"\nqueue = \
                { kind = \"droptail\", buffer = \"unlimited\" }\n[flows.f]\ntraffic = { kind = \"cbr\", rate = \
                \"80kbps\" }\npacket_size = \"200B\"\nstop = \"30ms\"\n\
                transport = { kind = \"udp\", echo = true, echo_size = \"500B\", ecn = true }\n";
    let loaded = load_text(text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let page = Page::default();
    let trace = Trace::new(Traced::Declared("f.0".into()), page.clone()).expect("memory");
    let tap = |names: &Names| -> Box<dyn Tap> { trace.tap(names) };
    let hooks = Hooks {
        tap: Some(&tap),
        ..Hooks::default()
    };
    run(&loaded.spec, 1, &hooks).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(trace.finish().expect("memory"), 8, "the paths are no events");
    let all = String::from_utf8(page.0.borrow().clone()).expect("text");
    let lines: Vec<Vec<&str>> = all.lines().skip(1).map(|l| l.split_whitespace().collect()).collect();
    let expected = [
        "0.000000000 l arrives > seq 0:200 (200) 200 B ECT",
        "0.020000000 l arrives > seq 1:201 (200) 200 B ECT",
        "0.020160000 l delivered > seq 0:200 (200) 200 B ECT",
        "0.020160000 l.reverse arrives < seq 0:500 (500) 500 B ECT",
        "0.040160000 l delivered > seq 1:201 (200) 200 B ECT",
        "0.040160000 l.reverse arrives < seq 1:501 (500) 500 B ECT",
        "0.040560000 l.reverse delivered < seq 0:500 (500) 500 B ECT",
        "0.060560000 l.reverse delivered < seq 1:501 (500) 500 B ECT",
        "path > l",
        "path < l.reverse",
    ];
    let shown: Vec<String> = lines.iter().map(|l| l.join(" ")).collect();
    assert_eq!(shown, expected);
}
