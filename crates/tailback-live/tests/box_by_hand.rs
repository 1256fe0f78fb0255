//! The box without sockets and clock: real bytes in, real bytes out, at the instants of the scenario's network.

use etherparse::{IpEcn, Ipv4Header, PacketBuilder};
use std::collections::HashMap;
use tailback_base::{Ecn, FlowId, Time};
use tailback_live::conversations::{Conversations, Learned};
use tailback_live::crossing::{BoxSide, Crossing};
use tailback_live::wire::{Tuple, parse};
use tailback_scenario::load_text;

const NEAR: [u8; 4] = [10, 0, 0, 1];
const FAR: [u8; 4] = [10, 0, 0, 2];

/// 8 Mb/s, so one byte takes a microsecond; 10 ms in each direction.
fn scenario(queue: &str, more: &str) -> String {
    format!(
        r#"
duration = "2s"
[link.line]
from = "near"
to = "far"
rate = "8Mbps"
delay = "10ms"
queue = {queue}
{more}
[flows.real]
from = "near"
to = "far"
count = 2
"#
    )
}

fn packet(port: u16, bytes: usize, ecn: Ecn) -> Vec<u8> {
    let mut ip = Ipv4Header::new(0, 64, etherparse::IpNumber::UDP, NEAR, FAR).unwrap();
    ip.ecn = IpEcn::try_new(ecn as u8).unwrap();
    let mut packet = vec![];
    let builder = PacketBuilder::ip(etherparse::IpHeaders::Ipv4(ip, Default::default()));
    builder.udp(port, 9).write(&mut packet, &vec![7; bytes - 28]).unwrap();
    packet
}

fn crossing(text: &str) -> Crossing {
    let tuple = |port| Tuple {
        source: NEAR.into(),
        destination: FAR.into(),
        protocol: 17,
        ports: [port, 9],
    };
    let flows = HashMap::from([(tuple(1), FlowId(0)), (tuple(2), FlowId(1))]);
    let loaded = load_text(text, "test", &[]).unwrap();
    Crossing::new(&loaded.spec, 1, Conversations::Declared(flows)).unwrap()
}

/// What comes out when the box is called at these instants: side, bytes, due time.
fn look(c: &mut Crossing, at: &[u64]) -> Vec<(BoxSide, Vec<u8>, u64)> {
    let mut out = vec![];
    for us in at {
        let now = Time(us * 1000);
        c.advance(now, &mut |side, bytes, due| {
            out.push((side, bytes.to_vec(), due.0 / 1000));
            now
        });
    }
    out
}

