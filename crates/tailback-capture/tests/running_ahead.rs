//! Running ahead has no effect on a capture. Networks are drawn, and a link of each is captured twice: normally, and
//! with an event for every packet-hop. The files are the same, and a capture changes no result.
//!
//! `TAILBACK_CASES=100000` draws this many; `TAILBACK_SEED` is the number of the first.

#[path = "../../tailback-scenario/tests/common/drawn.rs"]
mod drawn;

use drawn::Draw;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use tailback_capture::pcapng::Capture;
use tailback_scenario::{Loaded, load_text};
use tailback_sim::build::hooks::Hooks;
use tailback_sim::results::Outcome;
use tailback_sim::run::run;
use tailback_sim::wire::tap::Names;

/// A file in memory.
#[derive(Clone, Default)]
struct File(Rc<RefCell<Vec<u8>>>);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The capture of a link, the number of its packets, and the result of the run.
fn captured(loaded: &Loaded, case: u64, link: &str, one_by_one: bool) -> Option<(Vec<u8>, u64, Outcome)> {
    let file = File::default();
    let capture = Capture::new(link, file.clone()).unwrap();
    let tap = |names: &Names| capture.tap(names);
    let hooks = Hooks {
        tap: Some(&tap),
        one_by_one,
        ..Hooks::default()
    };
    let outcome = run(&loaded.spec, case, &hooks).ok()?;
    let packets = capture.finish().unwrap();
    Some((file.0.take(), packets, outcome))
}

fn tables(o: &Outcome) -> String {
    let columns = o.tables.iter().flat_map(|t| &t.columns);
    columns.map(|c| format!("{} {:?}\n", c.name, c.data)).collect()
}

#[test]
fn a_capture_is_the_same_however_it_was_run() {
    let number = |name: &str, default: u64| {
        let text = std::env::var(name).ok();
        text.map_or(default, |t| t.parse().expect("a number"))
    };
    let (first, cases) = (number("TAILBACK_SEED", 0), number("TAILBACK_CASES", 150));
    let (mut ran, mut packets, mut hops, mut ahead) = (0, 0, 0, 0);
    for case in first..first + cases {
        let (text, link) = Draw::new(case).scenario();
        let Ok(loaded) = load_text(&text, "drawn.toml", &[]) else {
            continue;
        };
        let Some((bytes, n, outcome)) = captured(&loaded, case, &link, false) else {
            continue;
        };
        let (others, _, one_by_one) = captured(&loaded, case, &link, true).expect("it ran before");
        assert!(bytes == others, "case {case}, link {link}:\n{text}");
        let plain = run(&loaded.spec, case, &Hooks::default()).expect("it ran before");
        for other in [&one_by_one, &plain] {
            assert!(tables(&outcome) == tables(other), "case {case}, link {link}:\n{text}");
        }
        (ran, packets) = (ran + 1, packets + n);
        (hops, ahead) = (hops + outcome.engine.packet_hops, ahead + outcome.engine.handed_ahead);
    }
    println!(
        "seeds {first} to {}: {ran} networks ran, {packets} packets captured, {ahead} of {hops} hops ahead",
        first + cases - 1
    );
    assert!(ran * 5 >= cases * 4, "only {ran} of {cases} drawn networks ran");
    assert!(
        ahead * 8 >= hops,
        "of {hops} hops only {ahead} ran ahead: nothing is tested"
    );
}
