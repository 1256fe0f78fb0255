//! A QUIC stack as both ends of a flow: data on one stream that the client opens, in both directions.
//!
//! quinn-proto and noq-proto, which comes from it, have the same glue. Each of their packages compiles this file beside
//! its module `proto`, which has the stack and the calls in which they differ.

use crate::proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use crate::proto::{self, *};
use bytes::BytesMut;
use ring::hmac;
use seeded_tls::{NAME, bytes, seed};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tailback_path::{Amount, Datagram, Ecn, Pair, ProbeDef, Time};

/// One end.
pub struct Quic {
    endpoint: Endpoint,
    client: Option<ClientConfig>,
    pub connection: Option<(ConnectionHandle, Connection)>,
    /// The instant that is time zero of the run.
    zero: Instant,
    peer: SocketAddr,
    deadline: Option<Time>,
    answers: VecDeque<Datagram<Vec<u8>>>,
    stream: Option<StreamId>,
    left: u64,
    ends: bool,
    ended_by_peer: bool,
    received: u64,
    pub shown: Shown,
}

/// What a connection shows of itself.
#[derive(Clone, Copy, Default)]
pub struct Shown {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Smoothed.
    pub rtt: Duration,
    /// Packets that it has taken for lost.
    pub lost: u64,
}

/// A client and its server, with a configuration of the transport for each.
pub fn pair(pair: Pair, [of_client, of_server]: [TransportConfig; 2]) -> (Quic, Quic) {
    seed(pair.seed);
    let crypto = QuicServerConfig::try_from(seeded_tls::server()).expect("TLS 1.3");
    let mut server = proto::server(crypto);
    server.transport_config(Arc::new(of_server));
    let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(seeded_tls::client()).expect("TLS 1.3")));
    client
        .transport_config(Arc::new(of_client))
        .initial_dst_cid_provider(Arc::new(|| ConnectionId::new(&bytes::<8>())));
    (Quic::new(Some(client), None), Quic::new(None, Some(Arc::new(server))))
}

impl Quic {
    fn new(client: Option<ClientConfig>, server: Option<Arc<ServerConfig>>) -> Quic {
        let mut config = EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &bytes::<64>())));
        proto::seeded_ids(&mut config, || Box::new(SeededIds)).rng_seed(Some(bytes()));
        let peer = if client.is_some() { "10.128.0.1:443" } else { "10.0.0.1:443" };
        Quic {
            endpoint: proto::endpoint(config, server),
            client,
            connection: None,
            zero: Instant::now(),
            peer: peer.parse().expect("an address"),
            deadline: None,
            answers: VecDeque::new(),
            stream: None,
            left: 0,
            ends: false,
            ended_by_peer: false,
            received: 0,
            shown: Shown::default(),
        }
    }

    fn at(&self, now: Time) -> Instant {
        self.zero + Duration::from_nanos(now.0)
    }

    /// What endpoint and connection have for each other; data from and to the application.
    fn drive(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while connection.poll().is_some() {}
        self.shown = proto::shown(connection);
        if self.stream.is_none() && !connection.is_handshaking() {
            let mut streams = connection.streams();
            self.stream = if self.client.is_some() { streams.open(Dir::Bi) } else { streams.accept(Dir::Bi) };
        }
        let Some(stream) = self.stream else { return };
        if let Ok(mut chunks) = connection.recv_stream(stream).read(true) {
            while let Ok(Some(chunk)) = chunks.next(usize::MAX).inspect(|c| self.ended_by_peer |= c.is_none()) {
                self.received += chunk.bytes.len() as u64;
            }
            let _ = chunks.finalize();
        }
        let mut to = connection.send_stream(stream);
        while self.left > 0
            && let Ok(n) = to.write(&[0; 16384][..self.left.min(16384) as usize])
        {
            self.left -= n as u64;
        }
        if self.ends && self.left == 0 {
            let _ = to.finish();
        }
    }
}

/// With the headers of IPv4 and UDP.
fn datagram(data: Vec<u8>, ecn: Option<EcnCodepoint>) -> Datagram<Vec<u8>> {
    let ecn = ecn.map_or(Ecn::NotEct, |e| Ecn::from_bits(e as u8));
    Datagram { bytes: data.len() as u32 + 28, data, ecn }
}

struct SeededIds;

impl ConnectionIdGenerator for SeededIds {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&bytes::<8>())
    }
    fn cid_len(&self) -> usize {
        8
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

impl tailback_path::Endpoint for Quic {
    type Data = Vec<u8>;

    fn start(&mut self, now: Time) {
        let at = self.at(now);
        if let Some(config) = self.client.clone() {
            self.connection = self.endpoint.connect(at, config, self.peer, NAME).ok();
        }
    }

    fn receive(&mut self, data: Vec<u8>, ecn: Ecn, now: Time) {
        let (at, ecn, mut answer) = (self.at(now), EcnCodepoint::from_bits(ecn as u8), vec![]);
        match proto::handle(&mut self.endpoint, (at, self.peer, ecn), BytesMut::from(&data[..]), &mut answer) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, at, &mut answer, None).ok();
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::Response(t)) => self.answers.push_back(datagram(answer, t.ecn)),
            None => {}
        }
        self.drive();
    }

    fn transmit(&mut self, now: Time) -> Option<Datagram<Vec<u8>>> {
        self.drive();
        let (at, mut bytes) = (self.at(now), vec![]);
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        let (_, connection) = self.connection.as_mut()?;
        if let Some(t) = proto::transmit(connection, at, &mut bytes) {
            return Some(datagram(bytes, t.ecn));
        }
        self.deadline = connection.poll_timeout().map(|t| Time((t - self.zero).as_nanos() as u64));
        None
    }

    fn timeout(&self) -> Option<Time> {
        self.deadline
    }

    fn on_timeout(&mut self, now: Time) {
        let at = self.at(now);
        self.connection.iter_mut().for_each(|c| c.1.handle_timeout(at));
        self.drive();
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
        self.stream.is_some()
    }

    fn is_closed_by_peer(&self) -> bool {
        self.ended_by_peer
    }

    fn probes(&self) -> &'static [ProbeDef] {
        &PROBES
    }

    fn read(&self, probe: usize) -> f64 {
        if self.connection.is_none() {
            return f64::NAN;
        }
        [self.shown.cwnd as f64, self.shown.rtt.as_secs_f64()][probe]
    }
}

static PROBES: [ProbeDef; 2] = [
    ProbeDef { name: "cwnd", unit: "bytes", doc: "congestion window", per: "" },
    ProbeDef { name: "rtt", unit: "s", doc: "smoothed round trip", per: "" },
];
