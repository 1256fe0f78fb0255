//! The stages together: what each one changes, alone and with others.

use super::counts::Stage;
use super::models::{self, EDGE};
use crate::conditioner::{Conditioner, EdgeId, EdgeMessage, EdgeOut, Header, PathDelay};
use crate::meter::MeterList;
use crate::meter::tsw3cm;
use crate::testing::{Plain, Seen, built};
use tailback_base::model::Raw;
use tailback_base::quantity::Refusal;
use tailback_base::{DropReason, Dscp, Duration, FlowId, KeyField, Request, Settings, Stream, Time};

const MS: u64 = 1_000_000;
const MARKER: &str = "{ kind = tsw3cm, committed_rate = 2Mbps, peak_rate = 3Mbps }";

fn settings(stages: &str) -> Settings {
    with(&[("marker", MARKER), ("stages", stages)]).unwrap()
}

fn with(values: &[(&str, &str)]) -> Result<Settings, Refusal> {
    let mut s = Settings::defaults(&EDGE);
    for (name, text) in values {
        s.set(name, &Raw::from_word(text))?;
    }
    s.with_models(&models::catalogue(&MeterList::standard()))
}

fn edge(stages: &str) -> Box<dyn Conditioner<Plain>> {
    built(&settings(stages)).unwrap_or_else(|e| panic!("{stages}: {e}"))
}

fn probe(c: &dyn Conditioner<Plain>, name: &str, index: usize) -> f64 {
    let i = c.probes().iter().position(|p| p.name == name).unwrap();
    c.read(i, index as u32, Time(20_000 * MS))
}

/// The packets at an edge: data in one direction and their ACKs in the other.
#[derive(Clone, Copy)]
enum Event {
    Data(Plain, Header),
    Ack(u32, u64),
}

/// Ten flows at 5 Mb/s in total, for 8 s. Each opens, and has windows that grow from 1 to 8 and are then cut to 1,
/// which CWR announces; from time to time it opens again.
fn traffic() -> Vec<(Time, Event)> {
    let mut rng = Stream::new(3, "traffic");
    let (mut time_ns, mut events) = (0, vec![]);
    let mut flows = [(0_u64, 0_u64, 1_u64, false); 10];
    for _ in 0..5000 {
        time_ns += 1_600_000 / 2 + rng.below(1_600_000);
        let flow = rng.below(10) as usize;
        if rng.chance(0.03) {
            flows[flow] = (0, 0, 1, false);
        }
        let (sent_bytes, acked, window, cut) = &mut flows[flow];
        let syn = *sent_bytes == 0;
        let payload = if syn { 0 } else { 1000 };
        let p = Plain {
            bytes: 40 + payload,
            flow: flow as u32,
            sequence: *sent_bytes,
            ..Plain::default()
        };
        let header = Header {
            syn,
            cwr: std::mem::take(cut),
            payload,
            ack: (!syn).then_some(1),
            ..Header::default()
        };
        events.push((Time(time_ns), Event::Data(p, header)));
        *sent_bytes += if syn { 1 } else { u64::from(payload) };
        if *sent_bytes - *acked >= 1000 * *window || syn {
            *acked = *sent_bytes;
            *window = *window % 8 + 1;
            *cut = *window == 1;
            events.push((Time(time_ns + 1000), Event::Ack(flow as u32, *acked)));
        }
    }
    events
}

/// The code point of every data packet (0 if it was dropped) and its headers.
fn colours(c: &mut dyn Conditioner<Plain>) -> Vec<(u8, Header)> {
    let mut codes = vec![];
    for (now, e) in traffic() {
        match e {
            Event::Ack(flow, ack) => {
                let p = Plain {
                    flow,
                    ..Plain::default()
                };
                let seen = Header {
                    ack: Some(ack),
                    ..Header::default()
                };
                c.reverse(&p, &seen, now);
            }
            Event::Data(p, seen) => {
                let mut out = Seen::default();
                c.forward(p, &seen, now, &mut out);
                codes.push((out.colours.first().map_or(0, |d| d.0), seen));
            }
        }
    }
    codes
}

