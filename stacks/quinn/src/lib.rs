//! quinn-proto as both ends of a flow: `quic/end.rs` is the glue, and this file has what noq-proto calls otherwise.

#[path = "../../quic/end.rs"]
mod end;

pub use end::{Quic as Quinn, pair};

mod proto {
    use crate::end::Shown;
    use bytes::BytesMut;
    pub use quinn_proto::*;
    use ring::hkdf;
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::time::Instant;

    pub fn server(crypto: crypto::rustls::QuicServerConfig) -> ServerConfig {
        let token_key = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&seeded_tls::bytes::<32>());
        ServerConfig::new(Arc::new(crypto), Arc::new(token_key))
    }

    pub fn seeded_ids(config: &mut EndpointConfig, ids: fn() -> Box<dyn ConnectionIdGenerator>) -> &mut EndpointConfig {
        config.cid_generator(ids)
    }

    pub fn endpoint(config: EndpointConfig, server: Option<Arc<ServerConfig>>) -> Endpoint {
        Endpoint::new(Arc::new(config), server, true, None)
    }

    pub fn handle(
        endpoint: &mut Endpoint,
        (at, peer, ecn): (Instant, SocketAddr, Option<EcnCodepoint>),
        data: BytesMut,
        answer: &mut Vec<u8>,
    ) -> Option<DatagramEvent> {
        endpoint.handle(at, peer, None, ecn, data, answer)
    }

    pub fn transmit(connection: &mut Connection, at: Instant, bytes: &mut Vec<u8>) -> Option<Transmit> {
        connection.poll_transmit(at, 1, bytes)
    }

    pub fn shown(connection: &mut Connection) -> Shown {
        let path = connection.stats().path;
        Shown { cwnd: path.cwnd, rtt: path.rtt, lost: path.lost_packets }
    }
}
