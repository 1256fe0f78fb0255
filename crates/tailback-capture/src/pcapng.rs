//! A capture of one link in both directions, as a pcapng file (draft-ietf-opsawg-pcapng).
//!
//! Packets are ordered by their arrival at the queue, so that the file shows all packets that were sent, including lost
//! ones. A packet that was dropped or marked has a comment about this (`frame.comment` in Wireshark's filters). Times
//! are nanoseconds of simulated time; at one instant packets in the forward direction come first. The names of a flow's
//! two hosts, such as `bulk.0.source`, are written before its first packet.

use crate::headers::{Named, frame, hosts};
use crate::order::Order;
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::name_resolution::{Ipv4Record, NameResolutionBlock, Record as NameRecord};
use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use tailback_base::{DropReason, MarkReason, Place, Time};
use tailback_sim::wire::packet::PacketId;
use tailback_sim::wire::tap::{Looks, Names, Sight, Tap};

/// Ten to the minus nine (draft-ietf-opsawg-pcapng section 4.2, `if_tsresol`).
const NANOSECONDS: u8 = 9;

/// This many bytes are collected before they are written.
const AT_ONCE: usize = 1 << 16;

/// The first bytes of a packet and its length, if they are known: they are stored instead of generated headers.
pub type Frames = Box<dyn Fn(PacketId) -> Option<(Vec<u8>, u32)>>;

/// The bytes of the datagram whose packet has this sequence number, if they are kept.
pub type ContentsOf = Box<dyn Fn(u64) -> Option<Vec<u8>>>;

/// The source of the bytes of packets, if they are not made from the simulator's own fields.
enum BytesFrom {
    Real(Frames),
    Datagrams(ContentsOf),
}

/// State shared by the tap and the code that waits for the end of the run.
struct CaptureState<W: Write> {
    out: W,
    /// The next bytes for the file.
    writer: PcapNgWriter<Vec<u8>>,
    order: Order,
    /// When this many bytes wait, some of them can probably be written to the file.
    enough: usize,
    /// Names of flows that have not been written yet, by number.
    unnamed: Vec<Option<String>>,
    packets: u64,
    failed: Option<io::Error>,
}

/// A capture that is being written.
pub struct Capture<W: Write> {
    link: String,
    shared: Rc<RefCell<CaptureState<W>>>,
}

impl<W: Write + 'static> Capture<W> {
    /// A capture of this link.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(link: &str, out: W) -> io::Result<Capture<W>> {
        let writer = begin(link)?;
        Ok(Capture {
            link: link.to_string(),
            shared: Rc::new(RefCell::new(CaptureState {
                out,
                writer,
                order: Order::default(),
                enough: AT_ONCE,
                unnamed: vec![],
                packets: 0,
                failed: None,
            })),
        })
    }

    /// The tap for a run.
    pub fn tap(&self, names: &Names) -> Box<dyn Tap> {
        self.shared.borrow_mut().unnamed = names.flows.iter().cloned().map(Some).collect();
        self.watch(names, None)
    }

    /// The tap for a run whose transports have bytes of their own.
    pub fn tap_with(&self, names: &Names, contents: ContentsOf) -> Box<dyn Tap> {
        self.shared.borrow_mut().unnamed = names.flows.iter().cloned().map(Some).collect();
        self.watch(names, Some(BytesFrom::Datagrams(contents)))
    }

    /// The tap for a run of real packets: `frames` returns their bytes.
    pub fn tap_real(&self, names: &Names, frames: Frames) -> Box<dyn Tap> {
        self.watch(names, Some(BytesFrom::Real(frames)))
    }

    fn watch(&self, names: &Names, source: Option<BytesFrom>) -> Box<dyn Tap> {
        let ours = |name: &String| name.strip_suffix(".reverse").unwrap_or(name) == self.link;
        let numbers = (0u32..).zip(&names.ports).filter(|(_, name)| ours(name));
        let ports: Vec<u32> = numbers.map(|(i, _)| i).collect();
        self.shared.borrow_mut().order = Order::new(ports.len());
        Box::new(LinkTap {
            ports,
            source,
            block: Vec::new(),
            shared: self.shared.clone(),
        })
    }

    /// The run is over: write the records that were still waiting. Returns the number of packets in the file.
    ///
    /// # Errors
    /// The file could not be written, now or earlier.
    pub fn finish(self) -> io::Result<u64> {
        let mut shared = self.shared.borrow_mut();
        shared.write(true);
        if let Some(e) = shared.failed.take() {
            return Err(e);
        }
        shared.out.flush()?;
        Ok(shared.packets)
    }
}

