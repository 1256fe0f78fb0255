//! Dialogues of a page with its engine, as static/engine.js holds them.

use crate::page::{EnginePage, Progress};
use serde_json::{Value, json};

fn state(rate: &str, duration: &str) -> Value {
    json!({
        "document": {
            "duration": duration,
            "link": {"bottleneck": {"from": "a", "to": "b", "rate": rate, "delay": "10ms", "queue": {"kind": "red"}}},
            "flows": {"bulk": {"count": 3, "rtt": "40ms"}},
        },
        "beside": {"kind": "codel"},
    })
}

fn ask(input: u64, state: &Value) -> Value {
    json!({"do": "state", "input": input, "mode": "full", "columns": 200, "state": state})
}

/// The header of a frame.
fn header(frame: &[u8]) -> Value {
    let length = u32::from_le_bytes(frame[..4].try_into().unwrap()) as usize;
    serde_json::from_slice(&frame[4..4 + length]).unwrap()
}

/// All answers to a message, until there is nothing to do.
fn answers(page: &mut EnginePage, message: &Value) -> Vec<Value> {
    let mut frames = vec![];
    if page.take(message.to_string().as_bytes()) {
        frames.push(page.answer(0.0));
    }
    loop {
        match page.advance(1 << 12) {
            Progress::MoreToDo => {}
            Progress::Answer => frames.push(page.answer(1.0)),
            Progress::Nothing => break,
        }
    }
    frames.iter().filter(|f| !f.is_empty()).map(|f| header(f)).collect()
}

#[test]
fn a_state_is_answered_by_its_picture() {
    let mut page = EnginePage::default();
    let headers = answers(&mut page, &ask(7, &state("5Mbps", "2s")));
    assert_eq!(headers.len(), 1);
    assert_eq!(
        (&headers[0]["do"], &headers[0]["input"]),
        (&json!("picture"), &json!(7))
    );
    let queues: Vec<&Value> = headers[0]["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["queue"])
        .collect();
    assert_eq!(queues, ["red", "codel"]);
    assert!(headers[0]["controls"].is_array());
    // A worker of one side makes one of the two, and the first brings the controls.
    for side in [0, 1] {
        let mut message = ask(8, &state("5Mbps", "2s"));
        message["side"] = json!(side);
        let headers = answers(&mut page, &message);
        assert_eq!(&headers[0]["runs"][0]["queue"], queues[side]);
        assert_eq!(headers[0]["controls"].is_array(), side == 0);
    }
}

#[test]
fn a_newer_state_replaces_one_that_is_under_way() {
    let mut page = EnginePage::default();
    assert!(!page.take(ask(1, &state("5Mbps", "1000s")).to_string().as_bytes()));
    assert_eq!(page.advance(1 << 10), Progress::MoreToDo);
    let headers = answers(&mut page, &ask(2, &state("5Mbps", "1s")));
    assert_eq!(headers.iter().map(|f| &f["input"]).collect::<Vec<_>>(), [&json!(2)]);
}

#[test]
fn an_instant_is_answered_before_the_run_that_has_all_of_them() {
    let mut page = EnginePage::default();
    let state = state("5Mbps", "4s");
    let watch = json!({"do": "watch", "state": state, "side": 0});
    assert!(!page.take(watch.to_string().as_bytes()));
    assert_eq!(page.advance(1), Progress::MoreToDo);
    let at = |at: f64| json!({"do": "packets", "state": state, "side": 0, "at": at});
    let headers = answers(&mut page, &at(1.0));
    assert_eq!((&headers[0]["do"], &headers[0]["at"]), (&json!("packets"), &json!(1.0)));
    // The run ahead went on meanwhile: any other instant is at hand.
    assert!(page.take(at(3.9).to_string().as_bytes()));
    assert_eq!(header(&page.answer(0.0))["at"], json!(3.9));
}

#[test]
fn what_cannot_be_done_is_said_before_anything_is_run() {
    let mut page = EnginePage::default();
    for (given, message) in [
        (state("400Gbps", "3600s"), "a page runs at most"),
        (state("fast", "2s"), "is not a rate"),
        (json!({"document": 3}), "a state is an object"),
    ] {
        assert!(page.take(ask(3, &given).to_string().as_bytes()));
        let refused = header(&page.answer(0.0));
        assert_eq!((&refused["do"], &refused["input"]), (&json!("refused"), &json!(3)));
        let text = refused["text"].as_str().unwrap();
        assert!(text.contains(message), "{text}");
    }
    for nonsense in ["", "[]", "{}", r#"{"do": "fly"}"#, r#"{"do": "packets"}"#] {
        assert!(page.take(nonsense.as_bytes()), "{nonsense}");
        assert_eq!(header(&page.answer(0.0))["do"], "refused");
    }
}

#[test]
fn a_text_stands_for_a_trace_file() {
    let mut page = EnginePage::default();
    let mut state = state("5Mbps", "2s");
    state["document"]["change"] = json!({"rate": {"link": "bottleneck", "trace": "a-page-has-no-files.csv"}});
    assert_eq!(answers(&mut page, &ask(1, &state))[0]["do"], "refused");
    let files = json!({"do": "files", "files": {"a-page-has-no-files.csv": "time_s,rate_mbps\n0,1\n1,2\n"}});
    assert!(answers(&mut page, &files).is_empty());
    assert_eq!(answers(&mut page, &ask(2, &state))[0]["do"], "picture");
}