#[test]
fn without_stages_it_is_the_marker_packet_for_packet() {
    let marker = Settings::defaults(&tsw3cm::MODEL)
        .with("committed_rate", "2Mbps")
        .with("peak_rate", "3Mbps");
    let alone = colours(&mut *built(&marker).unwrap());
    assert_eq!(colours(&mut *edge("[]")), alone);
    let red = alone.iter().filter(|c| c.0 == 14).count();
    assert!((1500..2500).contains(&red), "two fifths of 5 Mb/s are above 3: {red}");
}

/// Each stage alone makes only the changes that it reports, and only to the packets that its rule is about.
#[test]
fn a_stage_changes_what_it_counts_and_no_more() {
    let plain = colours(&mut *edge("[]"));
    type Rule = fn(&Header, u8) -> bool;
    let stages: [(&str, Stage, Rule); 6] = [
        ("[syn]", Stage::Syn, |h, to| h.syn && to == 10),
        ("[{ kind = syn, first = 2 }]", Stage::Syn, |_, to| to == 10),
        ("[small-window]", Stage::SmallWindow, |_, to| to == 10),
        ("[cwr]", Stage::Cwr, |h, to| h.cwr && to == 10),
        ("[spacing]", Stage::Spacing, |_, _| true),
        ("[policer]", Stage::Policer, |_, to| to == 0),
    ];
    for (list, stage, rule) in stages {
        let mut c = edge(list);
        let coloured = colours(&mut *c);
        let changed = plain.iter().zip(&coloured).filter(|(a, b)| a.0 != b.0);
        let (mut count, mut fits) = (0, 0);
        for (_, (to, header)) in changed {
            count += 1;
            fits += usize::from(rule(header, *to));
        }
        assert_eq!(
            (count, probe(&*c, "changed", stage as usize) as usize),
            (fits, count),
            "{list}"
        );
        assert!(count > 0, "{list}");
        let others = (0..super::counts::STAGES).filter(|s| *s != stage as usize);
        assert!(others.into_iter().all(|s| probe(&*c, "changed", s) == 0.0), "{list}");
        let asked: f64 = (0..3).map(|i| probe(&*c, "asked", i)).sum();
        assert_eq!(asked, 5000.0, "every data packet is metered");
    }
}

/// The code points that leave while timers run, in order; 0 for a dropped packet. `tell` is what exits report about
/// the red packets of an aggregate in each 200 ms.
fn driven(c: &mut dyn Conditioner<Plain>, tell: Option<f64>) -> (Vec<u8>, usize) {
    let (mut out, mut next_tell_ns) = (Seen::default(), 200 * MS);
    for (now, e) in traffic() {
        while let Some(t) = c.next_timer().filter(|t| *t <= now) {
            c.on_timer(t, &mut out);
        }
        if let Some(value) = tell.filter(|_| next_tell_ns <= now.0) {
            next_tell_ns += 200 * MS;
            let (kind, about) = (3, tailback_base::Packet::key(&Plain::default(), KeyField::Aggregate));
            c.message(EdgeId(9), EdgeMessage { kind, about, value }, now);
        }
        match e {
            Event::Ack(flow, ack) => {
                let header = Header {
                    ack: Some(ack),
                    ..Header::default()
                };
                let p = Plain {
                    flow,
                    ..Plain::default()
                };
                c.reverse(&p, &header, now);
            }
            Event::Data(p, seen) => c.forward(p, &seen, now, &mut out),
        }
    }
    while let Some(t) = c.next_timer().filter(|t| *t <= Time(20_000 * MS)) {
        c.on_timer(t, &mut out);
    }
    (out.colours.iter().map(|d| d.0).collect(), out.dropped.len())
}

/// The shaper changes when packets leave: each leaves once, in order, with the colour of the marker.
#[test]
fn a_shaper_changes_times_and_nothing_else() {
    let mut c = edge("[shaper]");
    let (plain, shaped) = (driven(&mut *edge("[]"), None), driven(&mut *c, None));
    assert_eq!(shaped, plain);
    assert!((0..super::counts::STAGES).all(|s| probe(&*c, "changed", s) == 0.0));
    let mut waits = edge("[shaper]");
    let at_once = colours(&mut *waits).iter().filter(|x| x.0 > 0).count();
    assert!(at_once < 5000, "without timers some still wait: {at_once}");
}

