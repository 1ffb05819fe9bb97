//! Who a process is, by its certificate, and what it trusts: the private CA and nothing else.

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::RootCertStore;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring as provider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, TrustAnchor, UnixTime};
use rustls::server::WebPkiClientVerifier;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use webpki::{EndEntityCert, KeyUsage};

use super::names::{ProcessName, Role, parse_certified};
use crate::certs::CertFiles;

/// The application protocol that both ends of a connection must name.
const ALPN: &[u8] = b"nimbus";

/// A process's certificate with its key, and the CA. Shows nothing secret when printed.
#[derive(Clone)]
pub struct Identity {
    name: ProcessName,
    role: Role,
    accepts: Arc<QuicServerConfig>,
    dials: Arc<QuicClientConfig>,
    restart_key: Arc<ring::hmac::Key>,
}

/// Why a process has no identity.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// A file is not there or holds something else.
    #[error("cannot read {}: {problem}; `nimbus certs` makes such files", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The certificate does not name exactly one process and role.
    #[error("{} does not name exactly one process and its role; make it anew with `nimbus certs`", path.display())]
    Unnamed {
        /// The certificate.
        path: PathBuf,
    },
    /// The certificate is that of another process.
    #[error("{} is the certificate of `{found}`, not of `{wanted}`", path.display())]
    Other {
        /// The certificate.
        path: PathBuf,
        /// Whose it should be.
        wanted: ProcessName,
        /// Whose it is.
        found: ProcessName,
    },
    /// The CA beside the certificate did not make it, or it is out of date.
    #[error("{} does not vouch for {}: {problem}; both must come from one run of `nimbus certs`", ca.display(), path.display())]
    NotSigned {
        /// The certificate.
        path: PathBuf,
        /// The CA's certificate.
        ca: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The key is not that of the certificate.
    #[error("{} is not the key of the certificate beside it: {problem}", path.display())]
    Key {
        /// The key.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

impl Identity {
    /// Reads the identity of a process from a directory made by `nimbus certs`, or a copy of it that has no more than the
    /// CA's certificate and this process's certificate and key.
    pub fn load(dir: &Path, name: &ProcessName) -> Result<Identity, IdentityError> {
        let files = CertFiles::new(dir);
        let (ca_path, path, key_path) = (files.ca(), files.certificate(name), files.key(name));
        let ca = read_certificate(&ca_path)?;
        let certificate = read_certificate(&path)?;
        let key = PrivateKeyDer::from_pem_file(&key_path)
            .map_err(|error| IdentityError::Read { path: key_path.clone(), problem: error.to_string() })?;
        let (found, role) = certified(&certificate).ok_or_else(|| IdentityError::Unnamed { path: path.clone() })?;
        if found != *name {
            return Err(IdentityError::Other { path, wanted: name.clone(), found });
        }
        vouch(&ca, &certificate).map_err(|problem| IdentityError::NotSigned { path, ca: ca_path.clone(), problem })?;
        let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key.secret_der());
        let restart = ring::hmac::sign(&secret, b"nimbus mesh: restart");
        let (accepts, dials) = crypto(ca, certificate, key)
            .map_err(|error| IdentityError::Key { path: key_path, problem: error.to_string() })?;
        Ok(Identity {
            name: found,
            role,
            accepts: Arc::new(accepts),
            dials: Arc::new(dials),
            restart_key: Arc::new(ring::hmac::Key::new(ring::hmac::HMAC_SHA256, restart.as_ref())),
        })
    }

    /// The process.
    pub fn name(&self) -> &ProcessName {
        &self.name
    }

    /// What it is for.
    pub fn role(&self) -> Role {
        self.role
    }

    /// How it receives connections: only from those who show a certificate of the CA.
    pub(crate) fn accepts(&self) -> Arc<QuicServerConfig> {
        self.accepts.clone()
    }

    /// How it makes connections: showing its certificate, and only to those who have one of the CA.
    pub(crate) fn dials(&self) -> Arc<QuicClientConfig> {
        self.dials.clone()
    }

    /// The same in every life of the process, and known to nobody else. With it, a process that was started again can
    /// tell its peers at once that it has forgotten their connections.
    pub(crate) fn restart_key(&self) -> Arc<ring::hmac::Key> {
        self.restart_key.clone()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.name.certified(self.role))
    }
}

/// The one process and role that a certificate is for. Says nothing about who made the certificate.
pub(crate) fn certified(certificate: &CertificateDer<'_>) -> Option<(ProcessName, Role)> {
    let parsed = EndEntityCert::try_from(certificate).ok()?;
    let mut found = parsed.valid_dns_names().filter_map(parse_certified);
    let (name, role) = found.next()?;
    if found.next().is_some() {
        return None;
    }
    let full = ServerName::try_from(name.certified(role)).ok()?;
    parsed.verify_is_valid_for_subject_name(&full).ok()?;
    Some((name, role))
}

/// Says whether a CA made a certificate, for both ends of a connection, and whether it is valid now.
pub(crate) fn vouch(ca: &CertificateDer<'_>, certificate: &CertificateDer<'_>) -> Result<(), String> {
    let anchor: TrustAnchor<'_> = webpki::anchor_from_trusted_cert(ca).map_err(|error| error.to_string())?;
    let parsed = EndEntityCert::try_from(certificate).map_err(|error| error.to_string())?;
    let algorithms = provider::default_provider().signature_verification_algorithms;
    for usage in [KeyUsage::client_auth(), KeyUsage::server_auth()] {
        let anchors = std::slice::from_ref(&anchor);
        parsed
            .verify_for_usage(algorithms.all, anchors, &[], UnixTime::now(), usage, None, None)
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Reads a certificate from a file.
pub(crate) fn read_certificate(path: &Path) -> Result<CertificateDer<'static>, IdentityError> {
    CertificateDer::from_pem_file(path)
        .map_err(|error| IdentityError::Read { path: path.to_owned(), problem: error.to_string() })
}

/// Both ends of TLS. Sessions are not resumed, so every connection shows its certificates anew.
fn crypto(
    ca: CertificateDer<'static>,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
) -> Result<(QuicServerConfig, QuicClientConfig), Box<dyn std::error::Error>> {
    let provider: Arc<CryptoProvider> = Arc::new(provider::default_provider());
    let versions = &[&rustls::version::TLS13];
    let mut roots = RootCertStore::empty();
    roots.add(ca)?;
    let roots = Arc::new(roots);
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone()).build()?;
    let mut accepts = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)?
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![certificate.clone()], key.clone_key())?;
    accepts.alpn_protocols = vec![ALPN.to_vec()];
    accepts.send_tls13_tickets = 0;
    let mut dials = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)?
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![certificate], key)?;
    dials.alpn_protocols = vec![ALPN.to_vec()];
    dials.resumption = Resumption::disabled();
    Ok((accepts.try_into()?, dials.try_into()?))
}
