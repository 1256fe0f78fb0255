//! Spurious repairs over a path that stands still; the dialogues are `tests/dialogues/undo.toml`.

use crate::common::{Fate, PAYLOAD, Path, config, lose};
use tailback_base::{Duration, Time};
use tailback_transport::{Amount, Endpoint};

fn ms(t: u64) -> Time {
    Time(t * 1_000_000)
}

/// Contradictions are refused, with what to write instead.
#[test]
fn a_test_without_an_undo_is_refused() {
    use tailback_base::Settings;
    use tailback_transport::tcp::{Config, MODEL};
    let refused = |values: &[(&str, &str)]| {
        let s = values.iter().fold(Settings::defaults(&MODEL), |s, (n, v)| s.with(n, v));
        Config::resolve(&s, &[]).unwrap_err()
    };
    assert!(refused(&[("frto", "true")]).remedy.contains("undo = \"full\""));
    assert!(
        refused(&[("frto", "true"), ("undo", "full"), ("timeout_reaction", "halve")])
            .problem
            .contains("goes back")
    );
    assert!(
        refused(&[("prr", "losses"), ("variant", "tahoe")])
            .problem
            .contains("tahoe")
    );
}

/// A whole transfer over a path that sometimes stands still: with the test fewer segments are sent again, and it ends
/// earlier.
#[test]
fn a_path_that_stands_still_costs_less() {
    let run = |values: &[(&str, &str)]| {
        let base = [("variant", "sack"), ("min_rto", "200ms"), ("ecn", "off")];
        let all: Vec<(&str, &str)> = base.iter().chain(values).copied().collect();
        let mut p = Path::new(&config(&all), 25);
        p.sender.write(Amount::Bytes(400 * PAYLOAD), Time::ZERO);
        let mut hand = lose(&[]);
        let mut arrives = Time::ZERO;
        for step in 1..4000 {
            let now = f64::from(step) * 0.001;
            p.run(now, &mut |s, i| {
                // Nothing moves from 0.2 s to 0.7 s; what was sent then arrives in order after it.
                let leaves = ms(step as u64);
                if hand(s, i) == Fate::Pass && leaves >= ms(200) && leaves < ms(700) {
                    arrives = arrives.max(ms(700)) + Duration::from_micros(100);
                    return Fate::Late(arrives.since(leaves));
                }
                Fate::Pass
            });
        }
        assert_eq!(p.receiver.received_bytes(), 400 * PAYLOAD);
        (p.repeated().len(), p.acks.last().unwrap().0.seconds())
    };
    let plain = run(&[]);
    for values in [
        &[("undo", "full"), ("frto", "true")][..],
        &[("undo", "full"), ("frto", "true"), ("loss", "rack")],
        &[("undo", "full"), ("timestamps", "true")],
    ] {
        let tested = run(values);
        println!("{values:?}: {tested:?} against {plain:?}");
        assert!(
            tested.0 + 5 < plain.0 && tested.1 < plain.1,
            "{values:?}: {tested:?}, {plain:?}"
        );
    }
}