/// Feedback drops red packets and counts them; it changes no packet that it lets through. Without reports from exits,
/// or with dropping off, it does nothing.
#[test]
fn feedback_drops_red_and_counts_it() {
    let (plain, none) = driven(&mut *edge("[]"), None);
    assert_eq!(none, 0);
    let mut c = edge("[feedback]");
    let (passed_packets, dropped) = driven(&mut *c, Some(0.0));
    assert_eq!(probe(&*c, "changed", Stage::Feedback as usize), dropped as f64);
    let red = |codes: &[u8]| codes.iter().filter(|c| **c == 14).count();
    assert!(dropped > 1000);
    assert_eq!(red(&plain) - red(&passed_packets), dropped);
    let kept = |codes: &[u8]| codes.iter().copied().filter(|c| *c != 14).collect::<Vec<_>>();
    assert_eq!(kept(&passed_packets), kept(&plain));
    assert_eq!(driven(&mut *edge("[feedback]"), None), (plain.clone(), 0));
    assert_eq!(
        driven(&mut *edge("[{ kind = feedback, drop = false }]"), Some(0.0)),
        (plain, 0)
    );
}

/// The adaptive stage chooses stages and changes nothing itself. Below its threshold the result is that of CWR and
/// the stages that remember flows; above it, that of the SYN flag and CWR.
#[test]
fn the_adaptive_stage_changes_no_packet_itself() {
    let packets_after = |stages: &str| driven(&mut *edge(stages), None).0;
    assert_eq!(packets_after("[adaptive]"), packets_after("[]"));
    let all =
        |threshold: u32| format!("[syn, small-window, cwr, spacing, {{ kind = adaptive, threshold = {threshold} }}]");
    assert_eq!(packets_after(&all(100)), packets_after("[small-window, cwr, spacing]"));
    assert_ne!(
        packets_after("[small-window, cwr, spacing]"),
        packets_after("[syn, cwr]")
    );
    // The mode changes at the end of the first second.
    let first = traffic()
        .iter()
        .filter(|(t, e)| *t < Time(1000 * MS) && matches!(e, Event::Data(..)))
        .count();
    assert_eq!(packets_after(&all(1))[first..], packets_after("[syn, cwr]")[first..]);
    let mut c = edge(&all(1));
    driven(&mut *c, None);
    assert_eq!(probe(&*c, "changed", Stage::Adaptive as usize), 0.0);
}

/// Packets of another class or of EF are not changed, metered or counted if they are to pass.
#[test]
fn other_classes_may_pass() {
    let header = Header {
        payload: 960,
        ..Header::default()
    };
    for (other_packets, want) in [("mark", [10, 10, 10, 10]), ("pass", [10, 10, 36, 46])] {
        let mut c = built(&with(&[("marker", MARKER), ("others", other_packets)]).unwrap()).unwrap();
        let mut out = Seen::default();
        for code in [0, 14, 36, 46] {
            c.forward(Plain::new(1000, Dscp(code)), &header, Time(0), &mut out);
        }
        assert_eq!(
            out.colours.iter().map(|d| d.0).collect::<Vec<_>>(),
            want,
            "{other_packets}"
        );
        let asked: f64 = (0..3).map(|i| probe(&*c, "asked", i)).sum();
        assert_eq!(asked, if other_packets == "mark" { 4.0 } else { 2.0 });
    }
}

/// The counts of each aggregate are separate: by the colour asked for, by the colour it leaves with, and by stage.
#[test]
fn counts_are_kept_by_aggregate() {
    let mut c = edge("[cwr, policer]");
    let (mut out, mut rng) = (Seen::default(), Stream::new(5, "aggregates"));
    let mut sent_packets = [0.0; 2];
    for i in 0..4000 {
        let aggregate = rng.below(2);
        sent_packets[aggregate as usize] += 1.0;
        let p = Plain {
            aggregate,
            ..Plain::new(1000, Dscp(0))
        };
        let header = Header {
            payload: 960,
            cwr: aggregate == 1 && rng.chance(0.2),
            ..Header::default()
        };
        c.forward(p, &header, Time(i * MS), &mut out);
    }
    let read = |name: &str, i: usize| probe(&*c, name, i);
    for (a, sent_packets) in sent_packets.into_iter().enumerate() {
        let asked_packets: f64 = (0..3).map(|i| read("aggregate_asked", 3 * a + i)).sum();
        let marked: f64 = (0..3).map(|i| read("aggregate_marked", 3 * a + i)).sum();
        let policed = read("aggregate_changed", 7 * a + Stage::Policer as usize);
        assert_eq!((asked_packets, marked + policed), (sent_packets, sent_packets));
        let protected = read("aggregate_changed", 7 * a + Stage::Cwr as usize);
        assert!(if a == 0 { protected == 0.0 } else { protected > 10.0 });
    }
    assert!(read("aggregate_asked", 6).is_nan() && read("aggregate_changed", 14).is_nan());
}