/// A packet as it is written by [`write_frames`].
pub struct Frame {
    pub at: Time,
    /// Its bytes from the IP header on.
    pub bytes: Vec<u8>,
    pub comment: String,
}

/// Write packets whose bytes are all known, in the given order.
///
/// # Errors
/// The file cannot be written.
pub fn write_frames(mut out: impl Write, interface: &str, frames: &[Frame]) -> io::Result<()> {
    let mut file = begin(interface)?.into_inner();
    let mut block = Vec::new();
    for f in frames {
        put_packet(&mut block, f.at, &f.bytes, f.bytes.len() as u32);
        let at = file.len();
        file.extend(&block);
        if !f.comment.is_empty() {
            add_comment(&mut file, at, &f.comment);
        }
    }
    out.write_all(&file)?;
    out.flush()
}

/// The blocks before the first packet.
fn begin(interface: &str) -> io::Result<PcapNgWriter<Vec<u8>>> {
    let mut writer = PcapNgWriter::new(Vec::new()).map_err(other)?;
    let block = InterfaceDescriptionBlock {
        linktype: DataLink::RAW,
        snaplen: 0,
        options: vec![
            InterfaceDescriptionOption::IfName(Cow::Owned(interface.to_string())),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ],
    };
    writer.write_pcapng_block(block).map_err(other)?;
    Ok(writer)
}

fn other(e: pcap_file::PcapError) -> io::Error {
    match e {
        pcap_file::PcapError::IoError(e) => e,
        e => io::Error::other(e.to_string()),
    }
}

impl<W: Write> CaptureState<W> {
    /// Write everything that can be written to the file. With `all` nothing more will come.
    fn write(&mut self, all: bool) {
        loop {
            let mut begin = self.writer.get_ref().len();
            let Some(next) = self.order.next(all, self.writer.get_mut()) else {
                break;
            };
            self.packets += 1;
            if self.unnamed.get(next.flow as usize).is_some_and(Option::is_some) {
                let packet = self.writer.get_mut().split_off(begin);
                self.name(next.flow);
                begin = self.writer.get_ref().len();
                self.writer.get_mut().extend(packet);
            }
            if !next.said.is_empty() {
                add_comment(self.writer.get_mut(), begin, &next.said.join("; "));
            }
            self.pass_on(AT_ONCE);
        }
        self.pass_on(0);
        self.enough = self.order.held() + AT_ONCE;
    }

    /// Pass the collected bytes on to the file, if there are more than this.
    fn pass_on(&mut self, least: usize) {
        let gathered = self.writer.get_mut();
        if gathered.len() > least && self.failed.is_none() {
            self.failed = self.out.write_all(gathered).err();
        }
        if gathered.len() > least {
            gathered.clear();
        }
    }

    /// Write the names of a flow's hosts, once.
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
            self.failed.get_or_insert(other(e));
        }
    }
}

/// The numbers of an enhanced packet block, a comment and the end of options (draft-ietf-opsawg-pcapng sections 4.3 and
/// 3.5).
const ENHANCED_PACKET: u32 = 6;
const COMMENT: u16 = 1;
const END_OF_OPTIONS: u32 = 0;
/// The bytes of a block before its packet, and of the length that is repeated at its end.
const BEFORE: usize = 28;
const BEHIND: usize = 4;

/// The number of bytes that pad a length to a multiple of four.
fn padding(length: usize) -> usize {
    length.wrapping_neg() & 3
}

/// Write the block of a packet without options into `block`, replacing its contents.
fn put_packet(block: &mut Vec<u8>, at: Time, packet: &[u8], length: u32) {
    block.clear();
    let pad = padding(packet.len());
    let block_length = ((BEFORE + packet.len() + pad + BEHIND) as u32).to_ne_bytes();
    let words = [
        ENHANCED_PACKET,
        u32::from_ne_bytes(block_length),
        0,
        (at.0 >> 32) as u32,
        at.0 as u32,
        packet.len() as u32,
        length,
    ];
    let mut head = [0; BEFORE];
    for (to, word) in head.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
    block.extend_from_slice(&head);
    block.extend_from_slice(packet);
    block.extend_from_slice(&[0; 3][..pad]);
    block.extend_from_slice(&block_length);
}

