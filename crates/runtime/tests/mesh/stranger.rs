//! A QUIC client that does as a test says, rules or not.

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, ConnectionError, Endpoint, RecvStream, SendStream};
use rustls::RootCertStore;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Runtime;

use crate::cast::HERE;

/// A connection that is driven by hand.
pub(crate) struct Stranger {
    pub(crate) runtime: Runtime,
    pub(crate) connection: Connection,
    pub(crate) send: SendStream,
    pub(crate) recv: RecvStream,
    _endpoint: Endpoint,
}

/// Connects to the process with this certified name. Trusts the CA of one directory and shows the certificate of
/// another, or none.
pub(crate) fn connect(
    trusted: &Path,
    shown: Option<(&Path, &str)>,
    (to, at): (&str, SocketAddr),
    alpn: &[u8],
) -> Result<Stranger, ConnectionError> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(trusted.join("ca.pem")).unwrap()).unwrap();
    let builder = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match shown {
        Some((dir, name)) => {
            let certificate = CertificateDer::from_pem_file(dir.join(format!("{name}.pem"))).unwrap();
            let key = PrivateKeyDer::from_pem_file(dir.join(format!("{name}.key"))).unwrap();
            builder.with_client_auth_cert(vec![certificate], key).unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![alpn.to_vec()];
    let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(config).unwrap()));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (endpoint, met) = runtime.block_on(async {
        let endpoint = Endpoint::client(HERE).unwrap();
        let connecting = endpoint.connect_with(config, at, to).unwrap();
        let met = async {
            let connection = connecting.await?;
            let (send, recv) = connection.open_bi().await?;
            Ok((connection, send, recv))
        };
        let met: Result<_, ConnectionError> = met.await;
        (endpoint, met)
    });
    let (connection, send, recv) = met?;
    Ok(Stranger { runtime, connection, send, recv, _endpoint: endpoint })
}

impl Stranger {
    /// Says something on the ordered stream.
    pub(crate) fn say(&mut self, bytes: &[u8]) {
        let _ = self.runtime.block_on(self.send.write_all(bytes));
    }

    /// Listens until this many bytes have come.
    pub(crate) fn hear(&mut self, bytes: usize) -> Vec<u8> {
        let mut heard = vec![0; bytes];
        self.runtime.block_on(self.recv.read_exact(&mut heard)).unwrap();
        heard
    }

    /// Waits until the other side ends the connection, and returns what it says about it.
    pub(crate) fn end(&self) -> String {
        self.runtime.block_on(self.connection.closed()).to_string()
    }
}