#[test]
fn packets_come_out_as_they_were_at_the_instants_of_the_line() {
    let mut c = crossing(&scenario(r#"{ kind = "fq", conversation = "tuple" }"#, ""));
    let (a, b) = (packet(1, 1000, Ecn::NotEct), packet(2, 500, Ecn::Ect0));
    assert!(c.enter(Time(1_000_000), BoxSide::Near, &a, 0));
    assert!(c.enter(Time(1_000_001), BoxSide::Near, &b, 0));
    // The first packet gets the line at once, for 1 ms; the second follows. The box was not called until all were
    // long due.
    let out = look(&mut c, &[500_000]);
    let due: Vec<u64> = out.iter().map(|o| o.2).collect();
    assert_eq!(due, [12_000, 12_500]);
    assert_eq!((&out[0].1, &out[1].1), (&a, &b));
    assert!(out.iter().all(|o| o.0 == BoxSide::Far));
    assert_eq!((c.passed.entered, c.passed.emitted, c.inside()), (2, 2, 0));
}

#[test]
fn looking_often_or_late_changes_no_instant() {
    let run = |looks: &[u64]| {
        let mut c = crossing(&scenario(r#"{ kind = "codel" }"#, ""));
        let mut out = vec![];
        for i in 0..400u64 {
            let now = Time(i * 700_000);
            c.enter(now, BoxSide::Near, &packet(1 + (i % 2) as u16, 1000, Ecn::NotEct), 0);
            let now_and_then = [i * 700 + 1];
            out.extend(look(&mut c, &now_and_then[..usize::from(i % 3 == 0)]));
        }
        out.extend(look(&mut c, looks));
        out.iter().map(|o| o.2).collect::<Vec<u64>>()
    };
    let often: Vec<u64> = (280_000..900_000).step_by(100).collect();
    let instants = run(&often);
    assert!(instants.len() < 400, "CoDel drops some");
    assert_eq!(instants, run(&[900_000]));
}

#[test]
fn a_mark_is_written_into_the_header_and_answers_come_back() {
    let red = r#"{ kind = "red", min_threshold = "1 packets", max_threshold = "2 packets", weight = 1,"#;
    let marking = "max_probability = 1, ecn = true, mark_above_max = true }";
    let mut c = crossing(&scenario(&format!("{red} {marking}"), ""));
    for i in 0..10 {
        c.enter(Time(1000 * i), BoxSide::Near, &packet(1, 1000, Ecn::Ect0), 0);
    }
    let out = look(&mut c, &[900_000]);
    let marked: Vec<bool> = out.iter().map(|o| parse(&o.1).unwrap().ecn == Ecn::Ce).collect();
    assert!(marked[9] && !marked[0], "{marked:?}");
    assert_eq!(c.passed.emitted_marked, marked.iter().filter(|m| **m).count() as u64);
    for o in &out {
        let (ip, _) = Ipv4Header::from_slice(&o.1).unwrap();
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
    }
    // The other direction: from the far side, with source and destination exchanged.
    let mut answer = vec![];
    let builder = PacketBuilder::ipv4(FAR, NEAR, 64).udp(9, 1);
    builder.write(&mut answer, &[1; 72]).unwrap();
    assert!(c.enter(Time(1_000_000_000), BoxSide::Far, &answer, 0));
    let back = look(&mut c, &[1_500_000]);
    assert_eq!((back[0].0, back[0].2), (BoxSide::Near, 1_010_100));
}

/// A flow whose source is on the far side goes the scenario's way from there, and its answers come from the near side.
#[test]
fn a_source_may_be_on_the_far_side() {
    let mut c = crossing(&scenario(r#""droptail""#, ""));
    assert!(c.enter(Time(0), BoxSide::Far, &packet(1, 1000, Ecn::NotEct), 0));
    let mut answer = vec![];
    let builder = PacketBuilder::ipv4(FAR, NEAR, 64).udp(9, 1);
    builder.write(&mut answer, &[1; 72]).unwrap();
    assert!(c.enter(Time(1_000_000), BoxSide::Near, &answer, 0));
    let out = look(&mut c, &[100_000]);
    let seen: Vec<(BoxSide, u64)> = out.iter().map(|o| (o.0, o.2)).collect();
    // Forward over the line of 8 Mb/s, with its answer on the way back.
    assert_eq!(seen, [(BoxSide::Near, 11_000), (BoxSide::Far, 11_100)]);
}

fn numbered(number: u64, bytes: usize) -> Vec<u8> {
    let mut p = packet(1, bytes, Ecn::NotEct);
    p[28..36].copy_from_slice(&number.to_le_bytes());
    p
}

/// Datagrams with numbers whose ends measure: what never came to the box counts as lost, and the delays are those of
/// the ends.
#[test]
fn ends_that_number_their_datagrams_measure_them() {
    let answered = r#"[flows.real]
deadline = "150ms"
transport = { kind = "udp", echo = true }
packet_size = "100B"
traffic = { kind = "cbr", rate = "8kbps" }"#;
    let text = scenario(r#""droptail""#, "").replace("[flows.real]", answered);
    let mut c = crossing(&text);
    c.expect_numbers(FlowId(0));
    c.expect_measures(FlowId(0));
    // Number 1 was dropped before the box.
    for number in [0, 2, 3] {
        assert!(c.enter(Time(number * 1_000_000), BoxSide::Near, &numbered(number, 100), 0));
    }
    look(&mut c, &[900_000]);
    let ms = tailback_base::Duration::from_millis;
    // A later answer than that to number 2 has come back, so the answer to number 2 is lost.
    c.measures(
        FlowId(0),
        &[(0, ms(11)), (2, ms(30)), (3, ms(12))],
        &[(0, ms(25)), (3, ms(40))],
    );
    let (tables, _) = c.finish(Time(1_000_000_000)).unwrap();
    let cell = |name: &str| format!("{:?}", tables["datagrams"].column(name).unwrap().data);
    assert!(
        cell("sent_packets").starts_with("Count([4,"),
        "{}",
        cell("sent_packets")
    );
    assert!(cell("received_packets").starts_with("Count([3,"));
    assert!(cell("lost_packets").starts_with("Count([1,"));
    assert!(
        cell("answered_packets").starts_with("Real([2.0,"),
        "{}",
        cell("answered_packets")
    );
    assert!(cell("lost_answers_packets").starts_with("Real([1.0,"));
    assert!(cell("delay_max_s").starts_with("Real([0.03"), "{}", cell("delay_max_s"));
    assert!(cell("rtt_max_s").starts_with("Real([0.04"), "{}", cell("rtt_max_s"));
}

#[test]
fn strangers_are_not_forwarded() {
    let mut c = crossing(&scenario(r#""droptail""#, ""));
    assert!(!c.enter(Time(5), BoxSide::Near, &packet(3, 100, Ecn::NotEct), 0));
    assert!(!c.enter(Time(7), BoxSide::Near, &[0; 9], 0));
    assert_eq!((c.passed.strangers, c.passed.entered), (2, 0));
    assert!(look(&mut c, &[100_000]).is_empty());
}

#[test]
fn impairments_harm_real_packets_as_they_harm_simulated_ones() {
    let twice = r#"impair = [{ kind = "duplicate", probability = 1.0 }]"#;
    let mut c = crossing(&scenario(r#""droptail""#, twice));
    c.enter(Time(1000), BoxSide::Near, &packet(1, 1000, Ecn::NotEct), 0);
    let out = look(&mut c, &[100_000]);
    assert_eq!(out.len(), 2);
    assert_eq!(out[0].1, out[1].1);
    let lost = r#"impair = [{ kind = "every-nth", n = 2 }]"#;
    let mut c = crossing(&scenario(r#""droptail""#, lost));
    for i in 0..10 {
        c.enter(Time(1000 + i), BoxSide::Near, &packet(1, 100, Ecn::NotEct), 0);
    }
    assert_eq!((look(&mut c, &[100_000]).len(), c.inside()), (5, 0));
}

#[test]
fn learned_conversations_share_the_last_flow_when_all_are_taken() {
    let loaded = load_text(&scenario(r#""droptail""#, ""), "test", &[]).unwrap();
    let mut c = Crossing::new(&loaded.spec, 1, Conversations::Learned(Learned::new(2))).unwrap();
    for port in 1..=5 {
        assert!(c.enter(
            Time(1000 * u64::from(port)),
            BoxSide::Near,
            &packet(port, 100, Ecn::NotEct),
            0
        ));
    }
    assert_eq!(look(&mut c, &[100_000]).len(), 5);
    let (outcome, _) = c.finish(Time(1_000_000_000)).unwrap();
    let sent = outcome["flows"].column("sent_packets").unwrap();
    assert_eq!(format!("{:?}", sent.data), "Count([1, 4])");
}

/// A second connection of a test program, next to its data connection, comes from a port that is not known in
/// advance.
#[test]
fn what_goes_with_a_flow_passes_its_queue_and_leaves_its_numbers() {
    let any = |port| Tuple {
        source: NEAR.into(),
        destination: FAR.into(),
        protocol: 17,
        ports: [port, 9],
    };
    let flows = HashMap::from([(any(1), FlowId(0)), (any(0), FlowId(0))]);
    let loaded = load_text(&scenario(r#""droptail""#, ""), "test", &[]).unwrap();
    let mut c = Crossing::new(&loaded.spec, 1, Conversations::Declared(flows)).unwrap();
    assert!(c.enter(Time(1000), BoxSide::Near, &packet(1, 100, Ecn::NotEct), 0));
    assert!(c.enter(Time(2000), BoxSide::Near, &packet(777, 100, Ecn::NotEct), 0));
    assert_eq!((look(&mut c, &[100_000]).len(), c.passed.strangers), (2, 0));
}
