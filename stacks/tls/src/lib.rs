//! TLS for experiments: with the same seed, client and server send the same bytes. All random numbers and the keys of
//! the exchange come from one generator. The server's key is of Ed25519, whose signatures are not random, and its
//! certificate is a file.

use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret, SupportedKxGroup, ring,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, Error, NamedGroup, RootCertStore, ServerConfig};
use std::cell::Cell;
use std::sync::Arc;
use x25519_dalek::{PublicKey, StaticSecret};

thread_local! { static STATE: Cell<u64> = const { Cell::new(0) }; }

/// Begin anew.
pub fn seed(seed: u64) {
    STATE.set(seed);
}

/// SplitMix64: random enough for an experiment, and for nothing else.
pub fn fill(to: &mut [u8]) {
    for bytes in to.chunks_mut(8) {
        STATE.set(STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let z = (STATE.get() ^ (STATE.get() >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..bytes.len()]);
    }
}

pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    fill(&mut bytes);
    bytes
}

#[derive(Debug)]
struct Seeded;

impl SecureRandom for Seeded {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        fill(buf);
        Ok(())
    }
}

impl SupportedKxGroup for Seeded {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let secret = StaticSecret::from(bytes());
        Ok(Box::new(Exchange(PublicKey::from(&secret), secret)))
    }
    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

struct Exchange(PublicKey, StaticSecret);

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer: [u8; 32] = peer.try_into().map_err(|_| Error::General("32 bytes".into()))?;
        Ok(self.1.diffie_hellman(&peer.into()).as_bytes()[..].into())
    }
    fn pub_key(&self) -> &[u8] {
        self.0.as_bytes()
    }
    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider { kx_groups: vec![&Seeded], secure_random: &Seeded, ..ring::default_provider() })
}

/// The name in the server's certificate.
pub const NAME: &str = "lab";
const CERTIFICATE: &[u8] = include_bytes!("../certificate.der");
const KEY: &[u8] = include_bytes!("../key.der");

/// A client that trusts the server's certificate.
pub fn client() -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(CERTIFICATE)).expect("a certificate");
    let config = ClientConfig::builder_with_provider(provider());
    let config = config.with_protocol_versions(&[&rustls::version::TLS13]).expect("TLS 1.3");
    config.with_root_certificates(roots).with_no_client_auth()
}

/// Its server.
pub fn server() -> ServerConfig {
    let config = ServerConfig::builder_with_provider(provider());
    let config = config.with_protocol_versions(&[&rustls::version::TLS13]).expect("TLS 1.3").with_no_client_auth();
    let key = PrivatePkcs8KeyDer::from(KEY).into();
    config.with_single_cert(vec![CertificateDer::from(CERTIFICATE)], key).expect("a key and its certificate")
}