/// A packet that two stages protect counts for the first of them, and a protected packet is not spaced.
#[test]
fn together_each_packet_counts_once() {
    let plain = colours(&mut *edge("[]"));
    let mut c = edge("[spacing, cwr, small-window, syn]");
    let coloured = colours(&mut *c);
    let changed = plain.iter().zip(&coloured).filter(|(a, b)| a.0 != b.0).count();
    let sum: f64 = (0..super::counts::STAGES).map(|s| probe(&*c, "changed", s)).sum();
    assert_eq!(changed as f64, sum);
    assert_eq!(
        probe(&*c, "changed", Stage::Syn as usize),
        0.0,
        "a SYN has a small window"
    );
    let orders = ["[syn, small-window, cwr, spacing]", "[small-window, spacing, syn, cwr]"];
    for order in orders {
        assert_eq!(
            colours(&mut *edge(order)),
            coloured,
            "the order in the list says nothing"
        );
    }
}

#[test]
fn acks_are_green_and_take_no_profile() {
    let ack = Header {
        ack: Some(5),
        ..Header::default()
    };
    let mut c = edge("[]");
    let mut out = Seen::default();
    for _ in 0..10 {
        c.forward(Plain::new(40, Dscp(0)), &ack, Time(0), &mut out);
    }
    assert_eq!((out.colours.len(), probe(&*c, "asked", 0)), (10, 0.0));
    assert!(out.colours.iter().all(|d| d.0 == 10));
    let metered = with(&[("marker", MARKER), ("acks", "metered"), ("class", "2")]).unwrap();
    let mut c = built(&metered).unwrap();
    let mut out = Seen::default();
    c.forward(Plain::new(40, Dscp(0)), &ack, Time(0), &mut out);
    assert_eq!((out.colours[0].0, probe(&*c, "asked", 0)), (18, 1.0));
}

/// 10 Mb/s through a marker with a peak of 3 Mb/s: 3 Mb/s pass.
#[test]
fn a_policer_lets_the_peak_rate_through() {
    let marker =
        "{ kind = trtcm, committed_rate = 2Mbps, committed_burst = 10000B, peak_rate = 3Mbps, peak_burst = 10000B }";
    for (best, rate) in [("red", 3e6), ("yellow", 2e6)] {
        let stages = format!("[{{ kind = policer, drop = {best} }}]");
        let mut c = built(&with(&[("marker", marker), ("stages", &stages)]).unwrap()).unwrap();
        let (mut out, header) = (
            Seen::default(),
            Header {
                payload: 960,
                ..Header::default()
            },
        );
        for i in 0..125_000 {
            c.forward(Plain::new(1000, Dscp(0)), &header, Time(i * 800_000), &mut out);
        }
        let passed = 8000.0 * out.colours.len() as f64 / 100.0;
        assert!((passed / rate - 1.0).abs() < 0.005, "{best}: {passed}");
        assert!(out.dropped.iter().all(|why| *why == DropReason::Profile));
    }
}