/// Add a comment to the last block, which begins at `begin`.
fn add_comment(blocks: &mut Vec<u8>, begin: usize, comment: &str) {
    blocks.truncate(blocks.len() - BEHIND);
    blocks.extend(COMMENT.to_ne_bytes());
    blocks.extend((comment.len() as u16).to_ne_bytes());
    blocks.extend(comment.as_bytes());
    blocks.extend(&[0; 3][..padding(comment.len())]);
    blocks.extend(END_OF_OPTIONS.to_ne_bytes());
    let block_length = ((blocks.len() - begin + BEHIND) as u32).to_ne_bytes();
    blocks.extend(block_length);
    blocks[begin + 4..begin + 8].copy_from_slice(&block_length);
}

struct LinkTap<W: Write> {
    ports: Vec<u32>,
    source: Option<BytesFrom>,
    /// The present block.
    block: Vec<u8>,
    shared: Rc<RefCell<CaptureState<W>>>,
}

impl<W: Write> LinkTap<W> {
    /// The index of a port among the link's ports, if it is one of them.
    #[inline]
    fn place(&self, at: &Sight<'_>) -> Option<usize> {
        self.ports.iter().position(|port| *port == at.port)
    }

    fn add(&mut self, place: usize, at: &Sight<'_>) {
        let id = at.id();
        let real_frame = match &self.source {
            Some(BytesFrom::Real(frames)) => frames(id),
            _ => None,
        };
        if let Some((bytes, length)) = real_frame {
            put_packet(&mut self.block, at.now, &bytes, length);
        } else {
            let named_packet = Named {
                flow: id.flow.0,
                backward: id.backward,
                size: at.bytes(),
                dscp: at.dscp(),
                request: at.is_request(),
            };
            let made_up = frame(&at.segment(), &named_packet);
            let contents = match &self.source {
                Some(BytesFrom::Datagrams(contents)) => contents(id.sequence),
                _ => None,
            };
            match contents {
                Some(data) => put_packet(&mut self.block, at.now, &made_up.around(data), made_up.length),
                None => put_packet(&mut self.block, at.now, made_up.bytes(), made_up.length),
            }
        }
        self.shared.borrow_mut().order.arrived(place, id, at.now, &self.block);
    }

    /// The fate of a packet is final.
    fn settle(&mut self, place: usize, at: &Sight<'_>) {
        let mut shared = self.shared.borrow_mut();
        shared.order.settle(place, at.id());
        shared.order.reach(at.reached);
        if shared.order.held() > shared.enough {
            shared.write(false);
        }
    }
}

impl<W: Write> Tap for LinkTap<W> {
    fn looks(&self, port: u32) -> Looks {
        match self.ports.contains(&port) {
            true => Looks::Queue,
            false => Looks::Nothing,
        }
    }

    fn arrived(&mut self, at: &Sight<'_>) {
        if let Some(place) = self.place(at) {
            self.add(place, at);
        }
    }

    fn marked(&mut self, at: &Sight<'_>, why: MarkReason) {
        let Some(place) = self.place(at) else { return };
        let comment = format!("marked: {}", why.name());
        self.shared.borrow_mut().order.say(place, at.id(), comment);
    }

    fn dropped(&mut self, at: &Sight<'_>, _place: Place, why: DropReason) {
        let Some(place) = self.place(at) else { return };
        let comment = format!("dropped: {}", why.name());
        // A packet that was dropped before the queue has not arrived.
        let was_captured = self.shared.borrow_mut().order.say(place, at.id(), comment.clone());
        if !was_captured {
            self.add(place, at);
            self.shared.borrow_mut().order.say(place, at.id(), comment);
        }
        self.settle(place, at);
    }

    fn sent(&mut self, at: &Sight<'_>) {
        if let Some(place) = self.place(at) {
            self.settle(place, at);
        }
    }

    fn delivered(&mut self, _: &Sight<'_>) {}
}
