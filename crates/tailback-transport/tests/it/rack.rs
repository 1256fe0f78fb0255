//! Losses of a short transfer and RACK-TLP (RFC 8985); its dialogues are `tests/dialogues/rack.toml`.

use crate::common::{Fate, PAYLOAD, Path, config, number};
use tailback_base::Time;
use tailback_transport::{Amount, Endpoint};

const BY_TIME: &[(&str, &str)] = &[
    ("variant", "sack"),
    ("loss", "rack"),
    ("syn", "false"),
    ("ecn", "off"),
    ("initial_window", "20 packets"),
];

fn path(values: &[(&str, &str)]) -> Path {
    let base = [
        ("syn", "true"),
        ("min_rto", "200ms"),
        ("initial_window", "10 packets"),
        ("delayed_ack", "1"),
    ];
    let all: Vec<(&str, &str)> = BY_TIME.iter().chain(&base).chain(values).copied().collect();
    Path::new(&config(&all), 20)
}

/// Whatever is lost of a short transfer, it ends, and earlier than with the timer alone.
#[test]
fn every_loss_of_a_short_transfer_is_repaired() {
    let cases: Vec<Vec<u64>> = (0..256u64)
        .map(|mask| (1..=8).filter(|n| mask >> (n - 1) & 1 == 1).collect())
        .collect();
    let mut sums = [0.0; 2];
    for lost in &cases {
        for (i, loss) in ["rack", "dupthresh"].into_iter().enumerate() {
            let mut p = path(&[("loss", loss)]);
            p.sender.write(Amount::Bytes(7 * PAYLOAD + 10), Time::ZERO);
            let mut left = lost.clone();
            p.run(
                60.0,
                &mut |s, _| match left.iter().position(|n| *n == number(s) && s.payload > 0) {
                    Some(i) => {
                        left.remove(i);
                        Fate::Drop
                    }
                    None => Fate::Pass,
                },
            );
            assert_eq!(p.receiver.received_bytes(), 7 * PAYLOAD + 10, "{loss}: {lost:?}");
            sums[i] += p.acks.last().unwrap().0.seconds() / cases.len() as f64;
        }
    }
    println!("mean time: rack {:.3} s, dupthresh {:.3} s", sums[0], sums[1]);
    assert!(sums[0] < sums[1] - 0.02, "{sums:?}");
}
