//! A text trace of one flow: a line for each event of one of its packets, at every port on its way.
//!
//! ```text
//!       time s  where                        what                  who  segment
//!   0.100040000 bottleneck                   arrives               >    SYN seq 0
//!   0.150512000 bottleneck                   delivered             >    SYN seq 0
//!   4.213377124 bottleneck                   dropped: overflow     >    ACK seq 58401:59861 (1460) ack 1
//! ```
//!
//! `>` is the direction from the flow's source to its destination, `<` the opposite one. The last lines are the paths
//! of its packets, with the ports in the order in which they were first reached:
//!
//! ```text
//! path >  host1.reverse, leaf1-spine2, leaf2-spine2.reverse, host9
//! path <  host9.reverse, leaf2-spine1, leaf1-spine1.reverse, host1
//! ```

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use tailback_base::{DropReason, Ecn, FlowId, MarkReason, Place};
use tailback_sim::wire::tap::{Names, Sight, Tap};
use tailback_transport::{Flags, Segment};

/// The first line of a trace.
pub const HEADING: &str = "      time s  where                        what                  who  segment";

struct TraceState<W: Write> {
    out: W,
    lines: u64,
    failed: Option<io::Error>,
    /// The ports of data and ACKs, in the order in which they were reached.
    paths: [Vec<String>; 2],
    /// The number of connections that the application has opened.
    opened: u64,
}

/// The flow that is traced.
#[derive(Clone, Debug)]
pub enum Traced {
    /// A flow that the scenario declares, such as `bulk.0`.
    Declared(String),
    /// A connection that the application of this row opens, counted from 0.
    Opened { member: String, number: u64 },
}

/// A trace that is being written.
pub struct PacketTrace<W: Write> {
    traced: Traced,
    shared: Rc<RefCell<TraceState<W>>>,
}

impl<W: Write + 'static> PacketTrace<W> {
    /// A trace of this flow.
    ///
    /// # Errors
    /// The heading cannot be written.
    pub fn new(traced: Traced, mut out: W) -> io::Result<PacketTrace<W>> {
        writeln!(out, "{HEADING}")?;
        Ok(PacketTrace {
            traced,
            shared: Rc::new(RefCell::new(TraceState {
                out,
                lines: 0,
                failed: None,
                paths: [vec![], vec![]],
                opened: 0,
            })),
        })
    }

    /// The tap for a run. If the run does not have the flow, nothing is written.
    pub fn tap(&self, names: &Names) -> Box<dyn Tap> {
        let row = |wanted: &String| {
            let number = names.flows.iter().position(|name| name == wanted);
            number.map(|i| FlowId(i as u32))
        };
        let (flow, awaited) = match &self.traced {
            Traced::Declared(name) => (row(name), None),
            Traced::Opened { member, number } => (None, row(member).map(|member| (member, *number))),
        };
        Box::new(FlowTap {
            flow,
            awaited,
            ports: names.ports.clone(),
            shared: self.shared.clone(),
        })
    }

    /// The number of connections that were opened by the application whose connection is traced.
    pub fn opened(&self) -> u64 {
        self.shared.borrow().opened
    }

    /// The run is over: the paths are written. Returns the number of events.
    ///
    /// # Errors
    /// A line could not be written.
    pub fn finish(self) -> io::Result<u64> {
        let mut shared = self.shared.borrow_mut();
        if let Some(e) = shared.failed.take() {
            return Err(e);
        }
        let [forward, backward] = std::mem::take(&mut shared.paths);
        for (who, ports) in [('>', forward), ('<', backward)] {
            if !ports.is_empty() {
                writeln!(shared.out, "path {who}  {}", ports.join(", "))?;
            }
        }
        shared.out.flush().map(|()| shared.lines)
    }
}

struct FlowTap<W: Write> {
    flow: Option<FlowId>,
    /// The row of the application, and the number of its connection that is traced.
    awaited: Option<(FlowId, u64)>,
    ports: Vec<String>,
    shared: Rc<RefCell<TraceState<W>>>,
}

