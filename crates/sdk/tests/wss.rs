//! A WebSocket over TLS, with a proxy before the gateway that ends it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use nimbus_runtime::access::Access;
use nimbus_sdk::{ConnectError, Connection, Fingerprint, Options, Trust};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring as provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use support::{HOST, World, bodies};

/// A CA's certificate as text, and what it signs with.
fn authority() -> (String, Issuer<'static, KeyPair>) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    (pem, Issuer::new(params, key))
}

/// Takes TLS as `localhost` and passes on to the gateway what is in it.
async fn proxy(issuer: &Issuer<'static, KeyPair>, gateway: SocketAddr) -> (String, Fingerprint) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate: CertificateDer<'static> = params.signed_by(&key, issuer).unwrap().der().clone();
    let digest = ring::digest::digest(&ring::digest::SHA256, &certificate);
    let fingerprint = Fingerprint(digest.as_ref().try_into().unwrap());
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(provider::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind((HOST, 0)).await.unwrap();
    let address = format!("wss://localhost:{}/ws", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // Who does not trust the certificate ends it.
                let Ok(mut outside) = acceptor.accept(stream).await else { return };
                let mut inside = TcpStream::connect(gateway).await.unwrap();
                _ = copy_bidirectional(&mut outside, &mut inside).await;
            });
        }
    });
    (address, fingerprint)
}

#[test]
fn over_tls_a_program_connects_to_whom_it_trusts_and_to_nobody_else() {
    let world = World::start("tower", 1);
    let (web, plain) = world.gateway(0, Access::Open);
    let ((ca, issuer), (other_ca, _)) = (authority(), authority());
    let (address, pin) = world.run("a proxy", proxy(&issuer, web.address()));
    let with = |trust| Options { trust, ..Options::default() };

    for trust in [Trust::Ca(ca), Trust::Pinned(vec![pin])] {
        let connection = world.connect(&address, with(trust));
        assert_eq!(connection.gateway(), address);
        world.run("every body", bodies(&connection, world.bodies));
        world.run("the goodbye", connection.close());
    }
    for trust in [Trust::Ca(other_ca), Trust::PublicCas, Trust::Pinned(vec![Fingerprint([0; 32])])] {
        let error = world.run("an error", Connection::connect(&address, with(trust))).err().unwrap();
        assert!(matches!(error, ConnectError::Untrusted { .. }), "{error}");
        assert!(error.to_string().contains("Options::trust"), "{error}");
    }
    // The gateway itself speaks no TLS there.
    let bare = plain.replace("ws://127.0.0.1", "wss://localhost");
    let error = world.run("an error", Connection::connect(&bare, with(Trust::PublicCas))).err().unwrap();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    world.stop();
    web.stop();
}