/// Sixty flows: the stages with tables are inactive, and the SYN flag counts.
#[test]
fn with_many_flows_tables_are_empty_and_syns_are_protected() {
    let mut c = edge("[syn, small-window, cwr, spacing, shaper, adaptive]");
    let (mut out, header) = (
        Seen::default(),
        Header {
            payload: 1000,
            ack: Some(1),
            ..Header::default()
        },
    );
    let send = |conditioner: &mut dyn Conditioner<Plain>, flow: u32, seen: &Header, time_ns: u64, out: &mut Seen| {
        let p = Plain {
            bytes: 1040,
            flow,
            ..Plain::default()
        };
        conditioner.forward(p, seen, Time(time_ns), out);
    };
    for flow in 0..60 {
        send(&mut *c, flow, &header, u64::from(flow) * MS / 2, &mut out);
    }
    let waiting = 60 - out.colours.len();
    assert!(waiting > 10 && probe(&*c, "shaped", 0) == waiting as f64);
    assert_eq!(probe(&*c, "per_flow_mode", 0), 1.0);
    assert_eq!(c.next_timer().map(|t| t < Time(1000 * MS)), Some(true));
    // The second ends before the shaper has sent everything.
    c.on_timer(Time(1000 * MS), &mut out);
    assert_eq!(
        (out.colours.len(), probe(&*c, "shaped", 0)),
        (60, 0.0),
        "nothing waits any more"
    );
    assert_eq!(
        (probe(&*c, "per_flow_mode", 0), probe(&*c, "active_flows", 0)),
        (0.0, 60.0)
    );
    for stage in [Stage::SmallWindow, Stage::Spacing] {
        assert_eq!(probe(&*c, "flows", stage as usize), 0.0);
        assert_eq!(probe(&*c, "most_flows", stage as usize), 60.0);
        assert!(probe(&*c, "entry_bytes", stage as usize) > 8.0);
    }
    let changed = probe(&*c, "changed", Stage::Syn as usize);
    let syn = Header {
        syn: true,
        ..Header::default()
    };
    for flow in 0..2000 {
        send(&mut *c, flow, &syn, 1001 * MS + u64::from(flow) * MS / 4, &mut out);
    }
    assert!(probe(&*c, "changed", Stage::Syn as usize) > changed + 100.0);
    assert_eq!(out.colours.len(), 2060, "nothing is shaped");
}

/// Red packets are told as a whole loss, yellow ones, if asked for, as half of one; nothing else changes.
#[test]
fn a_sender_is_told_of_its_marks() {
    for (stages, told_values) in [
        ("[]", vec![]),
        ("[tell-sender]", vec![(14, 1)]),
        ("[{ kind = tell-sender, from = yellow }]", vec![(12, 0), (14, 1)]),
    ] {
        let mut c = edge(stages);
        assert_eq!(c.sends_requests(), !told_values.is_empty());
        let header = Header {
            payload: 960,
            ..Header::default()
        };
        let (mut out, mut packets) = (Seen::default(), [0_usize; 2]);
        for i in 0..4000 {
            let p = Plain {
                flow: i % 7,
                ..Plain::new(1000, Dscp(0))
            };
            let requests_before = out.requests.len();
            c.forward(p, &header, Time(u64::from(i) * 1_600_000), &mut out);
            let code = out.colours[i as usize].0;
            let level = told_values.iter().find(|t| t.0 == code).map(|t| t.1);
            let request = level.map(|level| (FlowId(i % 7), Request::SlowDown { level, of: 2 }));
            assert_eq!(out.requests.get(requests_before).copied(), request, "{stages}: {code}");
            packets[usize::from(request.is_some())] += 1;
        }
        assert!(
            packets[0] > 1000 && (told_values.is_empty() || packets[1] > 1000),
            "{stages}: {packets:?}"
        );
    }
}

/// The messages that edges send each other.
#[derive(Default)]
struct Told(Vec<(EdgeId, EdgeMessage)>);

impl EdgeOut<Plain> for Told {
    fn send(&mut self, _: Plain) {}
    fn dropped(&mut self, _: Plain, _: DropReason) {}
    fn message(&mut self, to: EdgeId, m: EdgeMessage) {
        self.0.push((to, m));
    }
}

