//! A conditioner driven by hand: its effect on packets that arrive at given times.

use crate::scenario::Scenario;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tailback_base::{DropReason, Duration, Stream, Time};
use tailback_conditioner::{BuildContext, Conditioner, EdgeId, EdgeMessage, EdgeOut, Header, MeterList, registry};
use tailback_queue::testing::TestPacket;

/// The code point with which each packet left; `None` if the packet was dropped or is still inside.
struct Left(Vec<Option<u8>>);

impl EdgeOut<TestPacket> for Left {
    fn send(&mut self, p: TestPacket) {
        self.0[p.id as usize] = Some(p.dscp);
    }
    fn dropped(&mut self, _: TestPacket, _: DropReason) {}
    fn message(&mut self, _: EdgeId, _: EdgeMessage) {}
}

/// See `tailback.mark`. Times are seconds; `came` are the code points of the arriving packets, empty or one for each.
#[pyfunction]
pub fn mark(
    scenario: &Bound<Scenario>,
    times: Vec<f64>,
    sizes: Vec<u32>,
    came: Vec<u8>,
    seed: u64,
) -> PyResult<Vec<Option<u8>>> {
    let wrong = |e: tailback_base::quantity::Refusal| PyValueError::new_err(e.to_string());
    let link = scenario.get().loaded.spec.links.first();
    let marked_link = link.and_then(|l| l.forward.conditioner.as_ref().map(|c| (l, c)));
    let (link, settings) = marked_link.ok_or_else(|| PyValueError::new_err("the scenario has no conditioner"))?;
    let rows = registry::entries::<TestPacket>();
    let row = rows.iter().find(|e| e.model.name == settings.model.name);
    let row = row.ok_or_else(|| PyValueError::new_err(format!("there is no conditioner {}", settings.model.name)))?;
    let context = BuildContext {
        stream: Stream::new(seed, "edge.hand"),
        rate: link.forward.rate,
        edge: EdgeId(0),
        edge_count: 1,
        edges: &|_| Ok(EdgeId(0)),
        meters: &MeterList::standard(),
    };
    let mut conditioner = row.build(settings, context).map_err(wrong)?;
    let mut passed_packets = Left(vec![None; times.len()]);
    let mut last_arrival = Time::ZERO;
    for (i, (t, bytes)) in times.iter().zip(&sizes).enumerate() {
        if !(t.is_finite() && *t >= 0.0) {
            return Err(PyValueError::new_err(format!("packet {i} comes at {t} s")));
        }
        let now = Time::ZERO + Duration::from_seconds(*t);
        if now < last_arrival {
            return Err(PyValueError::new_err(format!(
                "packet {i} comes before the one before it"
            )));
        }
        timers(&mut *conditioner, now, &mut passed_packets);
        let mut p = TestPacket::new(i as u64, 0, *bytes);
        p.dscp = came.get(i).copied().unwrap_or(0);
        conditioner.forward(p, &Header::default(), now, &mut passed_packets);
        last_arrival = now;
    }
    timers(
        &mut *conditioner,
        last_arrival + Duration::from_seconds(3600.0),
        &mut passed_packets,
    );
    Ok(passed_packets.0)
}

/// Run its timers until an instant.
fn timers(conditioner: &mut dyn Conditioner<TestPacket>, until: Time, left: &mut Left) {
    while let Some(t) = conditioner.next_timer().filter(|t| *t <= until) {
        conditioner.on_timer(t, left);
        if conditioner.next_timer() == Some(t) {
            return;
        }
    }
}
