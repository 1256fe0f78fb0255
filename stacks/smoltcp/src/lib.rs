//! smoltcp as both ends of a flow: one TCP connection that the client opens, data in both directions. Its datagrams are
//! IP packets.

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use std::collections::VecDeque;
use tailback_path::{Amount, Datagram, Ecn, Endpoint, Pair, Time};

const PORT: u16 = 5001;
const MTU: usize = 1500;

/// What arrived and what is to leave.
#[derive(Default)]
struct Wire {
    arrived: VecDeque<Vec<u8>>,
    leaving: VecDeque<Vec<u8>>,
}

/// One end.
pub struct Smoltcp {
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    wire: Wire,
    is_client: bool,
    deadline: Option<Time>,
    left: u64,
    ends: bool,
    received: u64,
}

/// A client and its server, with buffers of so many bytes.
pub fn pair(pair: Pair, control: CongestionControl, buffer: usize) -> (Smoltcp, Smoltcp) {
    [true, false].map(|is_client| Smoltcp::new(is_client, pair.seed, control, buffer)).into()
}

impl Smoltcp {
    /// A client by itself, whose server is 10.0.0.2:5001.
    pub fn client(seed: u64, control: CongestionControl, buffer: usize) -> Smoltcp {
        Smoltcp::new(true, seed, control, buffer)
    }

    fn new(is_client: bool, seed: u64, control: CongestionControl, buffer: usize) -> Smoltcp {
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed + u64::from(is_client);
        let mut wire = Wire::default();
        let mut interface = Interface::new(config, &mut wire, Instant::ZERO);
        let own = if is_client { IpAddress::v4(10, 0, 0, 1) } else { IpAddress::v4(10, 0, 0, 2) };
        interface.update_ip_addrs(|all| all.push(IpCidr::new(own, 24)).expect("room for one"));
        let mut socket = Socket::new(SocketBuffer::new(vec![0; buffer]), SocketBuffer::new(vec![0; buffer]));
        socket.set_congestion_control(control);
        let mut sockets = SocketSet::new(vec![]);
        if !is_client {
            socket.listen(PORT).expect("a port");
        }
        let handle = sockets.add(socket);
        Smoltcp { interface, sockets, handle, wire, is_client, deadline: None, left: 0, ends: false, received: 0 }
    }

    fn drive(&mut self, now: Time) {
        let at = Instant::from_micros((now.0 / 1000) as i64);
        self.interface.poll(at, &mut self.wire, &mut self.sockets);
        let socket = self.sockets.get_mut::<Socket>(self.handle);
        while let Ok(n) = socket.recv(|data| (data.len(), data.len()))
            && n > 0
        {
            self.received += n as u64;
        }
        while self.left > 0
            && let Ok(n) = socket.send(|room| {
                let n = room.len().min(self.left as usize);
                room[..n].fill(0);
                (n, n)
            })
            && n > 0
        {
            self.left -= n as u64;
        }
        if self.ends && self.left == 0 {
            socket.close();
        }
        self.interface.poll(at, &mut self.wire, &mut self.sockets);
        let next = self.interface.poll_at(at, &self.sockets);
        self.deadline = next.map(|t| Time((t.total_micros() as u64 * 1000).max(now.0 + 1000)));
    }
}

impl Endpoint for Smoltcp {
    type Data = Vec<u8>;

    fn start(&mut self, now: Time) {
        if self.is_client {
            let socket = self.sockets.get_mut::<Socket>(self.handle);
            let server = (IpAddress::v4(10, 0, 0, 2), PORT);
            socket.connect(self.interface.context(), server, 49_152).expect("a free port");
        }
        self.drive(now);
    }

    fn speaks_first(&self) -> bool {
        // It listens.
        !self.is_client
    }

    fn receive(&mut self, data: Vec<u8>, _ecn: Ecn, now: Time) {
        self.wire.arrived.push_back(data);
        self.drive(now);
    }

    fn transmit(&mut self, now: Time) -> Option<Datagram<Vec<u8>>> {
        if self.wire.leaving.is_empty() {
            self.drive(now);
        }
        let data = self.wire.leaving.pop_front()?;
        Some(Datagram::new(data.clone(), data.len() as u32))
    }

    fn timeout(&self) -> Option<Time> {
        self.deadline
    }

    fn on_timeout(&mut self, now: Time) {
        self.drive(now);
    }

    fn delivered(&self) -> u64 {
        self.received
    }

    fn write(&mut self, amount: Amount, _now: Time) {
        self.left = match amount {
            Amount::Bytes(n) => self.left.saturating_add(n),
            Amount::Unlimited => u64::MAX,
        };
    }

    fn close(&mut self, _now: Time) {
        self.ends = true;
    }

    fn is_connected(&self) -> bool {
        self.sockets.get::<Socket>(self.handle).may_send()
    }

    fn is_closed_by_peer(&self) -> bool {
        let state = self.sockets.get::<Socket>(self.handle).state();
        matches!(state, State::CloseWait | State::LastAck | State::Closing | State::TimeWait)
    }
}

impl Device for Wire {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Arrived, Leaving<'_>)> {
        let packet = self.arrived.pop_front()?;
        Some((Arrived(packet), Leaving(&mut self.leaving)))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Leaving<'_>> {
        Some(Leaving(&mut self.leaving))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        (capabilities.medium, capabilities.max_transmission_unit) = (Medium::Ip, MTU);
        capabilities
    }
}

pub struct Arrived(Vec<u8>);
pub struct Leaving<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.push_back(packet);
        result
    }
}