impl<W: Write> FlowTap<W> {
    fn line(&self, at: &Sight<'_>, what: &str) {
        let id = at.id();
        if Some(id.flow) != self.flow {
            return;
        }
        let mut shared = self.shared.borrow_mut();
        if shared.failed.is_some() {
            return;
        }
        let port = self.ports.get(at.port as usize).map_or("", String::as_str);
        let (s, ns) = (at.now.0 / 1_000_000_000, at.now.0 % 1_000_000_000);
        let who = if id.backward { '<' } else { '>' };
        let segment = if at.is_request() {
            "a router's request".to_string()
        } else {
            words(&at.segment(), at.bytes())
        };
        match writeln!(shared.out, "{s:>3}.{ns:09} {port:<28} {what:<21} {who}    {segment}") {
            Ok(()) => shared.lines += 1,
            Err(e) => shared.failed = Some(e),
        }
    }
}

impl<W: Write> Tap for FlowTap<W> {
    fn opened(&mut self, flow: FlowId, member: FlowId) {
        // If another connection gets the number of the traced connection, the latter has ended.
        self.flow = self.flow.filter(|own| *own != flow);
        if let Some((_, number)) = self.awaited.filter(|(row, _)| *row == member) {
            let mut shared = self.shared.borrow_mut();
            if shared.opened == number {
                self.flow = Some(flow);
            }
            shared.opened += 1;
        }
    }

    fn arrived(&mut self, at: &Sight<'_>) {
        self.line(at, "arrives");
        let id = at.id();
        if Some(id.flow) == self.flow {
            let mut shared = self.shared.borrow_mut();
            let path = &mut shared.paths[usize::from(id.backward)];
            let port = self.ports.get(at.port as usize);
            path.extend(port.filter(|port| !path.contains(port)).cloned());
        }
    }

    fn marked(&mut self, at: &Sight<'_>, why: MarkReason) {
        self.line(at, &format!("marked: {}", why.name()));
    }

    fn dropped(&mut self, at: &Sight<'_>, _place: Place, why: DropReason) {
        self.line(at, &format!("dropped: {}", why.name()));
    }

    fn delivered(&mut self, at: &Sight<'_>) {
        self.line(at, "delivered");
    }
}

/// A segment in a few words; for a datagram, its size on the wire.
pub fn words(s: &Segment, bytes: u32) -> String {
    let names = [
        (Flags::SYN, "SYN"),
        (Flags::FIN, "FIN"),
        (Flags::RST, "RST"),
        (Flags::ACK, "ACK"),
        (Flags::ECE, "ECE"),
        (Flags::CWR, "CWR"),
        (Flags::AE, "AE"),
    ];
    let mut out: Vec<String> = names
        .iter()
        .filter(|n| s.flags.has(n.0))
        .map(|n| n.1.to_string())
        .collect();
    if s.payload > 0 {
        out.push(format!(
            "seq {}:{} ({})",
            s.seq,
            s.seq + u64::from(s.payload),
            s.payload
        ));
    } else {
        out.push(format!("seq {}", s.seq));
    }
    if s.flags.has(Flags::ACK) {
        out.push(format!("ack {}", s.ack));
    } else if s.flags.0 & !Flags::RETRANSMISSION.0 == 0 {
        out.push(format!("{bytes} B"));
    }
    if !s.sack.is_empty() {
        let blocks: Vec<String> = s.sack.iter().map(|(from, to)| format!("{from}:{to}")).collect();
        out.push(format!("sack {}", blocks.join(" ")));
    }
    if let Some(counts) = &s.counts {
        let fields = [("ECT(1)", counts.ect1), ("CE", counts.ce), ("ECT(0)", counts.ect0)];
        let counted_fields = fields.iter().take(usize::from(counts.fields));
        let field_texts: Vec<String> = counted_fields
            .map(|(name, bytes)| format!("{name} {bytes} B"))
            .collect();
        out.push(format!("arrived {}", field_texts.join(", ")));
    }
    if let Some(window) = s.window {
        out.push(format!("window {window}"));
    }
    match s.ecn {
        Ecn::NotEct => {}
        Ecn::Ce => out.push("CE".to_string()),
        Ecn::Ect0 | Ecn::Ect1 => out.push("ECT".to_string()),
    }
    if s.flags.has(Flags::RETRANSMISSION) {
        out.push("again".to_string());
    }
    out.join(" ")
}
