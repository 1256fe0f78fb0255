//! A packet as Python sees it: from a running simulation, or made by hand to test a discipline.

use crate::given;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use tailback_base::{Dscp, Ecn, KeyField, Packet as View};
use tailback_queue::testing::TestPacket;
use tailback_sim::wire::packet::SimPacket;

/// The contents of a packet object.
#[derive(Clone, Copy)]
pub enum Content {
    Sim(SimPacket),
    Hand(TestPacket),
}

/// The packets that a discipline written in Python can store.
pub trait Held: View + Copy + Send {
    fn wrap(self) -> Content;
    fn unwrap(c: Content) -> Option<Self>;
}

impl Held for SimPacket {
    fn wrap(self) -> Content {
        Content::Sim(self)
    }
    fn unwrap(c: Content) -> Option<SimPacket> {
        if let Content::Sim(p) = c { Some(p) } else { None }
    }
}

impl Held for TestPacket {
    fn wrap(self) -> Content {
        Content::Hand(self)
    }
    fn unwrap(c: Content) -> Option<TestPacket> {
        if let Content::Hand(p) = c { Some(p) } else { None }
    }
}

/// A packet. A discipline may examine and mark it; it may send or drop only packets that were given to it.
///
/// >>> p = tb.packet(flow=3, bytes=1000, ecn=True)
/// >>> p.set_ce()
/// >>> p.ecn
/// 'ce'
#[pyclass(module = "tailback._core")]
pub struct Packet {
    pub content: Content,
    /// The number of this packet among all packets of its owner.
    pub serial: u64,
    /// The discipline to which it was given; 0 for a packet made by hand.
    pub owner: u64,
}

/// The argument of a method that takes a packet.
pub fn given_packet<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Packet>> {
    let packet = value.cast::<Packet>().cloned();
    packet.map_err(|_| given::refused(value, "a packet; make one with tailback.packet()"))
}

/// A number for each owner and for each packet made by hand; 0 means no owner.
pub fn next_identity() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Packet {
    fn view(&self) -> &dyn View {
        match &self.content {
            Content::Sim(p) => p,
            Content::Hand(p) => p,
        }
    }

    fn view_mut(&mut self) -> &mut dyn View {
        match &mut self.content {
            Content::Sim(p) => p,
            Content::Hand(p) => p,
        }
    }
}

pub fn ecn_name(e: Ecn) -> &'static str {
    match e {
        Ecn::NotEct => "not-ect",
        Ecn::Ect0 => "ect0",
        Ecn::Ect1 => "ect1",
        Ecn::Ce => "ce",
    }
}

#[pymethods]
impl Packet {
    /// A packet made by hand, for a discipline that is driven by hand.
    #[new]
    #[pyo3(signature = (
        flow = 0, bytes = 1500, ecn = "not-ect", dscp = 0, sequence = 0, data = true, retransmission = false, label = 0
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        #[pyo3(from_py_with = given::word)] flow: u32,
        #[pyo3(from_py_with = given::word)] bytes: u32,
        #[pyo3(from_py_with = given::text)] ecn: &str,
        #[pyo3(from_py_with = given::code_point)] dscp: u8,
        #[pyo3(from_py_with = given::count)] sequence: u64,
        #[pyo3(from_py_with = given::switch)] data: bool,
        #[pyo3(from_py_with = given::switch)] retransmission: bool,
        #[pyo3(from_py_with = given::count)] label: u64,
    ) -> PyResult<Packet> {
        let ecn = match ecn {
            "not-ect" => Ecn::NotEct,
            "ect0" => Ecn::Ect0,
            "ect1" => Ecn::Ect1,
            "ce" => Ecn::Ce,
            other => {
                return Err(PyValueError::new_err(format!(
                    "ecn is \"not-ect\", \"ect0\", \"ect1\" or \"ce\", not {other:?}"
                )));
            }
        };
        if bytes == 0 || bytes > 65_535 {
            return Err(PyValueError::new_err(format!(
                "a packet has 1 to 65535 bytes, not {bytes}"
            )));
        }
        if dscp > 63 {
            return Err(PyValueError::new_err(format!("dscp is 0 to 63, not {dscp}")));
        }
        let id = next_identity();
        let p = TestPacket {
            ecn,
            dscp,
            sequence,
            data,
            retransmission,
            label,
            ..TestPacket::new(id, flow, bytes)
        };
        Ok(Packet {
            content: Content::Hand(p),
            serial: id,
            owner: 0,
        })
    }

    /// Size on the wire, bytes.
    #[getter]
    fn bytes(&self) -> u32 {
        self.view().bytes()
    }

    #[getter]
    fn flow(&self) -> u32 {
        self.view().flow().0
    }

    /// "not-ect", "ect0", "ect1" or "ce".
    #[getter]
    fn ecn(&self) -> &'static str {
        ecn_name(self.view().ecn())
    }

    /// Whether it may be marked instead of dropped.
    #[getter]
    fn is_ecn_capable(&self) -> bool {
        self.view().ecn().is_capable()
    }

    #[getter]
    fn dscp(&self) -> u8 {
        self.view().dscp().0
    }

    #[setter]
    fn set_dscp(&mut self, #[pyo3(from_py_with = given::code_point)] colour: u8) -> PyResult<()> {
        if colour > 63 {
            return Err(PyValueError::new_err(format!("dscp is 0 to 63, not {colour}")));
        }
        self.view_mut().set_dscp(Dscp(colour));
        Ok(())
    }

    /// The time at which it entered the queue, seconds.
    #[getter]
    fn stamp(&self) -> f64 {
        self.view().stamp().seconds()
    }

    #[getter]
    fn is_data(&self) -> bool {
        self.view().is_data()
    }

    #[getter]
    fn is_retransmission(&self) -> bool {
        self.view().is_retransmission()
    }

    #[getter]
    fn sequence(&self) -> u64 {
        self.view().sequence()
    }

    /// A classification key: "tuple", "pair", "source", "destination", "label" or "aggregate".
    fn key(&self, #[pyo3(from_py_with = given::text)] field: &str) -> PyResult<u64> {
        let field = match field {
            "tuple" => KeyField::Tuple,
            "pair" => KeyField::Pair,
            "source" => KeyField::Source,
            "destination" => KeyField::Destination,
            "label" => KeyField::Label,
            "aggregate" => KeyField::Aggregate,
            other => return Err(PyValueError::new_err(format!("there is no key {other:?}"))),
        };
        Ok(self.view().key(field))
    }

    /// Set congestion experienced. Raises an exception if the packet is not ECN-capable; drop such a packet instead.
    pub fn set_ce(&mut self) -> PyResult<()> {
        if !self.view().ecn().is_capable() {
            return Err(PyRuntimeError::new_err(
                "the packet is not ECN-capable: drop it instead of marking it",
            ));
        }
        self.view_mut().set_ce();
        Ok(())
    }

    fn __repr__(&self) -> String {
        let view = self.view();
        format!(
            "<Packet {}: flow {}, {} bytes, {}>",
            self.serial,
            view.flow().0,
            view.bytes(),
            ecn_name(view.ecn())
        )
    }
}