/// Two edges of 20 and 100 ms: the oracle knows at once; delayed or lost messages arrive late or not at all.
#[test]
fn edges_tell_each_other_their_least_round_trip() {
    let marker = "{ kind = rtt-aware, target = 2Mbps }";
    let trip = |ms| PathDelay {
        round_trip: Duration(ms * MS),
        outside: Duration::ZERO,
    };
    let edge_with = |more: &[(&str, &str)], number: u32| {
        let settings: Vec<_> = [("marker", marker)].into_iter().chain(more.iter().copied()).collect();
        let context = crate::BuildContext {
            stream: Stream::new(1, "edge"),
            rate: tailback_base::BitRate(10_000_000),
            edge: EdgeId(number),
            edge_count: 2,
            edges: &|_| Ok(EdgeId(0)),
            meters: &MeterList::standard(),
        };
        super::entry::<Plain>()
            .build(&with(&settings).unwrap(), context)
            .unwrap()
    };
    let (mut near, mut far) = (edge_with(&[], 0), edge_with(&[], 1));
    near.flow_path(&Plain::default(), trip(20), Time(5));
    far.flow_path(&Plain::default(), trip(100), Time(5));
    assert_eq!(near.next_timer(), Some(Time(5)));
    let mut messages = Told::default();
    near.on_timer(Time(5), &mut messages);
    let [(EdgeId(1), m)] = messages.0[..] else {
        panic!("{:?}", messages.0)
    };
    far.message(EdgeId(0), m, Time(6));
    far.forward(Plain::new(1000, Dscp(0)), &Header::default(), Time(7), &mut messages);
    let read = |name: &str| probe(&*far, name, 0);
    assert!(
        (read("weight") - 1.0).abs() < 1e-12 || read("weight").is_nan(),
        "an ACK makes no aggregate"
    );
    assert_eq!(read("least_round_trip"), 0.02);
    let header = Header {
        payload: 960,
        ..Header::default()
    };
    far.forward(Plain::new(1000, Dscp(0)), &header, Time(8), &mut messages);
    assert!((probe(&*far, "weight", 0) - 0.04).abs() < 1e-12);

    let mut late_edge = edge_with(&[("exchange_delay", "2s")], 0);
    late_edge.flow_path(&Plain::default(), trip(20), Time(5));
    let mut messages = Told::default();
    late_edge.on_timer(Time(5), &mut messages);
    assert!(messages.0.is_empty());
    late_edge.on_timer(Time(2_000 * MS + 5), &mut messages);
    assert_eq!(messages.0.len(), 1);
    let mut lost = edge_with(&[("exchange_loss", "1.0")], 0);
    lost.flow_path(&Plain::default(), trip(20), Time(5));
    let mut messages = Told::default();
    lost.on_timer(Time(5), &mut messages);
    assert!(messages.0.is_empty());
}

/// Every edge of this list is built, or refused with the reason.
#[test]
fn what_makes_no_sense_is_refused() {
    let why = |values: &[(&str, &str)]| match with(values).and_then(|s| built(&s).map(|_| ())) {
        Ok(()) => String::new(),
        Err(e) => e.to_string(),
    };
    assert_eq!(why(&[("marker", MARKER), ("preset", "favour-short-rtt")]), "");
    assert_eq!(why(&[("marker", MARKER), ("preset", "favour-long-rtt")]), "");
    assert!(why(&[("marker", MARKER), ("stages", "[syn, syn]")]).contains("listed twice"));
    assert!(why(&[("marker", "{ kind = rtt-aware, precedences = 2 }")]).contains("target"));
    let unheard = "{ kind = rtt-aware, target = 2Mbps, relation = timeouts, loss = feedback }";
    assert!(why(&[("marker", unheard)]).contains("has no feedback stage"));
    assert_eq!(
        why(&[("marker", unheard), ("stages", "[{ kind = feedback, drop = false }]")]),
        ""
    );
    let shaper = "[{ kind = shaper, low = 9, high = 9 }]";
    assert!(why(&[("marker", MARKER), ("stages", shaper)]).contains("not below its high"));
    let no_flow = "[{ kind = adaptive, memory = 64B, lookups = 10, flow_rate = 100 }]";
    assert!(why(&[("marker", MARKER), ("stages", no_flow)]).contains("too small for a single flow"));
    let both = "[{ kind = adaptive, memory = 2560B, threshold = 40 }]";
    assert!(why(&[("marker", MARKER), ("stages", both)]).contains("together with memory"));
}

/// A preset equals the stages it names.
#[test]
fn a_preset_is_its_stages() {
    let preset = |name: &str| built(&with(&[("marker", MARKER), ("preset", name)]).unwrap()).unwrap();
    let long = colours(&mut *preset("favour-long-rtt"));
    assert_eq!(
        long,
        colours(&mut *edge("[cwr, syn, { kind = small-window, below = 3 }]"))
    );
    assert_ne!(long, colours(&mut *edge("[]")));
}
