//! A file of `tailback export DIR series --flow bulk.0 --to FILE.sqlog`, read by the crate that other tools use.
//!
//! `tests/python/test_qlog.py` makes the same file again and compares.

use qlog::events::EventData;
use qlog::reader::{Event, QlogSeqReader};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/flow.sqlog");

#[test]
fn every_record_is_read() {
    let records = std::fs::read(FILE).unwrap().iter().filter(|b| **b == 0x1e).count();
    let mut reader = QlogSeqReader::with_file(FILE).unwrap();
    assert_eq!(reader.qlog.file_schema, qlog::QLOGFILESEQ_URI);
    let schemas = &reader.qlog.trace.event_schemas;
    assert_eq!(schemas[..], [qlog::events::QUIC_URI, "urn:tailback:qlog:events:tcp-1"]);
    let vantage = reader.qlog.trace.vantage_point.clone().unwrap();
    assert_eq!(vantage.name.as_deref(), Some("bulk.0"));
    let (mut windows, mut states, mut own, mut last) = (Vec::new(), Vec::new(), Vec::new(), 0.0);
    for event in reader.by_ref() {
        let time = match event {
            Event::Qlog(e) => {
                match e.data {
                    EventData::QuicMetricsUpdated(m) => {
                        assert!(m.ex_data.is_empty(), "{:?}", m.ex_data);
                        windows.push(m);
                    }
                    EventData::QuicCongestionStateUpdated(s) => states.push(s.new),
                    other => panic!("{other:?}"),
                }
                e.time
            }
            Event::Json(e) => {
                own.push(e.name);
                e.time
            }
        };
        assert!(time >= last, "{time} after {last}");
        last = time;
    }
    assert_eq!(
        1 + windows.len() + states.len() + own.len(),
        records,
        "none is left out"
    );
    assert!(
        windows
            .iter()
            .any(|m| m.congestion_window == Some(14_600) && m.smoothed_rtt.is_some())
    );
    assert!(windows.iter().any(|m| m.bytes_in_flight.is_some_and(|b| b > 0)));
    assert_eq!(states[..3], ["slow_start", "recovery", "congestion_avoidance"]);
    assert!(own.iter().any(|n| n == "tailback_tcp:metrics_updated"));
    assert!(own.iter().any(|n| n == "tailback_tcp:packet_dropped"));
}
