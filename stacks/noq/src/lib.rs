//! noq-proto as both ends of a flow: `quic/end.rs` is the glue, and this file has what quinn-proto calls otherwise.

#[path = "../../quic/end.rs"]
mod end;

pub use end::{Quic as Noq, pair};

mod proto {
    use crate::end::Shown;
    use bytes::BytesMut;
    pub use noq_proto::*;
    use std::net::SocketAddr;
    use std::num::NonZeroUsize;
    use std::sync::Arc;
    use std::time::Instant;

    pub fn server(crypto: crypto::rustls::QuicServerConfig) -> ServerConfig {
        ServerConfig::with_crypto(Arc::new(crypto))
    }

    pub fn seeded_ids(config: &mut EndpointConfig, ids: fn() -> Box<dyn ConnectionIdGenerator>) -> &mut EndpointConfig {
        config.cid_generator(Arc::new(ids))
    }

    pub fn endpoint(config: EndpointConfig, server: Option<Arc<ServerConfig>>) -> Endpoint {
        Endpoint::new(Arc::new(config), server, true)
    }

    pub fn handle(
        endpoint: &mut Endpoint,
        (at, peer, ecn): (Instant, SocketAddr, Option<EcnCodepoint>),
        data: BytesMut,
        answer: &mut Vec<u8>,
    ) -> Option<DatagramEvent> {
        endpoint.handle(at, FourTuple::from_remote(peer), ecn, data, answer)
    }

    pub fn transmit(connection: &mut Connection, at: Instant, bytes: &mut Vec<u8>) -> Option<Transmit> {
        connection.poll_transmit(at, NonZeroUsize::MIN, bytes)
    }

    pub fn shown(connection: &mut Connection) -> Shown {
        let path = connection.path_stats(PathId::ZERO).unwrap_or_default();
        Shown { cwnd: path.cwnd, rtt: path.rtt, lost: path.lost_packets }
    }
}
