//! The certificate that a gateway shows to native clients.

use quinn::crypto::rustls::QuicServerConfig;
use rustls::crypto::ring as provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;

use nimbus_wire::client::CLIENT_ALPN;

use crate::certs::CertFiles;
use crate::mesh::{IdentityError, ProcessName, read_certificate};

/// A certificate with its key. Shows nothing secret when printed.
pub struct QuicCertificate {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

/// Why there is no certificate to show.
#[derive(Debug, thiserror::Error)]
pub enum QuicCertificateError {
    /// None could be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// It is of no use.
    #[error("the certificate for clients cannot be used: {0}")]
    Unusable(String),
}

impl QuicCertificate {
    /// A new one that nobody vouches for, for who listens at `host`. Clients have to know its fingerprint.
    pub fn self_signed(host: IpAddr) -> Result<QuicCertificate, QuicCertificateError> {
        let local = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let mut names = vec!["localhost".to_owned()];
        names.extend(local.iter().map(IpAddr::to_string));
        if !host.is_unspecified() && !local.contains(&host) {
            names.push(host.to_string());
        }
        let made = rcgen::generate_simple_self_signed(names)?;
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())
            .map_err(|problem| QuicCertificateError::Unusable(problem.to_owned()))?;
        Ok(QuicCertificate { certificate: made.cert.der().clone(), key })
    }

    /// That of a process, from a directory made by `nimbus certs`.
    pub fn load(dir: &Path, name: &ProcessName) -> Result<QuicCertificate, IdentityError> {
        let files = CertFiles::new(dir);
        let path = files.key(name);
        let key = PrivateKeyDer::from_pem_file(&path)
            .map_err(|error| IdentityError::Read { path, problem: error.to_string() })?;
        Ok(QuicCertificate { certificate: read_certificate(&files.certificate(name))?, key })
    }

    /// What clients may know it by: its SHA-256, in hexadecimal.
    pub fn fingerprint(&self) -> String {
        let digest = ring::digest::digest(&ring::digest::SHA256, &self.certificate);
        digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// How connections are accepted with it. Sessions are not resumed, as in the mesh.
    pub(super) fn accepts(&self) -> Result<Arc<QuicServerConfig>, QuicCertificateError> {
        let unusable = |error: &dyn std::error::Error| QuicCertificateError::Unusable(error.to_string());
        let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(provider::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| unusable(&error))?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())
            .map_err(|error| unusable(&error))?;
        config.alpn_protocols = vec![CLIENT_ALPN.to_vec()];
        config.send_tls13_tickets = 0;
        Ok(Arc::new(QuicServerConfig::try_from(config).map_err(|error| unusable(&error))?))
    }
}

impl fmt::Debug for QuicCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QuicCertificate({})", self.fingerprint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_certificate_has_its_own_fingerprint_and_hides_its_key() {
        let make = || QuicCertificate::self_signed(IpAddr::from([10, 0, 0, 1])).unwrap();
        let (one, two) = (make(), make());
        assert_eq!(one.fingerprint().len(), 64);
        assert_ne!(one.fingerprint(), two.fingerprint());
        assert_eq!(format!("{one:?}"), format!("QuicCertificate({})", one.fingerprint()));
        assert!(one.accepts().is_ok());
    }
}
