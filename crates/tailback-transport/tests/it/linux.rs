//! The profile `linux` over a whole transfer; its dialogues are `tests/dialogues/linux.toml`.

use crate::common::Fate;
use std::sync::Arc;
use tailback_base::{Duration, Ecn, Settings, Time};
use tailback_transport::tcp::{Config, MODEL, new_pair};
use tailback_transport::{Amount, Endpoint, Flags, SackBlocks, Segment, Transmit};

const MSS: u64 = 1448;

fn ms(t: u64) -> Time {
    Time(t * 1_000_000)
}

fn linux(values: &[(&str, &str)]) -> Arc<Config> {
    let base = Settings::defaults(&MODEL).with("profile", "linux");
    let s = values.iter().fold(base, |s, (n, v)| s.with(n, v));
    Arc::new(Config::resolve(&s, &[]).unwrap())
}

/// A download of 20 segments: the first 16 get an ACK each, then one ACK per two segments. After more than a second
/// of idle time it is as at the start. At most half the advertised window.
#[test]
fn the_first_segments_are_acknowledged_one_by_one() {
    let acks = |rwnd: &str, segments: u64, gap: Duration| {
        let (_, mut r) = new_pair(&linux(&[("syn", "false"), ("rwnd", rwnd)]));
        let mut now = ms(0);
        let mut n = 0;
        for i in 0..segments {
            now += if i == 20 { gap } else { Duration::from_micros(600) };
            let s = Segment {
                seq: 1 + i * MSS,
                payload: MSS as u32,
                ack: 1,
                flags: Flags::ACK,
                ecn: Ecn::NotEct,
                bytes: 1500,
                sack: SackBlocks::new(),
                timestamps: Some((now, Time::ZERO)),
                window: None,
                counts: None,
            };
            r.on_segment(&s, now, &mut ());
            while let Transmit::Segment(_) = r.poll_transmit(now) {
                n += 1;
            }
        }
        n
    };
    let short = Duration::from_micros(600);
    assert_eq!(acks("unlimited", 16, short), 16);
    assert_eq!(acks("unlimited", 20, short), 18);
    assert_eq!(acks("unlimited", 36, short), 26);
    assert_eq!(acks("unlimited", 36, Duration::from_millis(1001)), 34);
    assert_eq!(acks("14480B", 20, short), 5 + 7);
}

/// All settings together over a path that loses and reorders: what arrives is right, and the settings do what the
/// transfer needs.
#[test]
fn a_transfer_over_a_bad_path_ends() {
    for congestion in ["reno", "cubic", "bbr"] {
        let cfg = linux(&[("congestion", congestion)]);
        let mut p = crate::common::Path::new(&cfg, 20);
        p.sender.write(Amount::Bytes(300 * MSS + 7), Time::ZERO);
        let mut n = 0u64;
        p.run(60.0, &mut |s, _| {
            n += 1;
            match n % 23 {
                7 if s.payload > 0 => Fate::Drop,
                11 => Fate::Late(Duration::from_millis(9)),
                _ => Fate::Pass,
            }
        });
        assert_eq!(p.receiver.received_bytes(), 300 * MSS + 7, "{congestion}");
        assert_eq!(p.sender.report(p.now).timeouts, 0, "{congestion}");
    }
}
