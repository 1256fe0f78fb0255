//! A capture of one link in both directions, as a pcapng file (draft-ietf-opsawg-pcapng).
//!
//! Each packet stands where it arrived at the queue, so that the file shows what was sent, losses included. A packet that was
//! dropped or marked says so in its comment (`frame.comment` in Wireshark's filters). Times are nanoseconds of simulated
//! time. Before the first packet of a flow stand the names of its two hosts, as `bulk.0.source`.

use crate::fates::Fates;
use crate::headers::{Frame, Named, frame, hosts};
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::name_resolution::{Ipv4Record, NameResolutionBlock, Record as NameRecord};
use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Duration;
use tailback_base::{DropReason, MarkReason, Place, Time};
use tailback_engine::measure::capture::{Names, Sight, Tap};
use tailback_engine::packet::PacketId;

/// Ten to the minus nine (draft-ietf-opsawg-pcapng section 4.2, `if_tsresol`).
const NANOSECONDS: u8 = 9;

struct Record {
    at: Time,
    flow: u32,
    frame: Frame,
}

/// The first bytes of a packet and its length, where they are known: they are stored instead of made-up headers.
pub type Frames = Box<dyn Fn(PacketId) -> Option<(Vec<u8>, u32)>>;

/// What both the tap and whoever waits for the end of the run hold.
struct Shared<W: Write> {
    writer: PcapNgWriter<W>,
    fates: Fates<Record>,
    /// Names of flows that have not been written yet, by number.
    unnamed: Vec<Option<String>>,
    packets: u64,
    failed: Option<io::Error>,
}

/// A capture that is being written.
pub struct Capture<W: Write> {
    link: String,
    shared: Rc<RefCell<Shared<W>>>,
}

impl<W: Write + 'static> Capture<W> {
    /// A capture of this link.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(link: &str, out: W) -> io::Result<Capture<W>> {
        let mut writer = PcapNgWriter::new(out).map_err(other)?;
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Owned(link.to_string())),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        writer.write_pcapng_block(interface).map_err(other)?;
        Ok(Capture {
            link: link.to_string(),
            shared: Rc::new(RefCell::new(Shared {
                writer,
                fates: Fates::default(),
                unnamed: vec![],
                packets: 0,
                failed: None,
            })),
        })
    }

    /// What a run is handed.
    pub fn tap(&self, names: &Names) -> Box<dyn Tap> {
        self.shared.borrow_mut().unnamed = names.flows.iter().cloned().map(Some).collect();
        self.watch(names, Box::new(|_| None))
    }

    /// What a run of real packets is handed: `frames` knows their bytes.
    pub fn tap_real(&self, names: &Names, frames: Frames) -> Box<dyn Tap> {
        self.watch(names, frames)
    }

    fn watch(&self, names: &Names, frames: Frames) -> Box<dyn Tap> {
        let ours = |name: &String| name.strip_suffix(".reverse").unwrap_or(name) == self.link;
        let numbers = (0u32..)
            .zip(&names.ports)
            .filter(|(_, name)| ours(name))
            .map(|(i, _)| i);
        Box::new(LinkTap {
            ports: numbers.collect(),
            frames,
            shared: self.shared.clone(),
        })
    }

    /// The run is over: write what was still under way. The number of packets in the file.
    ///
    /// # Errors
    /// The file could not be written, now or before.
    pub fn finish(self) -> io::Result<u64> {
        let mut shared = self.shared.borrow_mut();
        while let Some(s) = shared.fates.pop() {
            shared.write(s.record, &s.said);
        }
        if let Some(e) = shared.failed.take() {
            return Err(e);
        }
        shared.writer.get_mut().flush()?;
        Ok(shared.packets)
    }
}

fn other(e: pcap_file::PcapError) -> io::Error {
    match e {
        pcap_file::PcapError::IoError(e) => e,
        e => io::Error::other(e.to_string()),
    }
}

impl<W: Write> Shared<W> {
    fn write(&mut self, r: Record, said: &[String]) {
        if self.failed.is_some() {
            return;
        }
        self.name(r.flow);
        let comment = (!said.is_empty()).then(|| EnhancedPacketOption::Comment(Cow::Owned(said.join("; "))));
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(r.at.0),
            original_len: r.frame.length,
            data: Cow::Owned(r.frame.bytes),
            options: comment.into_iter().collect(),
        };
        match self.writer.write_pcapng_block(block) {
            Ok(_) => self.packets += 1,
            Err(e) => self.failed = Some(other(e)),
        }
    }

    /// Say who the hosts of a flow are, once.
    fn name(&mut self, flow: u32) {
        let Some(name) = self.unnamed.get_mut(flow as usize).and_then(Option::take) else {
            return;
        };
        let host = |address: [u8; 4], end: &str| {
            NameRecord::Ipv4(Ipv4Record {
                ip_addr: Cow::Owned(address.to_vec()),
                names: vec![Cow::Owned(format!("{name}.{end}"))],
            })
        };
        let (source, destination) = hosts(flow);
        let block = NameResolutionBlock {
            records: vec![host(source, "source"), host(destination, "destination")],
            options: vec![],
        };
        if let Err(e) = self.writer.write_pcapng_block(block) {
            self.failed = Some(other(e));
        }
    }

    fn write_settled(&mut self) {
        while let Some(s) = self.fates.next_settled() {
            self.write(s.record, &s.said);
        }
    }
}

struct LinkTap<W: Write> {
    ports: Vec<u32>,
    frames: Frames,
    shared: Rc<RefCell<Shared<W>>>,
}

impl<W: Write> LinkTap<W> {
    fn sees(&self, at: &Sight<'_>) -> bool {
        self.ports.contains(&at.port)
    }

    fn add(&self, at: &Sight<'_>) {
        let id = at.id();
        let named = Named {
            flow: id.flow.0,
            backward: id.backward,
            size: at.bytes(),
            dscp: at.dscp(),
            request: at.is_request(),
        };
        let known = (self.frames)(id).map(|(bytes, length)| Frame { bytes, length });
        let record = Record {
            at: at.now,
            flow: id.flow.0,
            frame: known.unwrap_or_else(|| frame(&at.segment(), &named)),
        };
        self.shared.borrow_mut().fates.arrived(id, record);
    }
}

impl<W: Write> Tap for LinkTap<W> {
    fn arrived(&mut self, at: &Sight<'_>) {
        if self.sees(at) {
            self.add(at);
        }
    }

    fn marked(&mut self, at: &Sight<'_>, why: MarkReason) {
        if self.sees(at) {
            self.shared
                .borrow_mut()
                .fates
                .say(at.id(), format!("marked: {}", why.name()));
        }
    }

    fn dropped(&mut self, at: &Sight<'_>, _place: Place, why: DropReason) {
        if !self.sees(at) {
            return;
        }
        let said = format!("dropped: {}", why.name());
        // Dropped before the queue, it has not arrived.
        let known = self.shared.borrow_mut().fates.say(at.id(), said.clone());
        if !known {
            self.add(at);
            self.shared.borrow_mut().fates.say(at.id(), said);
        }
        let mut shared = self.shared.borrow_mut();
        shared.fates.settle(at.id());
        shared.write_settled();
    }

    fn delivered(&mut self, at: &Sight<'_>) {
        if self.sees(at) {
            let mut shared = self.shared.borrow_mut();
            shared.fates.settle(at.id());
            shared.write_settled();
        }
    }
}
